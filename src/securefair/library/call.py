"""The call: settings, participants and heads -> a run -> a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from securefair.ckks.threads import threads_set
from securefair.collaboration.kinds import default_algorithm, kind_of, unread_keys
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import RunConfig, override
from securefair.data import ParticipantData, TableSpec
from securefair.errors import ConfigError
from securefair.library.given import given_data
from securefair.library.hospitals import check_hospitals
from securefair.library.models import Models, gives_modules, kind_of_model, suitable_q
from securefair.library.result import Result
from securefair.library.settings import settings as checked
from securefair.report.progress import Progress, Silence, show_progress
from securefair.report.screen import Screen
from securefair.run.callbacks import Callback
from securefair.run.checkpoint import is_interrupted
from securefair.run.execute import run_resolved

if TYPE_CHECKING:
    from torch import nn

    from securefair.library.models import Model


def collaborate(
    hospitals: Mapping[str, object],
    model: Model | Mapping[str, Model] | None = None,
    *,
    label: str | TableSpec | None = None,
    positive: str | int | None = None,
    patient_column: str | None = None,
    algorithm: str | None = None,
    extractor: nn.Module | None = None,
    teachers: Mapping[str, object] | None = None,
    seed: int = 0,
    threads: int = 1,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    checkpoint: Path | str | None = None,
    resume: bool = False,
    **settings: object,
) -> Result:
    """Let hospitals in this process learn from each other under encryption.

    By default everyone fits a model alone, asks the others once how their models judge its own
    samples, and decides by these samples how much that counts (`transfer`). Other algorithms train
    in rounds. Only encrypted samples and released numbers pass between hospitals, or masked sums.
    Controls say what everyone reaches alone, to know the gain. Results are not written; see
    `Result.write`. Interrupted, it leaves a checkpoint if it was given a folder for one.

    Args:
        hospitals: name: (training data set, test data set), or name: one data set of which a part
            is held out. A data set is a map-style torch data set, (features, labels), or `Samples`.
            Labels are whole numbers from 0, or any names, such as 1 and 2. With `label`: tables.
        model: "quadratic", "linear" or a module (see `Quadratic`), for everyone or by name. All
            must have the same shape; modules start from the parameters that they have, and are
            left as they are. None for "linear" with "transfer", which fits models of its own and
            takes no module, and for "quadratic" otherwise.
        label: hospitals bring tables, each a DataFrame of pandas or polars, a path or a query, and
            this is the column to predict. The other rules are inferred from all tables; give a
            `securefair.data.TableSpec` where ranges and levels are known beforehand.
            `Result.findings` says what to look at in the tables, and which columns are no features.
        positive: of two classes the one that must not be missed, by one of its codes: sensitivity
            is of it. None: the last one. Not where labels are numbers from 0: there it is class 1.
        patient_column: of tables the column that names the patient of each row: all rows of one
            are for training, or all for testing. Of other samples see `Samples.patients`.
        algorithm: "transfer" asks every teacher once and averages settings; "cycle" trains by
            rounds and weighs teachers by reputation, "vpdl" always shares. None for "transfer",
            or "cycle" where a module is given: a transfer fits models of its own.
        extractor: a public network that everyone applies to its own samples in the clear; it is
            not trained, and its output is flattened.
        teachers: by hospital, the model that answers its peers instead of a fit, with "transfer"
            only: a classifier with `predict_proba` (one that is not fitted yet is fitted to the
            hospital's own training samples), a name ("forest", "boosting", "gaussian process"), or
            the path of a file that ends in .onnx or .safetensors. It answers by a stand-in
            (`fit="trees"` follows any model best), whose disagreement is in the result.
        seed: of initialisation, held-out samples and sharing.
        threads: that compute, of this whole process as long as this lasts. More than one pays off
            where samples are many and models wide; on small ones threads wait for each other.
        callbacks: hear of every round, but for those that they heard of in an earlier call.
        progress: show how far it has come, on standard error or below a notebook's cell; None where
            that is a terminal or a notebook.
        checkpoint: folder that keeps what is finished after every round, in its `unfinished`;
            `Result.write` into that folder removes it. One of a call that was interrupted is
            never replaced. None keeps nothing.
        resume: go on with that checkpoint, to what the interrupted call would have given.
        settings: keys of a configuration file, with the same meaning, range and default, such as
            `rounds=20`, `q=16`, `backend="clear"`: `securefair config --algorithm NAME` explains
            them all; or a section as a table, `privacy={"epsilon": 2.0}`, which a key needs that
            two sections have. None stands for the default. What the algorithm does not read is
            refused. Of [data], [run] and [report]: `test_fraction`, `feature_range`, `metric`,
            `ceiling`, `title`. A `q` that is not given follows from the limits of the ledger and
            the fewest samples.

    Returns:
        Models, gains and records.

    Raises:
        ConfigError: fewer than two hospitals; there is no such setting, it is out of range, or the
            algorithm does not read it; no class has the code that `positive` says; the checkpoint
            is of an interrupted call, and not to be resumed, or of other settings.
        DataError: data cannot be used; names hospital and sample.
        ModelError: encryption cannot evaluate a module, it does not fit the data, or training
            diverged.
        PlanError: no parameters satisfy these settings; names the hospital.
    """
    if resume and checkpoint is None:
        raise ConfigError(
            "nothing was kept to go on with",
            where="resume",
            expected="the folder of the interrupted call as checkpoint",
        )
    if checkpoint is not None and Path(checkpoint).exists() and not Path(checkpoint).is_dir():
        raise ConfigError(
            "a checkpoint is a folder", where="checkpoint", found=f"the file {checkpoint}"
        )
    if checkpoint is not None and not resume and is_interrupted(Path(checkpoint)):
        raise ConfigError(
            "an unfinished run is there",
            where="checkpoint",
            found=str(checkpoint),
            hint="resume=True goes on with it; another folder begins anew",
        )
    if algorithm is None:
        algorithm = default_algorithm(modules=gives_modules(model))
    config = checked(settings, algorithm=algorithm, model=kind_of_model(model), seed=seed)
    (seed,) = config.run.seeds  # as an int, whatever whole number it was
    kind = kind_of(algorithm)
    _check_callbacks(callbacks)
    check_hospitals(hospitals, extractor)
    models = Models.of("quadratic" if model is None else model, list(hospitals))
    if models.are_modules:
        kind.check_given()
    given = given_data(
        hospitals,
        config,
        label=label,
        positive=positive,
        patient_column=patient_column,
        extractor=extractor,
        teachers=teachers,
        at_least=models.classes,
    )
    data = given.data
    heads = models.heads(data, config.model.hidden, seed)
    config = _completed(config, data, models.hidden(heads, config.model.hidden))
    run = ResolvedRun(
        config=config,
        kinds={algorithm: kind},
        rules=given.rules,
        further=given.further,
        data={seed: data},
        models=heads,
        keeps_heads=True,
        classes=given.classes,
        findings=given.findings,
    ).load()
    with threads_set(threads), _watched(progress) as watched:
        outcome = run_resolved(
            run,
            watched,
            out=None if checkpoint is None else Path(checkpoint),
            resume=resume,
            callbacks=callbacks,
        )
    return Result(
        models=models.trained(
            outcome.heads or {kept.model.record.hospital: kept.model for kept in outcome.models}
        ),
        plan=kind.forecast(run.agreements[seed][algorithm], data).plan,
        outcome=outcome,
        findings=tuple(given.findings),
    )


@contextmanager
def _watched(wanted: bool | None) -> Iterator[Progress]:
    """Progress for whoever sits before it, on standard error; scripts' own output stays clean."""
    console = Screen(err=True)
    if wanted or (wanted is None and (console.is_terminal or console.is_jupyter)):
        with show_progress(console) as progress:
            yield progress
    else:
        yield Silence()


def _check_callbacks(callbacks: Sequence[Callback]) -> None:
    if not isinstance(callbacks, list | tuple):
        raise ConfigError(
            "callbacks come as a list", where="callbacks", found=type(callbacks).__name__
        )
    for one in callbacks:
        if not callable(getattr(one, "on_round", None)):
            raise ConfigError(
                "this is no callback",
                where="callbacks",
                found=type(one).__name__,
                expected="an object with a method on_round(record)",
            )


def _completed(config: RunConfig, data: Sequence[ParticipantData], hidden: int) -> RunConfig:
    """The configuration with what depends on data and modules, where the algorithm reads it."""
    changes: dict[str, object] = {"model.kind": "quadratic" if hidden else "linear"}
    if hidden:
        changes["model.hidden"] = hidden
    if "q" not in config.distillation.model_fields_set:
        changes["distillation.q"] = suitable_q(data, hidden)
    unread = unread_keys(config.run.collaborative)
    read = {key: value for key, value in changes.items() if key not in unread}
    return override(config, read, source="collaborate")

"""A configuration in, records and a report out: the main job of program and library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from securefair.collaboration.controls import ceiling_of
from securefair.collaboration.kept import ModelOrigin
from securefair.collaboration.kinds import REGISTERED, kind_of, toml_of
from securefair.collaboration.privacy import caveats_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.config.transfer import degree_of
from securefair.data.findings import by_site
from securefair.data.table import class_names
from securefair.errors import SecureFairError
from securefair.model.outcomes import outcome_of
from securefair.prediction.versions import versions
from securefair.records import CEILING, STANDALONE, RoundRecord
from securefair.report import Progress
from securefair.run.callbacks import Callback, tell_models
from securefair.run.checkpoint import Checkpoint, is_unfinished
from securefair.run.folder import SMALLER
from securefair.run.hearing import Hearing
from securefair.run.kept import kept_models
from securefair.run.parts import Part
from securefair.run.processes import carrying_out
from securefair.run.results import Outcome, Repetition, conclude


def run_resolved(
    run: ResolvedRun,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    processes: int = 1,
) -> Outcome:
    """Run every algorithm on every seed, and once more where smaller participants are asked for.

    Args:
        run: what to run.
        progress: hears of every round.
        out: folder of the results, where a checkpoint is kept meanwhile; None keeps none.
        resume: take up the checkpoint that is there, and give what the run would have given.
        callbacks: hear of every round in which participants learn from each other, but for those
            that they heard of from an earlier process.
        processes: that share the algorithms and seeds; 1: all in this one. Results are the same.

    Raises:
        SecureFairError: data cannot be read, settings contradict each other, the plan is
            impossible, or training diverged. A checkpoint that was begun here is removed again.
        KeyboardInterrupt: the checkpoint stays.
        ChildProcessError: one of the processes was ended; the checkpoint stays.
    """
    run = run.load()
    smaller = run.smaller()
    run.tables.forget()
    begun = [Begun.of(run, out, resume=resume)]
    if smaller is not None:
        inner = None if out is None else out / SMALLER
        taken_up = resume and inner is not None and is_unfinished(inner)
        begun.append(Begun.of(smaller, inner, resume=taken_up))

    heard = Hearing(callbacks)
    try:
        parts = [part for one in begun for part in one.parts]
        heard.catch_up(parts)
        with carrying_out(parts, progress, heard, processes) as every:
            outcome, *once_more = [one.outcome(every, callbacks) for one in begun]
    except SecureFairError:
        for one in reversed(begun):  # a folder in a folder first
            one.drop()
        raise
    outcome.smaller = next(iter(once_more), None)
    for one in begun:
        if one.checkpoint is not None:
            one.checkpoint.finish()
    return outcome


@dataclass(frozen=True, eq=False)
class Begun:
    """A run whose data are loaded.

    Attributes:
        checkpoint: where its rounds are written down; None: in memory only.
        parts: in the order of one process.
    """

    run: ResolvedRun
    checkpoint: Checkpoint | None
    parts: Sequence[Part]

    @classmethod
    def of(cls, run: ResolvedRun, out: Path | None, *, resume: bool) -> Begun:
        """Seed by seed its algorithms in their order; where there are gains, with all controls.

        Args:
            run: its data are loaded.
            out, resume: see `run_resolved`.
        """
        config, kinds = run.config, run.kinds
        checkpoint = None
        if out is not None:
            begun = Checkpoint.resume if resume else Checkpoint.begin
            checkpoint = begun(out, toml_of(config), run.data, run.models, versions())
        # The last kind is what the run is about; whoever stays alone has the controls of the first.
        about = list(kinds.values())[-1] if kinds else kind_of(next(iter(REGISTERED)))
        renewed = [one.name for one in config.renewals]
        first, *others = run.data
        parts = []
        for seed, data in run.data.items():
            controls = dict(about.controls(config, data, models=run.models))
            names = list(config.run.algorithms)
            if kinds:
                at = names.index(STANDALONE)
                names[at : at + 1] = list(controls)
            if config.run.ceiling:
                names.append(CEILING)
                controls[CEILING] = ceiling_of(data, degree_of(config.transfer.fit))
            for name in names:
                kind = kinds.get(name)
                parts.append(
                    Part(
                        name=name,
                        what=kind or controls[name],
                        rounds=controls[name].rounds
                        if kind is None
                        else kind.rounds(config.training.rounds, renewals=len(renewed)),
                        seed=seed,
                        data=data,
                        agreement=run.agreements[seed].get(name),
                        renewed=renewed,
                        models=run.models,
                        rules=run.own_rules,
                        kept=seed == first and name == [STANDALONE, *kinds][-1],
                        repeated=bool(others),
                        keeps_heads=run.keeps_heads,
                        small=run.small,
                        checkpoint=checkpoint,
                    )
                )
        return cls(run, checkpoint, parts)

    def drop(self) -> None:
        """Nothing will come of it: what was begun here goes."""
        if self.checkpoint is not None and not self.checkpoint.resumed:
            self.checkpoint.remove()

    def outcome(self, repetitions: Iterator[Repetition], callbacks: Sequence[Callback]) -> Outcome:
        """What it leaves behind.

        Args:
            repetitions: what parts leave behind, those of this run next.
            callbacks: hear of the models that are kept.
        """
        run, config, used = self.run, self.run.config, versions()
        by_seed = {seed: Repetition(seed, list(data)) for seed, data in run.data.items()}
        for done in islice(repetitions, len(self.parts)):
            by_seed[done.seed].add(done)
        first, *further = every = list(by_seed.values())
        samples = first.data[0].train
        result = conclude(
            every,
            name=config.run.name,
            metric=config.run.metric,
            learning=list(run.kinds),
            classes=outcome_of(samples).strata
            or run.classes
            or class_names(run.rules, samples.classes),
            caveats=caveats_of(ranges_told=config.tells_ranges, seeds=len(every)),
            findings=by_site(run.findings),
        )
        models = kept_models(ModelOrigin.of(config), run.own_rules, first, result, used)
        if not run.small:
            tell_models(callbacks, models)
        return Outcome(
            config=config,
            versions=used,
            result=result,
            rounds=_rounds([first]),
            further=_rounds(further),
            exchanges=[exchange for rows in first.exchanges.values() for exchange in rows],
            ledger=[row for facts in first.runs.values() for row in facts.ledger],
            traffic=[row for facts in first.runs.values() for row in facts.traffic],
            interrupted=sum(one.interrupted for one in every),
            repeated_bytes=sum(facts.repeated for one in every for facts in one.runs.values()),
            models=models,
            heads=first.heads.get(result.algorithm, {}),
        )


def _rounds(repetitions: Sequence[Repetition]) -> list[RoundRecord]:
    """Of all algorithms, seed by seed."""
    return [record for one in repetitions for rows in one.rounds.values() for record in rows]

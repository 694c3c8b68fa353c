"""What a collaboration came to: trained models, figures, records, and a report on request."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from securefair.circuit.planner import ExchangePlan
from securefair.collaboration.verdict import control_title, headline
from securefair.config import RunConfig, override
from securefair.data.findings import Finding
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named
from securefair.records import (
    STANDALONE,
    ExchangeRecord,
    LedgerRow,
    ParticipantResult,
    RoundRecord,
    TrafficRow,
)
from securefair.report.facts import problem_lines
from securefair.run.checkpoint import is_run
from securefair.run.folder import write_outcome
from securefair.run.results import Outcome
from securefair.words import words_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What a collaboration came to; accuracies in [0, 1] on each hospital's test samples.

    Attributes:
        models: everyone's trained model, of features as an extractor gives them. `transfer` and
            `cycle-gossip` make a `HospitalModel`, which has `predict_proba` and takes values of a
            `feature_range` as they were given. `vpdl` and `cycle` make a module of the type that
            was given, or a head with `logits`, which take such values as
            2 (x - low) / (high - low) - 1. After a transfer with one data set a hospital its model
            was fitted anew to all of it, the part held out included.
        plan: of the exchange with the hospital that has the most samples; None without one.
        outcome: everything that was recorded.
        findings: what to look at in tables that were given, as `securefair check` lists it, and
            columns that are no features.
    """

    models: Mapping[str, Any]
    plan: ExchangePlan | None
    outcome: Outcome
    findings: tuple[Finding, ...] = ()

    @property
    def config(self) -> RunConfig:
        """The settings, as a configuration file would have them."""
        return self.outcome.config

    @property
    def verdict(self) -> str:
        """Who is better off, by how much and than with what, in one sentence."""
        return headline(self.outcome.result, words_of())

    @property
    def accuracy(self) -> dict[str, float]:
        """After the last round."""
        return {one.name: one.accuracy for one in self._participants}

    @property
    def standalone(self) -> dict[str, float]:
        """Of each hospital alone, tuned by cross-validation on its own training samples."""
        return {one.name: one.standalone_accuracy for one in self._participants}

    @property
    def gain(self) -> dict[str, float]:
        """Accuracy minus accuracy without collaboration."""
        return {one.name: one.gain for one in self._participants}

    @property
    def controls(self) -> list[str]:
        """What gains can be measured against: nobody learns from anybody in these."""
        return self.outcome.result.controls

    @property
    def best_control(self) -> str:
        """The control that is hardest to beat, by log-loss on test samples."""
        figure = self.outcome.result.algorithms[self.outcome.result.algorithm]
        return figure.best_control or STANDALONE

    def gain_over(self, control: str) -> dict[str, float]:
        """Accuracy minus that of a control.

        Args:
            control: one of `controls`, such as `best_control`.

        Raises:
            ConfigError: there is no such control.
        """
        if control not in self.controls:
            raise ConfigError(
                "there is no such control",
                where="control",
                found=control,
                expected=", ".join(self.controls),
            )
        alone = self.outcome.result.algorithms[control].accuracy
        return {
            one.name: one.accuracy - other
            for one, other in zip(self._participants, alone, strict=True)
        }

    @property
    def mcg(self) -> float:
        """Mean collaboration gain."""
        return self.outcome.result.algorithms[self.outcome.result.algorithm].mcg

    @property
    def cgs(self) -> float:
        """Spread of the gains; 0 is even."""
        return self.outcome.result.algorithms[self.outcome.result.algorithm].cgs

    @property
    def rounds(self) -> list[RoundRecord]:
        """One record each, as callbacks heard them."""
        algorithm = self.outcome.result.algorithm
        return [record for record in self.outcome.rounds if record.algorithm == algorithm]

    @property
    def exchanges(self) -> list[ExchangeRecord]:
        """What every question cost."""
        return self.outcome.exchanges

    @property
    def ledger(self) -> list[LedgerRow]:
        """What every teacher disclosed to whom."""
        return self.outcome.ledger

    @property
    def traffic(self) -> list[TrafficRow]:
        """Bytes by sender, receiver and type of message."""
        return self.outcome.traffic

    @property
    def problems(self) -> list[str]:
        """What hospitals blamed each other for, or what failed."""
        return problem_lines(self.outcome.result)

    def write(
        self, folder: Path | str, *, name: str = "collaboration", overwrite: bool = False
    ) -> Path:
        """Write report.html and all records, as a run from a configuration file does.

        `securefair report` and `securefair compare` read the folder. Models are not in it, nor
        can the run be repeated from it alone: it does not know the caller's code and data.

        Args:
            folder: made where there is none; files of an earlier run are replaced, and a checkpoint
                there is removed.
            name: of the run, in the report.
            overwrite: write into a folder that holds something else too. Files of the same names,
                such as report.html and config.toml, are replaced there; all others stay.

        Returns:
            The path of the report.

        Raises:
            ConfigError: no such name is possible, the folder is a file, or it holds something that
                is no run.
            OSError: the folder cannot be written.
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise ConfigError("a run is a folder, and this is none", where=str(folder))
        if not (overwrite or is_run(folder)) and folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                "the folder holds something, and no run",
                where=str(folder),
                found=min(one.name for one in folder.iterdir()),
                expected="a new folder, or that of an earlier run",
                hint="Name another one, or write into this with overwrite=True",
            )
        config = override(self.config, {"run.name": name})
        named = replace(
            self.outcome,
            result=structs.replace(self.outcome.result, name=name),
            config=config,
        )
        folder.mkdir(parents=True, exist_ok=True)
        write_outcome(named, folder)
        return folder / "report.html"

    def __repr__(self) -> str:
        """One line with the verdict."""
        return f"Result({len(self.rounds)} rounds; {self.verdict}{self._to_look_at(' ')})"

    def _repr_html_(self) -> str:
        """The same in a notebook: of every hospital the score that the verdict is about."""
        heads, rows = self._table()
        head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
        body = "".join(
            f"<tr><th>{html.escape(name)}</th>{''.join(f'<td>{one}</td>' for one in cells)}</tr>"
            for name, cells in rows.items()
        )
        said = f"<p>{html.escape(self.verdict)}</p>"
        noted = f"<p>{note}</p>" if (note := self._to_look_at("")) else ""
        return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{noted}"

    def _table(self) -> tuple[list[str], dict[str, list[str]]]:
        """Headings, and cells by hospital; accuracy, or what stands for it, without a verdict."""
        result, words = self.outcome.result, words_of()
        figure, titles = result.algorithms[result.algorithm], words.under("titles")
        verdict = figure.verdict
        if verdict is None:
            measured = outcome_named(result.outcome).headline
            return ["Hospital", titles.get(measured, measured), "Alone", "Gain"], {
                name: [f"{self.accuracy[name]:.1%}", f"{self.standalone[name]:.1%}", f"{gain:+.1%}"]
                for name, gain in self.gain.items()
            }
        score, control = verdict.score, control_title(verdict.control, words)
        values = [
            figure.metrics[score].by_hospital,
            result.algorithms[verdict.control].metrics[score].by_hospital,
            figure.gain_over_best_control[score].by_hospital,
        ]
        return ["Hospital", titles.get(score, score), control, "Better by"], {
            name: ["" if (one := each[name]) is None else words.decimal(one, 3) for each in values]
            for name in verdict.hospitals
        }

    def _to_look_at(self, before: str) -> str:
        if not self.findings:
            return ""
        points = "1 point" if len(self.findings) == 1 else f"{len(self.findings)} points"
        return f"{before}{points} to look at in the tables: see findings"

    @property
    def _participants(self) -> list[ParticipantResult]:
        return self.outcome.result.participants

"""The sections of a configuration file, their keys, meanings, ranges and defaults.

Every model is frozen, strict (no silent conversion of "5" to 5) and refuses unknown keys.
Defaults are the values of the packaged demo; docs/terminology.md explains the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Ratio, Section, contradiction, refuse_repeats
from securefair.config.partition import Partition
from securefair.config.privacy import PrivacySection
from securefair.config.user_data import FilePath, ParticipantSection, TableSection

AlgorithmName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
"""What `collaboration.kinds` knows; controls beside "standalone" come by themselves."""

DEFAULT_ALGORITHMS = ("standalone", "transfer")

SHARES_UNSEEN = ("ckks", "crypten")  # averaging in which a sender sees no more than its own weight

NATURAL_SOURCES = ("heart",)  # data sets whose rows already belong to hospitals
CODE_SOURCES = ("python", "flamby")  # data that a user's own code loads
OWN_SOURCES = ("files", *CODE_SOURCES)


class RunSection(Section):
    """[run]: what to compute and where to put it."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Name of the run and of its folder",
        json_schema_extra={
            "expected": "up to 64 letters, digits, dots, dashes and underscores, "
            "starting with a letter or a digit"
        },
    )
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, le=2**32 - 1)], ...], Field(strict=False)] = (
        Field(
            default=(0,),
            min_length=1,
            description="One complete repetition per seed; results are means over them",
        )
    )
    algorithms: Annotated[tuple[AlgorithmName, ...], Field(strict=False)] = Field(
        default=DEFAULT_ALGORITHMS,
        min_length=1,
        description="What to compare; gains are measured against standalone, which must be there",
    )
    metric: Literal[
        "log_loss", "brier", "auc", "accuracy", "balanced_accuracy", "sensitivity", "specificity"
    ] = Field(default="log_loss", description="What algorithms are compared by; all are written")
    ceiling: bool = Field(
        default=False,
        description="Train on everybody's samples together as well, for samples that may be pooled "
        "in an experiment: shows how much there is to gain",
    )
    smaller: int | None = Field(
        default=None,
        ge=2,
        description="Run the last algorithm and all controls once more with at most so many "
        "training samples a participant, in the same report: what small participants gain",
    )
    out: Annotated[Path, Field(strict=False)] | None = Field(
        default=None,
        description="Folder that receives the run's own folder; seen from where the program starts",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_repeats("seeds", self.seeds)
        refuse_repeats("algorithms", self.algorithms)
        if "standalone" not in self.algorithms:
            raise contradiction(
                "algorithms",
                "a gain needs something to compare with",
                found=list(self.algorithms),
                expected='a list that contains "standalone"',
            )
        return self

    @property
    def main(self) -> AlgorithmName:
        """The algorithm that the run is about: the last in which participants learn together."""
        return self.collaborative[-1] if self.collaborative else "standalone"

    @property
    def collaborative(self) -> tuple[AlgorithmName, ...]:
        """The algorithms in which participants learn from each other, in the order given."""
        return tuple(name for name in self.algorithms if name != "standalone")


class DataSection(Section):
    """[data]: whose samples, and what is held out."""

    source: Literal["heart", "breast-cancer", "digits", "files", "python", "flamby"] = Field(
        description="Packaged data set, or your own: files ([[participants]]), a function of yours "
        "(python), or a data set class with centres (flamby)"
    )
    test_fraction: Ratio = Field(
        default=1 / 3,
        gt=0,
        lt=1,
        description='Share of each participant\'s samples held out for testing; "1/3" is allowed',
    )
    most_training: int | None = Field(
        default=None,
        ge=2,
        description="Most training samples that a participant keeps, drawn by the seed; test "
        "samples stay",
    )
    entry: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="Your function or class, as module:name (python and flamby only)",
        json_schema_extra={"expected": 'text such as "my_module:load"'},
    )
    module_folder: FilePath | None = Field(
        default=None,
        description="Where the module of `entry` is looked for first; the folder of this file",
    )
    centers: int | None = Field(
        default=None,
        ge=2,
        le=1000,
        description="Number of centres (flamby only); otherwise NUM_CLIENTS of its module",
    )
    feature_range: Annotated[tuple[float, float], Field(strict=False)] | None = Field(
        default=None,
        description="Public range of features that come as arrays; becomes [-1, 1], values beyond "
        "are clipped. Without it they must lie in [-1, 1]",
        json_schema_extra={"expected": "two numbers, the smaller first"},
    )
    partition: Partition | None = Field(
        default=None, description="How to divide a data set that has no hospitals of its own"
    )

    @property
    def own(self) -> bool:
        """Whether somebody brought the data, rather than this package."""
        return self.source in OWN_SOURCES

    @model_validator(mode="after")
    def _check(self) -> Self:
        natural = self.source in NATURAL_SOURCES or self.own
        if natural and self.partition is not None:
            raise contradiction(
                "partition",
                f"{self.source} already belongs to real hospitals"
                if not self.own
                else "your own data comes divided",
                found=self.partition.kind,
                expected="no [data.partition] section",
            )
        if not natural and self.partition is None:
            raise contradiction(
                "partition",
                f"{self.source} has no hospitals of its own",
                found="nothing",
                expected="a [data.partition] section with kind and participants",
            )
        by_code = self.source in CODE_SOURCES
        for key, value, allowed in (
            ("entry", self.entry, by_code),
            ("module_folder", self.module_folder, by_code),
            ("centers", self.centers, self.source == "flamby"),
            ("feature_range", self.feature_range, self.own),
        ):
            if value is not None and not allowed:
                raise contradiction(
                    key,
                    f"this key means nothing for {self.source}",
                    found=value,
                    expected="no such key",
                )
        if by_code and self.entry is None:
            raise contradiction(
                "entry",
                f"{self.source} needs something to call",
                found="nothing",
                expected='text such as "my_module:load"',
            )
        if self.feature_range is not None and self.feature_range[0] >= self.feature_range[1]:
            raise contradiction(
                "feature_range",
                "not a range",
                found=list(self.feature_range),
                expected="two numbers, the smaller first",
            )
        return self


class ModelSection(Section):
    """[model]: the model that every participant trains; encrypted inference evaluates it."""

    kind: Literal["quadratic", "linear", "network"] = Field(
        default="quadratic",
        description="linear - square - linear, a single linear layer, or a whole network on pixels",
    )
    network: Literal["digits-8", "digits-28"] | None = Field(
        default=None,
        description="Which network (network only): convolutions for grey images of so many pixels "
        "a side",
    )
    hidden: int = Field(
        default=defaults.HIDDEN,
        ge=1,
        le=4096,
        description="Width of the hidden layer (quadratic only)",
    )
    range_penalty: float = Field(
        default=0.01,
        ge=0,
        description="What training pays for values that leave the range of a network's squares "
        "(network only)",
    )
    weight_bits: int = Field(
        default=12, ge=4, le=14, description="Bits of a weight when the model meets ciphertexts"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_layer(cls, table: object) -> object:
        hidden = table.get("hidden") if isinstance(table, Mapping) else None
        if isinstance(hidden, list | tuple):
            raise contradiction(
                "hidden",
                "a head has one hidden layer; networks of a configuration are those for images; "
                "Student and Teacher take a NetworkHead of any layers (securefair.model.networks)",
                found=hidden,
                expected='one width, or kind = "network" for images',
            )
        return table

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.kind == "network") != (self.network is not None):
            raise contradiction(
                "network",
                "a network needs a name"
                if self.kind == "network"
                else f"a {self.kind} head is no network",
                found="nothing" if self.network is None else self.network,
                expected='"digits-8" or "digits-28"'
                if self.kind == "network"
                else 'no such key, or kind = "network"',
            )
        return self


class TrainingSection(Section):
    """[training]: full-batch gradient descent with momentum, the same for every algorithm."""

    learning_rate: float = Field(default=0.05, gt=0, description="Step size")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of the optimiser")
    weight_decay: float = Field(default=1e-3, ge=0, description="L2 penalty")
    clip_norm: float = Field(
        default=5.0, gt=0, description="Largest gradient norm; longer gradients are shortened"
    )
    class_weight: Literal["none", "balanced"] = Field(
        default="none",
        description="Whether classes count by their samples or alike, in everything that trains; "
        "balanced finds more of a rare class, and its probabilities are too high for it",
    )
    local_epochs: int = Field(
        default=defaults.LOCAL_EPOCHS,
        ge=0,
        description="Epochs that everyone trains alone before the first round",
    )
    rounds: int = Field(default=defaults.ROUNDS, ge=1, le=100_000, description="Protocol rounds")
    local_steps: int = Field(
        default=defaults.LOCAL_STEPS, ge=1, description="Optimiser steps in a round"
    )


class TransferSection(Section):
    """[transfer]: one answer from every teacher, taken as an offset of one's own fit."""

    fit: Literal["linear", "quadratic"] = Field(
        default="linear", description="Degree of everybody's own fit, from which it answers"
    )
    q: int = Field(
        default=32,
        ge=1,
        le=1024,
        description="Most numbers of a logit that an answer tells; fewer where fewer tell it all",
    )
    opened: Literal["auto", "each", "mean"] = Field(
        default="auto",
        description="Whether a student opens each answer or only their mean; auto: the mean from "
        "three teachers on",
    )
    peers: int = Field(
        default=8, ge=2, le=1000, description="Most others that a hospital asks, drawn by the seed"
    )


class DistillationSection(Section):
    """[distillation]: what a teacher lets out, and how strongly a student follows it."""

    release: Literal["loss", "class_sums", "projection", "logits"] = Field(
        default="projection",
        description="What leaves the encryption for the student; loss and class_sums only monitor",
    )
    basis: Literal["public", "student"] = Field(
        default="public",
        description="Who chooses the weighted sums of a projection: a public seed or the student",
    )
    q: int = Field(
        default=64, ge=1, le=16_384, description="Numbers per class and answer of a projection"
    )
    temperature: float = Field(
        default=defaults.TEMPERATURE, gt=0, description="Softens both sides' predictions"
    )
    prevalence: Literal["own", "teacher"] = Field(
        default="own",
        description="Whose class frequencies a student learns: its own, or its teachers', as the "
        "papers have it",
    )
    lambda_0: float = Field(
        default=defaults.LAMBDA_0, ge=0, description="Weight of the distillation loss"
    )
    roles: Literal["both", "apart"] = Field(
        default="both",
        description="apart: `teachers` only teach and all others only learn, so that nothing that "
        "was opened flows back (vpdl only)",
    )
    teachers: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="Names of those who only teach, with roles apart"
    )
    sample_clip: float = Field(
        default=16.0,
        gt=0,
        description="Largest logit, from the mean of its sample's logits, that a student learns "
        "from; answers beyond are cut",
    )
    answer_clip: float = Field(
        default=8.0,
        gt=0,
        description="Largest root mean square of an answer's logits that a student learns from",
    )

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        refuse_repeats("teachers", self.teachers)
        if (self.roles == "apart") != bool(self.teachers):
            raise contradiction(
                "teachers",
                "roles apart need names of teachers, and only they do",
                found=list(self.teachers),
                expected='names, with roles = "apart"',
            )
        return self


class FairnessSection(Section):
    """[fairness]: how a participant's reputation of a peer is formed and used (CYCle)."""

    alpha: float = Field(
        default=0.5, ge=0, lt=1, description="How much of the old reputation survives an update"
    )
    tau_opt: float = Field(
        default=0.25, ge=0, le=1, description="Misalignment up to which reputation is full"
    )
    tau_max: float = Field(
        default=0.75, ge=0, le=1, description="Misalignment from which reputation is zero"
    )
    forced_every: int = Field(
        default=defaults.FORCED_EVERY,
        ge=1,
        description="Every so many rounds all peers answer and reputations are updated",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tau_opt >= self.tau_max:
            raise contradiction(
                "tau_opt",
                "reputation must fall from tau_opt to tau_max",
                found=self.tau_opt,
                expected=f"less than tau_max = {self.tau_max}",
            )
        return self


class GossipSection(Section):
    """[gossip]: averaging models with aligned neighbours (CYCle on Gossip-SGD)."""

    averaging: Literal["masked", "ckks", "crypten", "clear"] = Field(
        default="masked",
        description="How sums of models stay private. For comparison only: crypten, between "
        "processes of one machine; clear, where models are in the OPEN",
    )
    topology: Literal["complete", "ring", "exponential"] = Field(
        default="complete", description="Who is beside whom, unless edges say it"
    )
    edges: Annotated[
        tuple[Annotated[tuple[str, str], Field(strict=False)], ...], Field(strict=False)
    ] = Field(
        default=(),
        description="Undirected edges between participants' names, instead of a topology",
        json_schema_extra={"expected": 'pairs of names, such as [["a", "b"], ["b", "c"]]'},
    )
    weighting: Literal["uniform", "metropolis"] = Field(
        default="uniform", description="Weights before gradients are first compared"
    )
    beta: float = Field(
        default=15.0, ge=0, description="Sharpness with which aligned neighbours are preferred"
    )
    levels: int = Field(
        default=5,
        ge=2,
        description="Public values that a similarity is rounded to: weights tell others log2 of "
        "that many bits of an alignment, and no more",
    )
    key_bits: float = Field(
        default=64.0,
        ge=0,
        description="Most bits of alignments that a peer may see in weights, under one key; "
        "later answers are not opened",
    )
    relative: bool = Field(
        default=True,
        description="Share as often as a weight relative to the best neighbour's says; false: as "
        "the paper prints it, with a link about once in so many rounds as there are participants",
    )
    sketch: int = Field(
        default=8192,
        ge=0,
        le=65_536,
        description="Numbers that stand for a gradient, a power of two; 0: all of its own",
    )
    bound: float = Field(
        default=16.0, gt=0, description="Largest parameter; a run stops where one exceeds it"
    )
    precision: Ratio = Field(
        default=2**-16, gt=0, le=0.5, description="Largest error of an average over the bound"
    )
    min_senders: int = Field(
        default=2,
        ge=2,
        description="Fewest models in a sum: one less than so many others must side with a "
        "receiver that keeps to the weights before it can take a model out; with fewer, the own "
        "model is kept",
    )
    max_share: Ratio | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Largest part of a sum's weights that one sender may have, best 1 / "
        "min_senders, which is the least: heavier ones are cut; every sender sees all weights and "
        "checks (masked, clear only). A receiver that chooses weights at will needs 1 / max_share "
        "- 1 senders on its side, rounded up; by default none",
    )
    network: str | None = Field(
        default=None,
        description='Another network than the head of [model], such as "mlp-32"; only where all '
        "algorithms average",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_share is None:
            return self
        if self.averaging in SHARES_UNSEEN:
            raise contradiction(
                "max_share",
                f"senders do not see each other's weights with {self.averaging}",
                found=self.max_share,
                expected='no such key, or averaging = "masked"',
            )
        if self.max_share < 1 / self.min_senders:
            raise contradiction(
                "max_share",
                f"{self.min_senders} models cannot all have so small a share of their sum",
                found=self.max_share,
                expected=f"1/{self.min_senders} (min_senders) or more",
            )
        return self


class EncryptionSection(Section):
    """[encryption]: who computes on ciphertexts, and how precisely; the planner does the rest."""

    backend: Literal["seal", "rns", "clear"] = Field(
        default="rns",
        description="seal: products by SEAL; rns: by our kernels; clear: NO encryption, for tests",
    )
    flooding_bits: int = Field(
        default=30, ge=30, le=60, description="Noise in an answer over its evaluation noise, log2"
    )
    precision: Ratio = Field(
        default=2**-10,
        gt=0,
        le=0.1,
        description="Largest error by encryption of a released value, over its range",
    )


class DisclosureSection(Section):
    """[disclosure]: when a teacher stops answering."""

    fraction: float = Field(
        default=1.0,
        gt=0,
        description="Most numbers one student may receive of one version of a teacher's model, as "
        "a fraction of that model's parameters or of the student's samples times classes, "
        "whichever is smaller",
    )
    student_total: int | None = Field(
        default=None, ge=1, description="Most numbers to one student over all versions"
    )
    teacher_total: int | None = Field(
        default=None, ge=1, description="Most numbers to all students over all versions"
    )


class ReportSection(Section):
    """[report]: what is written besides the records."""

    html: bool = Field(default=True, description="Write report.html, one self-contained page")
    title: str | None = Field(
        default=None, max_length=120, description="Heading of the report, else the run's name"
    )


class RunConfig(Section):
    """A whole configuration file."""

    run: RunSection
    data: DataSection
    table: TableSection | None = Field(
        default=None, description="How to read .csv and .parquet files"
    )
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()
    transfer: TransferSection = TransferSection()
    distillation: DistillationSection = DistillationSection()
    fairness: FairnessSection = FairnessSection()
    gossip: GossipSection = GossipSection()
    encryption: EncryptionSection = EncryptionSection()
    disclosure: DisclosureSection = DisclosureSection()
    privacy: PrivacySection | None = Field(
        default=None, description="Differential privacy for the patients behind the models"
    )
    report: ReportSection = ReportSection()
    participants: Annotated[tuple[ParticipantSection, ...], Field(strict=False)] = Field(
        default=(), description="Who brings files (source = files)"
    )

    @model_validator(mode="after")
    def _check_own_data(self) -> Self:
        if self.data.source != "files":
            for key, given in (("participants", self.participants), ("table", self.table)):
                if given:
                    raise contradiction(
                        key,
                        f"the data is {self.data.source}, not files",
                        found=key,
                        expected='data.source = "files"',
                    )
            return self
        names = [one.name for one in self.participants]
        refuse_repeats("participants", names)
        if len(names) < 2:
            raise contradiction(
                "participants",
                "files need at least two participants",
                found=names,
                expected="a [[participants]] section with name and file for each",
            )
        if self._tables and (self.table is None or self.table.label is None):
            raise contradiction(
                "table.label",
                "a table needs a column to predict",
                found="nothing",
                expected="the name of a column",
            )
        return self

    @model_validator(mode="after")
    def _check_privacy(self) -> Self:
        privacy = self.privacy
        if privacy is None:
            return self
        if self.training.class_weight != "none":
            raise contradiction(
                "training.class_weight",
                "a private fit counts every patient alike",
                found=self.training.class_weight,
                expected='"none", or no [privacy] section',
            )
        if privacy.store is not None and len(self.run.seeds) > 1:
            raise contradiction(
                "privacy.store",
                "every seed fits anew, and every fit is charged",
                found=f"{len(self.run.seeds)} seeds",
                expected="one seed, or no store (a simulation)",
            )
        if privacy.store is not None and self.run.smaller is not None:
            raise contradiction(
                "privacy.store",
                "smaller hospitals are fitted as well, and every fit is charged",
                found=f"run.smaller = {self.run.smaller}",
                expected="no run.smaller, or no store (a simulation)",
            )
        if privacy.patient_column is not None and self.data.source != "files":
            raise contradiction(
                "privacy.patient_column",
                f"{self.data.source} has no columns that name patients",
                found=privacy.patient_column,
                expected='data.source = "files", or no such key',
            )
        if self.table is not None and privacy.patient_column in {
            self.table.label,
            *(column.name for column in self.table.columns if column.kind != "ignored"),
        } - {None}:
            raise contradiction(
                "privacy.patient_column",
                "the name of a patient is a feature or the label",
                found=privacy.patient_column,
                expected="a column of its own",
            )
        return self

    @property
    def _tables(self) -> bool:
        """Whether any file has columns with names."""
        return any(one.is_table for one in self.participants)

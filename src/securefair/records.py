"""What a run leaves behind: the same records for reference algorithms and encrypted runs.

Plain frozen structs of Python scalars, so that equal records serialise to JSON byte for byte alike.
Equal seeds give equal records in the clear; with encryption up to its error, as training amplifies
it (docs/faq.md). Matrices are indexed [student][teacher]; None on the diagonal or where nothing
happened (a peer that was not asked has no alignment).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Matrix = list[list[float | None]]

STANDALONE = "standalone"
"""The control that every gain is measured against."""

CEILING = "pooled"
"""Training on everybody's samples together, where they may be pooled: head-room, not a control."""


ACCURACY = "accuracy"
"""The headline score of classes, and what records of earlier versions mean."""


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One protocol round of one algorithm, over all participants.

    What has a default is left out of files by algorithms that do not know it.
    """

    algorithm: str
    round: int
    forced: bool  # every peer asked and answered, and reputations were updated
    accuracy: list[float]  # test accuracy of each participant after the round, in [0, 1]
    cross_entropy: list[float]  # training cross-entropy after the round, nats a sample
    reputation: Matrix  # r_nk after the round, in [0, 1]
    alignment: Matrix  # cosine of the two gradients, in [-1, 1]; only in forced rounds
    distillation_loss: Matrix  # approximate KL a sample at the start of the local steps
    asked: list[list[bool]]
    answered: list[list[bool]]
    numbers_sent: list[int] | None = None  # by each participant: parameters, gradients, logits
    validation_accuracy: list[float] | None = None  # where participants hold validation samples
    mcc: list[float] | None = None  # Matthews correlation on the test samples, in [-1, 1]
    privacy_spent: list[float] | None = None  # epsilon of each hospital's patients by then
    present: list[bool] | None = None  # who still takes part: some algorithms drop participants
    headline: str = ACCURACY  # the score that `accuracy` holds, of what is predicted
    seed: int | None = None  # where a run has several

    def __reduce__(self) -> tuple[object, ...]:
        """Between processes as on disk: of a copied value nobody sees that it is the default."""
        return _read_record, (msgspec.json.encode(self),)


def _read_record(line: bytes) -> RoundRecord:
    return msgspec.json.decode(line, type=RoundRecord)


class ExchangeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one answered or declined query, as measured; never part of reproducible files."""

    algorithm: str
    round: int
    student: str
    teacher: str
    answered: bool
    bytes_up: int
    bytes_down: int
    teacher_seconds: float
    student_seconds: float


WEIGHTED_SUM = "weighted_sum"
"""Release of a ledger row that counts sums over several models. Their numbers say nothing of one
model alone, unless the other senders' are known."""


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one teacher has let out to one student, against the two disclosure bounds."""

    algorithm: str
    student: str
    teacher: str
    release: str
    answers: int
    numbers_per_answer: int
    numbers_total: int
    teacher_parameters: int
    student_logits: int  # student's samples times classes
    control_bits: float = 0.0  # of opened values, by queries, declines and weights to that student
    determines: bool = False  # one answer tells the fit, or every logit of the student's samples
    in_mean: bool = False  # opened in a mean with other teachers' numbers only


class TrafficRow(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that crossed the wire from one participant to another, by message type."""

    algorithm: str
    sender: str
    receiver: str
    message: str  # hello, keys, features, query, answer, decline; of gossip: `protocol.messages`
    count: int
    bytes: int


class QuantizationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What rounding a participant's final weights for encryption changes on its test samples."""

    weight_bits: int  # of the largest integer weight, over the run's seeds
    max_abs_logit_change: float  # over the run's seeds
    accuracy_before: float  # in [0, 1], mean over the run's seeds
    accuracy_after: float


class ParticipantResult(msgspec.Struct, frozen=True, kw_only=True):
    """One participant at the end of a run; accuracies in [0, 1], mean over the run's seeds."""

    name: str
    samples: int
    train_samples: int
    test_samples: int
    majority_accuracy: float  # of always answering its most common training label
    standalone_accuracy: float
    accuracy: float  # of the collaborative algorithm that the run is about
    gain: float
    accuracy_spread: float  # standard deviation over seeds (ddof 1), 0 for a single seed
    gain_spread: float
    quantization: QuantizationResult | None = None  # None where nothing was encrypted


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """One score of one algorithm, of predictions on the test samples.

    Standard errors are those of a bootstrap over patients, each counted once whatever the seeds.
    They are 0 where all patients are right; 95 % intervals (Wilson) tell more of few patients, for
    scores that are shares of patients. None where a score is undefined, such as the AUC of a test
    part with one class; an error also where patients are too few to be judged.
    """

    mean: float | None  # over participants with a standard error, of the means over seeds
    se: float | None
    by_hospital: dict[str, float | None]
    se_by_hospital: dict[str, float | None]
    skew: float = 0.0  # of `mean` over patients, of gains alone
    skew_by_hospital: dict[str, float] = {}
    by_seed: dict[str, list[float | None]] = {}  # by hospital, in the order of the seeds
    interval: tuple[float, float] | None = None  # of the mean
    interval_by_hospital: dict[str, tuple[float, float]] = {}


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """Test samples with like predictions: how often these came true, over all seeds."""

    predicted: float  # mean predicted probability
    observed: float  # share for whom it came true
    samples: int


class ThresholdResult(msgspec.Struct, frozen=True, kw_only=True):
    """What happens where class 1 is said from a probability on, all participants together.

    Of two classes only; shares in [0, 1], over all seeds. None where nobody is of a class.
    """

    threshold: float
    said: float  # share of all samples that are said to be of class 1
    sensitivity: float | None  # share of class 1 that is recognised
    specificity: float | None  # share of class 0 that is ruled out
    right: float | None  # of those said to be of class 1, the share that is


class TrustResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one participant's own patients say of its peers, after a transfer."""

    in_peers: float  # weight of all settings with peers, in [0, 1]
    gain: float  # held-out log-loss alone minus together; hardly goes with the gain on others
    gain_se: float
    left_out: list[str]  # teachers whose answers are no function of the features
    weights: dict[str, float]  # by teacher, where every answer was opened by itself
    families: dict[str, float] = {}  # weight of each family of own fits, such as "linear", "trees"


class StandInResult(msgspec.Struct, frozen=True, kw_only=True):
    """How far the function that answers is from the model that a participant brought."""

    model: str  # its name
    own: float  # mean distance of the probability of a class, on own training samples held out
    synthetic: float  # the same on synthetic samples
    other_class: float  # share of own samples of whom they say different classes


class PictureSeries(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is drawn in one colour and form.

    Attributes:
        name: key of its words, under `pictures` of a language.
        form: points that are joined, or joined by steps; dots with whiskers; bars around x.
        x, y: as long as each other, in the units of the ticks.
        low, high: ends of 95 % intervals, as long as `y`; empty for none.
        patients: of a step or line, those still followed at each tick of x; of dots and bars, of
            each; empty where they say nothing.
    """

    name: str
    form: Literal["steps", "line", "dots", "bars"]
    x: list[float]
    y: list[float]
    low: list[float] = []
    high: list[float] = []
    patients: list[int] = []


class Picture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture that an outcome needs, as numbers; reports draw it.

    Attributes:
        name: key of its words, under `pictures` of a language.
        x_ticks, y_ticks: evenly spaced; the first and the last one are the ends of the axis.
        series: the first one is drawn first.
        x_shares, y_shares: whether an axis is of shares in [0, 1].
        alike: whether a line says where what was predicted is what was seen.
        at: numbers that the words name, such as a horizon.
        behind: whether it is for researchers, behind the first page.
    """

    name: str
    x_ticks: list[float]
    y_ticks: list[float]
    series: list[PictureSeries]
    x_shares: bool = False
    y_shares: bool = False
    alike: bool = False
    at: dict[str, float] = {}
    behind: bool = False


class GainResult(msgspec.Struct, frozen=True, kw_only=True):
    """Gain of accuracy over one control; means over seeds, spreads over seeds with ddof 1."""

    mean: float  # over participants
    mean_spread: float
    gain: list[float]  # per participant
    gain_spread: list[float]


class HospitalVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one participant is better off than with the best control (`worth.verdict`)."""

    gain: float | None  # drawn towards the mean over participants; positive is better
    se: float | None  # standard deviation of what is known of it
    told: Literal["better", "worse", "unclear"]


class VerdictResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an algorithm is worth against the best control; every output says the same."""

    score: str
    algorithm: str
    control: str
    gain: float | None  # mean over participants with a standard error; positive is better
    se: float | None
    told: Literal["better", "worse", "unclear"]  # of the mean
    hospitals: dict[str, HospitalVerdict]
    sentence: str  # in English


class AlgorithmResult(msgspec.Struct, frozen=True, kw_only=True):
    """The paper's figures for one algorithm; mean over seeds, spreads over seeds with ddof 1.

    `mcg`, `cgs` and `gain` are over `standalone`, as in the papers; `gain_over` has the other
    controls, and `gain_over_best_control` the one that is hardest to beat.
    """

    mva: float  # mean accuracy over participants
    mcg: float  # mean collaboration gain
    cgs: float  # spread of the gains over participants, ddof 0 as in CYCle's tables
    cgs_ddof1: float  # the same as CYCle's Eq. 5 prints it
    accuracy: list[float]  # per participant
    gain: list[float]
    accuracy_spread: list[float]
    gain_spread: list[float]
    mva_spread: float
    mcg_spread: float
    cgs_spread: float
    gain_over: dict[str, GainResult] = {}  # of accuracy, over each other control
    metrics: dict[str, MetricResult] = {}  # by score; empty where no model was kept
    gain_over_best_control: dict[str, MetricResult] = {}  # by score; positive is better
    best_control: str | None = None  # the best by `RunResult.metric`, on these test samples
    confusion: dict[str, list[list[int]]] = {}  # [true][predicted] by participant, over all seeds
    reliability: list[Reliability] = []  # of all participants together, lowest predictions first
    thresholds: list[ThresholdResult] = []  # lowest first; empty for more than two classes
    pictures: list[Picture] = []  # of the first seed, all participants together
    nearly_constant: list[str] = []  # participants whose model says one class of nearly everyone
    trust: dict[str, TrustResult] = {}  # of the first seed
    sums: str | None = None  # what hospitals of a transfer added up: a name, or "none"
    families: dict[str, float] = {}  # mean of `trust` over participants
    stand_ins: dict[str, StandInResult] = {}  # of the first seed, by who brought a model
    left_out: dict[str, dict[str, list[str]]] = {}  # teachers by seed and student, as in `trust`
    verdict: VerdictResult | None = None  # None for controls, and where no model was kept


class AveragingResult(msgspec.Struct, frozen=True, kw_only=True):
    """How models were averaged over the whole run; `EncryptionResult` tells of the alignments.

    `EncryptionResult.bytes_up`, `bytes_down` and `answers` count both: requests to senders, their
    models' parts of sums, and that a neighbour's gradient or model came through in a round;
    `max_abs_error` is that of a coordinate of an average, and its range the planned bound.
    """

    averaging: str  # masked, ckks, crypten or clear
    hides_weights: bool  # from the senders
    hides_parameters: bool  # from the receiver
    parameters: int  # of the model that everyone shares
    average_error_bound: float  # planned, of a coordinate of an average
    cosine_error_bound: float  # planned; a sketch's is exceeded with a tiny probability
    min_senders: int  # fewer make no sum
    kept_own: int  # how often a participant averaged nothing, for want of senders
    lost: int  # senders that shared and sent no share in time
    max_share: float | None = None  # most of a sum's weights that one sender had; None: any
    max_sums: int | None = None  # rounds in which one receiver was offered a model; None: any


class EncryptionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What encryption was used and what it cost over the whole run."""

    backend: str
    ring_degree: int
    log_qp: float
    security_bits: int
    release: str
    flooding_bits: int
    max_abs_error: float  # released values against the clear backend
    error_over_range: float
    bytes_up: int  # student to teacher
    bytes_down: int  # teacher to student
    answers: int
    declines: int
    seconds: float
    averaging: AveragingResult | None = None  # where models are averaged
    error_bound: float | None = None  # planned, of an opened value
    numbers_disclosed: int = 0  # by all teachers to all students
    bits_disclosed: int | None = None  # at most, at the resolution that numbers are opened at


class PrivacyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run promises to the patients behind one hospital's answers.

    Attributes:
        mechanism: "objective perturbation" or "DP-SGD".
        epsilon, delta: what was allowed, to fits and alignments together, over all runs.
        spent_epsilon, spent_delta: of all private fits on these patients that this hospital keeps
            account of, this run's included.
        unit: who is protected.
        noise: "operating system", or "seed", which repeats and protects nobody.
        asked_epsilon, asked_delta: of what flows back from this hospital about its patients that
            it asked about; None: not bounded by differential privacy. They are the same patients:
            both pairs add up.
        meaning: what was spent so far, both pairs together, as a sentence.
        caveats: what it does not cover in this run.
    """

    mechanism: str
    epsilon: float
    delta: float
    spent_epsilon: float
    unit: str
    noise: str
    asked_epsilon: float | None
    meaning: str
    caveats: list[str]
    asked_delta: float | None = None
    spent_delta: float = 0.0


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """metrics.json: everything that a run concludes."""

    format: int
    name: str
    seeds: list[int]
    algorithm: str  # the one that `participants` and `encryption` are about
    participants: list[ParticipantResult]
    algorithms: dict[str, AlgorithmResult]
    encryption: EncryptionResult | None
    privacy: dict[str, PrivacyResult] | None = None  # by hospital; None: nothing was private
    class_counts: dict[str, list[int]] = {}  # training and test samples of each class, first seed
    metric: str = "log_loss"  # what algorithms are compared by
    controls: list[str] = []  # of `algorithms`: nobody learns from anybody in them
    problems: dict[str, list[str]] = {}  # what failed, or was left out, by seed
    classes: list[str] = []  # names, in the order of every matrix; empty where nobody named them
    outcome: str = (
        "two_classes"  # what is predicted; its `headline` is what `accuracy` and gains say
    )
    findings: dict[str, list[str]] = {}  # what makes results wrong in a table, by whose it is

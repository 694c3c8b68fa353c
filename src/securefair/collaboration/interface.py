"""What a kind of collaboration is: all that the rest of the package asks of one.

    configuration -> check -> agree -> forecast        what `securefair check` needs
                                    -> host              one participant, at a site
                                    -> observer          what sees all of them, in a simulation

A kind is a folder of `collaboration` and a line of `kinds`. Laws, which
`tests/contract/test_kinds.py` asks of every kind that is registered:

- An agreement follows from the configuration and from what everyone may know of everyone
  (`PublicFacts`), so that every participant finds the same one by itself.
- Encryption changes records by its error only: a run with backend "clear" is the same run.
- A run that is restored goes on with the records that it would have gone on with.
- A forecast holds: no run sends or lets out more than it says.
- What a run lets out is in its ledger, and nothing else is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from securefair.collaboration.agreement import Agreement, PublicFacts, most_samples, optimizer_of
from securefair.collaboration.forecast import Forecast
from securefair.collaboration.telling import Told
from securefair.collaboration.wording import SiteWording, Wording
from securefair.config import RunConfig
from securefair.config.transfer import degree_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError, PlanError
from securefair.records import RunResult
from securefair.words import Words

if TYPE_CHECKING:
    from securefair.collaboration.controls import Control
    from securefair.collaboration.host import Host, Role, Stored
    from securefair.collaboration.observer import Observer
    from securefair.collaboration.told import TellingLedger
    from securefair.model.heads import Head
    from securefair.worth import SelfTaught

A = TypeVar("A", bound=Agreement)


@dataclass(frozen=True, kw_only=True)
class Kind(ABC, Generic[A]):
    """A kind of collaboration under one name of `run.algorithms`.

    It holds no state: everything is in what it returns.

    Attributes:
        name: of the algorithm, as configurations and records have it.
        wording: how people read of it.
    """

    name: str
    wording: Wording

    exchanges: ClassVar[int | None] = None
    """Rounds that it takes, but for renewals; None: as many as `training.rounds` says."""

    renews: ClassVar[bool] = False
    """Whether participants whose own data changed may ask anew."""

    takes_own: ClassVar[bool] = False
    """Whether one participant may bring a model that answers for it, and further columns."""

    validates: ClassVar[bool] = False
    """Whether it is there to look at peers' models, and not to learn: `Host.validation` tells."""

    describes: ClassVar[bool] = False
    """Whether it is there to describe patients, and not to learn: `Host.description` tells."""

    model_key: ClassVar[str] = "model.kind"
    """The dotted key that says which kind of model everyone fits."""

    loads: ClassVar[tuple[str, ...]] = ()
    """Modules that its participants need and that take a second to load, for who starts processes
    to load them once."""

    prices: ClassVar[str] = "rounds"
    """Which measured prices say what it costs: a name of `profiling.pricing.PRICINGS`."""

    @property
    @abstractmethod
    def reads(self) -> frozenset[str]:
        """Dotted keys of a configuration that it reads or checks, of those that depend on the kind
        (`securefair.config.reading`). One that is given and that nobody reads is refused.
        """

    @abstractmethod
    def tell(self, config: RunConfig, result: RunResult, words: Words) -> Told:
        """What a run of it did, what it counted, and what it did not protect: nothing that only
        another kind does.

        Args:
            config, result: of the run.
            words: of the report's language, about its participants.
        """

    @property
    def learns(self) -> bool:
        """Whether it is there to learn from peers: of what nobody learned nothing is a gain."""
        return not (self.validates or self.describes)

    def site_wording(self, agreement: A) -> SiteWording:
        """How the page of one site reads, where the agreement decides what passes."""
        del agreement
        return self.wording.site

    def cautions(self, agreement: A) -> list[str]:
        """What whoever signs this agreement must know before, in sentences."""
        del agreement
        return []

    def check(self, config: RunConfig) -> None:
        """Refuse settings that contradict each other; asked if it is run or its section is given.

        Raises:
            ConfigError: names the key.
        """

    def check_role(self, role: Role) -> None:
        """Refuse roles apart where everyone both asks and answers, as in most kinds.

        Raises:
            ConfigError: this kind has no such role.
        """
        if role != "both":
            raise ConfigError(
                "in this kind of collaboration every site both asks and answers",
                where="role",
                found=role,
                expected=f"both, for {self.name}",
            )

    @abstractmethod
    def agree(self, config: RunConfig, facts: PublicFacts, *, seed: int) -> A:
        """What participants agree on.

        Args:
            config: of the run or of the project.
            facts: what everyone may know of everyone.
            seed: public.

        Raises:
            ConfigError: these participants cannot collaborate so.
            PlanError: no parameters do what was asked.
        """

    def agree_all(self, config: RunConfig, data: Sequence[ParticipantData], *, seed: int) -> A:
        """What participants agree on whose data are all here.

        Finds out before a long run, not in it, for whom it is impossible: if for anyone, then for
        whoever has the fewest samples, or the most.

        Raises:
            ConfigError, PlanError: as `agree` and `check_own`; names the participant.
        """
        facts = PublicFacts.of(data)
        fewest, most = min(data, key=lambda own: len(own.train)), max(data, key=most_samples)
        try:
            subject = fewest
            self.agree(config, replace(facts, samples=len(fewest.train)), seed=seed)
            subject = most
            agreement = self.agree(config, facts, seed=seed)
        except PlanError as error:
            raise error.about(subject.name) from error
        for own in data:
            self.check_own(agreement, own)
        return agreement

    def check_own(self, agreement: A, own: ParticipantData) -> None:
        """Refuse what one participant brings and what was agreed on has no place for.

        Raises:
            ConfigError, PlanError: names the participant.
        """

    def check_told(self, agreement: A, own: ParticipantData, told: TellingLedger) -> None:
        """Refuse what would tell the difference to an earlier project; nothing is noted.

        Raises:
            LedgerError: so it is.
            StorageError: what was told cannot be read.
        """

    def rounds(self, training: int, *, renewals: int = 0) -> int:
        """That it takes.

        Args:
            training: rounds of who trains in them, `training.rounds`.
            renewals: participants whose patients change; each brings one more, where it renews.
        """
        once = training if self.exchanges is None else self.exchanges
        return once + (renewals if self.renews else 0)

    def controls(
        self,
        config: RunConfig,
        data: Sequence[ParticipantData],
        *,
        models: Mapping[str, Head] | None = None,
    ) -> Mapping[str, Control]:
        """What its gains are measured against, by name; the first is called "standalone".

        Args:
            config: of the run.
            data: of everyone.
            models: that everyone starts from; None: as the configuration says.

        Raises:
            ConfigError: this kind cannot start from given models.
        """
        from securefair.collaboration.controls import controls_of

        training = config.training
        trained, fits = self.learners(config, tuple(data), models)
        return controls_of(
            data,
            trained,
            epochs=training.local_epochs + training.rounds * training.local_steps,
            degree=degree_of(config.transfer.fit),
            fits=fits,
        )

    def check_given(self) -> None:
        """Refuse that anyone gives a model to start from, before anybody looks at its layers.

        Raises:
            ConfigError: this kind cannot start from given models.
        """

    def learners(
        self,
        config: RunConfig,
        people: tuple[ParticipantData, ...],
        models: Mapping[str, Head] | None,
    ) -> tuple[SelfTaught[Any], bool]:
        """Everyone with the run's model as it starts, before any epoch, and one epoch a round; and
        whether regularised fits can stand in for that model, as for no network.

        The model is that of the configuration, or given, as in most kinds.

        Args, Raises:
            As `controls`.
        """
        from securefair.worth.plain_heads import PlainLearners

        model, optimizer = config.model, optimizer_of(config.training)
        if models is None and model.kind != "network":
            plain = PlainLearners(
                participants=people, head=model.kind, hidden=model.hidden, optimizer=optimizer
            )
            return plain, True
        from securefair.collaboration.given_heads import GivenHeads  # trains with torch
        from securefair.worth import HeadLearners

        trained = HeadLearners(
            participants=people,
            head=model.kind,
            hidden=model.hidden,
            network=model.network,
            range_penalty=model.range_penalty,
            optimizer=optimizer,
            local_epochs=0,
            local_steps=1,
        )
        if models is not None:
            trained = GivenHeads(**vars(trained), heads=models)
        return trained, model.kind != "network"

    @abstractmethod
    def host(
        self,
        agreement: A,
        own: ParticipantData,
        *,
        seed: int,
        stored: Stored | None = None,
        role: Role = "both",
        given: Head | None = None,
    ) -> Host:
        """One participant, ready for its next input.

        Args:
            agreement: what was agreed, with what it decides for itself.
            own: its data.
            seed: of initialisation and batches; secret at a site.
            stored: of an earlier process, or `Stored()` for the first; None for one that need not
                remember anything.
            role: whether it only answers ("teacher"), only asks ("student"), or both.
            given: model that it starts from; None: as the configuration says.

        Raises:
            ConfigError: this kind has no such role, or cannot start from a given model.
            LedgerError: a private fit would cost its patients more than was agreed.
            SecureFairError: data or what is stored do not fit the agreement.
        """

    @abstractmethod
    def observer(
        self, agreement: A, data: Sequence[ParticipantData], renewed: Sequence[str] = ()
    ) -> Observer[Any]:
        """What sees all participants of one run, where they share a process.

        Args:
            agreement: what was agreed.
            data: of everyone, with what changes later.
            renewed: whose data change, one a round, in order.
        """

    @abstractmethod
    def recalled(self, agreement: A, own: ParticipantData, *, seed: int) -> Host:
        """One participant without stores and peers, to be asked what follows from the pieces that
        its host gave out: `refitted`, `estimates`, `fitted_to_all`, `validation`.

        Args:
            agreement, own, seed: as `host`.
        """

    @abstractmethod
    def forecast(self, agreement: A, data: Sequence[ParticipantData]) -> Forecast:
        """What a run will send and let out at most, without running it."""

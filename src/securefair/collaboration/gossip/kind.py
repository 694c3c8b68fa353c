"""Averaging models with aligned neighbours (CYCle on Gossip-SGD) as a kind of collaboration.

What computes is imported where it computes: see `transfer.kind`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from securefair.collaboration.agreement import PublicFacts, optimizer_of
from securefair.collaboration.gossip import telling
from securefair.collaboration.host import Role, Stored
from securefair.collaboration.interface import Kind
from securefair.collaboration.wording import SiteWording, Wording
from securefair.config import RunConfig, keys_of
from securefair.data import ParticipantData
from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.collaboration.forecast import Forecast
    from securefair.collaboration.gossip.agreement import GossipAgreement
    from securefair.collaboration.gossip.host import GossipHost
    from securefair.collaboration.gossip.observer import GossipObserver
    from securefair.model.heads import Head
    from securefair.worth import SelfTaught


@dataclass(frozen=True, kw_only=True)
class GossipKind(Kind["GossipAgreement"]):
    """Participants get weighted sums of their neighbours' models; see `Kind`.

    Prices are of one sum and one comparison; which neighbours meet is left to chance.
    """

    prices: ClassVar[str] = "averages"

    @property
    def reads(self) -> frozenset[str]:
        """See `Kind`."""
        return keys_of("gossip", "training", "disclosure") | {
            "model.kind",
            "model.hidden",
            "fairness.alpha",
            "fairness.forced_every",
            "encryption.backend",
            "encryption.flooding_bits",
            "encryption.key_bits",
            "encryption.key_openings",
        }

    tell = staticmethod(telling.tell)

    def check(self, config: RunConfig) -> None:
        """See `Kind`."""
        network = config.gossip.network
        if network is not None and config.run.collaborative != (self.name,):
            raise ConfigError(
                "encrypted inference evaluates the head of [model] only",
                where="gossip.network",
                found=network,
                expected=f'no such key, or algorithms = ["standalone", "{self.name}"]',
            )
        if config.training.class_weight != "none" and self.name in config.run.algorithms:
            raise ConfigError(
                "models that are averaged are trained with all samples alike",
                where="training.class_weight",
                found=config.training.class_weight,
                expected='"none"',
            )
        if config.privacy is not None and self.name in config.run.algorithms:
            raise ConfigError(
                "averaging models shares steps of training, which no private fit stands behind",
                where="privacy",
                found=self.name,
                expected="algorithms in which teachers answer",
            )
        if config.model.kind == "network" and self.name in config.run.algorithms:
            raise ConfigError(
                f"{self.name} averages heads, or the network of gossip.network",
                where="model.kind",
                found="network",
                expected='"quadratic" or "linear"',
            )

    def agree(self, config: RunConfig, facts: PublicFacts, *, seed: int) -> GossipAgreement:
        """See `Kind`."""
        from securefair.collaboration.gossip.agreement import GossipAgreement

        agreement = GossipAgreement.of(config, facts, seed=seed)
        _ = agreement.alignment, agreement.sum_plan  # raise if impossible
        return agreement

    def learners(
        self,
        config: RunConfig,
        people: tuple[ParticipantData, ...],
        models: Mapping[str, Head] | None,
    ) -> tuple[SelfTaught[Any], bool]:
        """See `Kind`."""
        from securefair.collaboration.gossip.agreement import network_of
        from securefair.worth import NetworkLearners

        if models is not None:
            self.check_given()
        trained = NetworkLearners(
            participants=people,
            network=network_of(config.gossip, config.model),
            optimizer=optimizer_of(config.training),
        )
        return trained, config.gossip.network is None

    def host(
        self,
        agreement: GossipAgreement,
        own: ParticipantData,
        *,
        seed: int,
        stored: Stored | None = None,
        role: Role = "both",
        given: Head | None = None,
    ) -> GossipHost:
        """See `Kind`."""
        from securefair.collaboration.gossip.host import GossipHost

        self.check_role(role)
        if given is not None:
            self.check_given()
        host = GossipHost(own, agreement, seed=seed, stored=stored)
        if not host.restored:
            host.train_alone()
        return host

    def observer(
        self,
        agreement: GossipAgreement,
        data: Sequence[ParticipantData],
        renewed: Sequence[str] = (),
    ) -> GossipObserver:
        """See `Kind`."""
        from securefair.collaboration.gossip.observer import GossipObserver

        del data, renewed
        return GossipObserver(self.name, agreement)

    def recalled(
        self,
        agreement: GossipAgreement,
        own: ParticipantData,
        *,
        seed: int,
    ) -> GossipHost:
        """See `Kind`."""
        from securefair.collaboration.gossip.host import GossipHost

        return GossipHost(own, agreement, seed=seed)

    def cautions(self, agreement: GossipAgreement) -> list[str]:
        """See `Kind`."""
        from securefair.collaboration.gossip.forecast import cautions_of

        return cautions_of(agreement)

    def forecast(self, agreement: GossipAgreement, data: Sequence[ParticipantData]) -> Forecast:
        """See `Kind`; the agreement says all that counts of the data."""
        from securefair.collaboration.gossip.forecast import forecast_of

        del data
        return forecast_of(self.name, agreement)

    def check_given(self) -> None:
        """See `Kind`."""
        raise ConfigError(
            "models that are averaged start from one initialisation, not from given models",
            where="algorithm",
            found=self.name,
            hint='algorithm="cycle" trains given modules. Averaged is what `hidden` or '
            "`model.network` names, from one seed",
        )


CYCLE_GOSSIP = GossipKind(
    name="cycle-gossip",
    wording=Wording(
        "CYCle gossip",
        "rules.cycle-gossip",
        reputations=True,
        averages=True,
        site=SiteWording(
            numbers="sites.cosines", told="sites.told_cosines", tells="sites.tells_cosines"
        ),
    ),
)

"""CYCle on private decentralised learning (Tastan, Horvath, Nandakumar, TMLR 2025, Alg. 1 and 2).

A student forms a reputation of each teacher from the alignment of two gradients, and a teacher
answers a student as often as its own reputation of that student is high. Where the paper leaves
something open or contradicts itself, the decision stands beside the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from securefair.records import RoundRecord
from securefair.worth import ReputationRule, TrainStates, coin, distillation_weights
from securefair_lab.algorithms.distillation import (
    Answers,
    DistillationState,
    Distilling,
    PeerNumbers,
)
from securefair_lab.algorithms.sharing import is_forced, peers_to_ask, shares


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """CYCle with a given reputation rule. Every round reads a snapshot of the one before.

    Args:
        rule: how an alignment becomes a reputation.
        raw: weigh answers as Alg. 2 prints it, lambda_nk = r_nk, and not by r_nk / (N - 1).
    """

    rule: ReputationRule = field(default_factory=ReputationRule)
    raw: bool = False
    name: str = "cycle"

    def init(
        self, population: Distilling[TrainStates, Answers], seed: int
    ) -> DistillationState[TrainStates]:
        """Everyone trains alone; nobody has a reputation of anybody (Alg. 2, line 1)."""
        nobody: PeerNumbers = {name: {} for name in population.names}
        return DistillationState(seed, 0, population.trained_alone(seed), nobody)

    def round(
        self, state: DistillationState[TrainStates], population: Distilling[TrainStates, Answers]
    ) -> tuple[DistillationState[TrainStates], RoundRecord]:
        """One round t, all participants at once."""
        t, reputation = state.round, state.reputation
        forced = is_forced(t, population.forced_every)  # t mod R = 0: Alg. 1, lines 7 and 14
        # A student asks whom it would listen to: an answer of reputation 0 would have weight 0.
        asked = {
            n: peers_to_ask({k: reputation[n].get(k) for k in population.names if k != n}, forced)
            for n in population.names
        }
        # Alg. 1, lines 16 to 19: k answers n with probability r_kn, k's own reputation of n. The
        # listing prints the indices the other way round, against section 4.2.
        answered = {
            n: [
                k
                for k in asked[n]
                if shares(reputation[k].get(n), coin(state.seed, t, k, n), forced)
            ]
            for n in population.names
        }
        received = population.answers(state, answered)
        # Alg. 1, lines 8 to 10. Between forced rounds, reputations carry over.
        alignment: PeerNumbers = {n: {} for n in population.names}
        reputation = reputation
        if forced:
            alignment = population.alignments(state, received)
            reputation = {
                n: {k: self.rule.update(reputation[n].get(k), value) for k, value in row.items()}
                for n, row in alignment.items()
            }
        # Alg. 2, last lines, with lambda_nk = r_nk / (N - 1) so that lambda_0 means what it does
        # in VPDL; all participants step at once.
        weights = {
            n: distillation_weights(
                {k: reputation[n][k] for k in answered[n]}, len(population.names), raw=self.raw
            )
            for n in population.names
        }
        train_states = population.updated(state, received, weights)
        record = population.round_record(
            self.name,
            t,
            train_states,
            forced=forced,
            asked=asked,
            answered=answered,
            reputation=reputation,
            alignment=alignment,
            distillation_loss=population.distillation_losses(state, received),
        )
        return replace(state, round=t + 1, train_states=train_states, reputation=reputation), record

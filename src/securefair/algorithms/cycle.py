"""CYCle on private decentralised learning (Tastan, Horvath, Nandakumar, TMLR 2025, Alg. 1 and 2).

A student forms an opinion of each teacher from the alignment of two gradients, and a teacher
answers a student as often as its own opinion of that student is high. Where the paper leaves
something open or contradicts itself, the decision stands beside the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from securefair.algorithms.distillation import (
    DistillationState,
    PeerNumbers,
    alignments,
    answers,
    distillation_losses,
    record_round,
    start,
    updated_learners,
)
from securefair.algorithms.population import Population
from securefair.fairness import ReputationRule, coin, is_forced, peers_to_ask, shares
from securefair.records import RoundRecord


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """CYCle with a given reputation rule. Every round reads a snapshot of the one before."""

    rule: ReputationRule = field(default_factory=ReputationRule)
    name: str = "cycle"

    def init(self, population: Population, seed: int) -> DistillationState:
        """Everyone trains alone; nobody has an opinion of anybody (Alg. 2, line 1)."""
        return start(population, seed)

    def round(
        self, state: DistillationState, population: Population
    ) -> tuple[DistillationState, RoundRecord]:
        """One round t, all participants at once."""
        t, opinion = state.round, state.reputation
        forced = is_forced(t, population.forced_every)  # t mod R = 0: Alg. 1, lines 7 and 14
        # A student asks whom it would listen to: an answer of reputation 0 would have weight 0.
        asked = {
            n: peers_to_ask({k: opinion[n].get(k) for k in population.names if k != n}, forced)
            for n in population.names
        }
        # Alg. 1, lines 16 to 19: k answers n with probability r_kn, k's own opinion of n. The
        # listing prints the indices the other way round, against section 4.2.
        answered = {
            n: [k for k in asked[n] if shares(opinion[k].get(n), coin(state.seed, t, k, n), forced)]
            for n in population.names
        }
        received = answers(state, population, answered)
        # Alg. 1, lines 8 to 10. Between forced rounds, opinions carry over.
        alignment: PeerNumbers = {n: {} for n in population.names}
        reputation = opinion
        if forced:
            alignment = alignments(state, population, received)
            reputation = {
                n: {k: self.rule.update(opinion[n].get(k), value) for k, value in row.items()}
                for n, row in alignment.items()
            }
        # Alg. 2, last lines, with lambda_nk = r_nk / (N - 1) so that lambda_0 means what it does
        # in VPDL; all participants step at once.
        learners = updated_learners(state, population, received, reputation)
        record = record_round(
            self.name,
            t,
            population,
            learners,
            forced=forced,
            asked=asked,
            answered=answered,
            reputation=reputation,
            alignment=alignment,
            distillation_loss=distillation_losses(state, population, received),
        )
        return replace(state, round=t + 1, learners=learners, reputation=reputation), record

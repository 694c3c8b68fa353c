"""What a report tells where models are averaged: what was done, what is not protected."""

from __future__ import annotations

import math

from securefair.averaging import averaging_kind
from securefair.ckks.backends import encrypts
from securefair.collaboration.telling import Limit, Told
from securefair.config import RunConfig
from securefair.records import AveragingResult, RunResult
from securefair.words import Words


def tell(config: RunConfig, result: RunResult, words: Words) -> Told:
    """See `Kind.tell`; of a run that averaged nothing only how to read its ledger."""
    averaging = None if result.encryption is None else result.encryption.averaging
    return Told(
        steps=[] if averaging is None else _steps(config, averaging, words),
        counted=words("gossip.counted_open" if _open(averaging) else "gossip.counted"),
        limits=[] if averaging is None else _limits(averaging, words),
    )


def _open(averaging: AveragingResult | None) -> bool:
    """Whether receivers were handed models readable, and not only their sum."""
    return averaging is not None and not averaging.hides_parameters


def _steps(config: RunConfig, averaging: AveragingResult, words: Words) -> list[str]:
    training, gossip = config.training, config.gossip
    every = config.fairness.forced_every
    projected = 0 < gossip.sketch < averaging.parameters
    secret = encrypts(config.encryption.backend)
    return [
        words(
            "gossip.started",
            parameters=words.either("counts.parameters", averaging.parameters),
            epochs=words.either("counts.epochs", training.local_epochs),
        ),
        words(
            "gossip.stepped",
            rounds=words.either("counts.rounds", training.rounds),
            steps=words.either("counts.steps", training.local_steps),
        ),
        words(
            "gossip.compared" if secret else "gossip.compared_open",
            when=words("gossip.every_round")
            if every == 1
            else words("gossip.once_in", number=words.count(every)),
            graph=words("gossip.edges")
            if gossip.edges
            else words("gossip.graph", topology=gossip.topology),
            gradient=words("gossip.projection" if projected else "gossip.gradient"),
        ),
        words(
            "gossip.offered",
            least=averaging.min_senders,
            means=words.phrase(averaging_kind(averaging.averaging).means),
        ),
    ]


def _limits(averaging: AveragingResult, words: Words) -> list[Limit]:
    told = "gossip.told_hidden"
    if not averaging.hides_weights:
        # Only senders of a masked sum are shown all weights, to check the largest.
        shown = averaging.max_share is not None and averaging.hides_parameters
        told = "gossip.told_all" if shown else "gossip.told_own"
    hidden = (
        [(words("gossip.open"), words("gossip.open_text"))]
        if _open(averaging)
        else _limits_of_sums(averaging, words)
    )
    return [
        *hidden,
        (words("gossip.senders"), words("gossip.senders_text")),
        (words("gossip.learned"), words("gossip.learned_text")),
        (words("gossip.decisions"), words("gossip.decisions_text", told=words(told))),
    ]


def _limits_of_sums(averaging: AveragingResult, words: Words) -> list[Limit]:
    """What sums tell of the models in them, where models were hidden at all."""
    least = averaging.min_senders
    mostly, choice = words("gossip.mostly"), words("gossip.choice")
    if averaging.max_share is not None:
        mostly = words("gossip.mostly_checked", share=words.percent(averaging.max_share))
        helpers = math.ceil(1 / averaging.max_share - 1e-9) - 1  # 1/3 is no exact float
        choice = words("gossip.choice_checked", helpers=words.either("counts.senders", helpers))
    if averaging.hides_weights:
        choice = f"{choice} {words('gossip.choice_hidden')}"
    limited = (
        words("gossip.unlimited")
        if averaging.max_sums is None
        else words("gossip.limited", rounds=words.either("counts.rounds", averaging.max_sums))
    )
    return [
        (
            words("gossip.implied"),
            words("gossip.implied_text", mostly=mostly, limited=limited),
        ),
        (words("gossip.siding"), words("gossip.siding_text", fewer=least - 1, least=least)),
        (words("gossip.receivers"), choice),
    ]

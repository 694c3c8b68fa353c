"""What a report tells where models are averaged: what was done, what is not protected."""

from __future__ import annotations

import math

from securefair.averaging import averaging_kind
from securefair.ckks.backends import encrypts
from securefair.collaboration.telling import Limit, Told
from securefair.collaboration.wording import Nouns, plural
from securefair.config import RunConfig
from securefair.records import AveragingResult, RunResult


def tell(config: RunConfig, result: RunResult, nouns: Nouns) -> Told:
    """See `Kind.tell`; of a run that averaged nothing only how to read its ledger."""
    averaging = None if result.encryption is None else result.encryption.averaging
    return Told(
        steps=[] if averaging is None else _steps(config, averaging, nouns),
        counted=f"A cosine is one number about a {nouns.participant}'s gradient. A sum has as many "
        "numbers as a model, but they tell of several models together; how far they give away a "
        "single one depends on what else the receiver knows (see below). The count is not a formal "
        "guarantee.",
        limits=[] if averaging is None else _limits(averaging, nouns),
    )


def _steps(config: RunConfig, averaging: AveragingResult, nouns: Nouns) -> list[str]:
    training, gossip = config.training, config.gossip
    every = config.fairness.forced_every
    compared = "every round" if every == 1 else f"once in {every} rounds"
    secret = encrypts(config.encryption.backend)
    key, unseen = (
        (", encrypted under its own key,", " without seeing it")
        if secret
        else (" in the open,", "")
    )
    projected = 0 < gossip.sketch < averaging.parameters
    gradient = "a short random projection of its gradient" if projected else "its gradient"
    graph = "of the edges in the configuration" if gossip.edges else f"({gossip.topology} graph)"
    means = averaging_kind(averaging.averaging).means
    return [
        f"Every {nouns.participant} started from the same model of "
        f"{plural(averaging.parameters, 'parameter')} and trained it on its own {nouns.samples} "
        f"for {plural(training.local_epochs, 'epoch')}.",
        f"In each of {plural(training.rounds, 'round')} everyone first took "
        f"{plural(training.local_steps, 'step')} on its own {nouns.samples}.",
        f"{compared.capitalize()} neighbours {graph} compared gradients: one sent the direction "
        f"of {gradient}{key} the other multiplied it by its own{unseen}, and what "
        "came back was one number, the cosine. The better the directions agreed, the more weight "
        "the other's model got.",
        f"By that weight and chance everyone decided who may have its model. Who was offered at "
        f"least {averaging.min_senders} asked for their weighted sum, whose parts were "
        f"{means}, and added its own model; the others kept theirs.",
    ]


def _limits(averaging: AveragingResult, nouns: Nouns) -> list[Limit]:
    least = averaging.min_senders
    told = "Weights are hidden."
    if not averaging.hides_weights:
        told = (
            "Senders know the weight that a receiver gives them, which tells how well their "
            "gradients agree."
            if averaging.max_share is None
            else "Senders know all weights of a sum, which tell how well the receiver's gradient "
            "agrees with each of theirs."
        )
    mostly = "If one sender has nearly all of the weight, it is nearly that sender's model."
    checked = averaging.max_share is not None and averaging.hides_parameters
    if checked:
        mostly = (
            f"No sender had more than {averaging.max_share:.0%} of the weight (max_share), which "
            "senders check."
        )
    choice = (
        "Weights are the receiver's choice. With all of the weight on one sender the sum is "
        "that sender's model; nothing proves that the weights are those of the protocol."
    )
    if averaging.max_share is not None and checked:
        helpers = math.ceil(1 / averaging.max_share - 1e-9) - 1  # 1/3 is no exact float
        choice = (
            "Weights are the receiver's choice, up to the largest share that senders agree to; "
            "nothing proves that they are those of the protocol. A receiver with "
            f"{plural(helpers, 'sender')} on its side can give these and one more all of the "
            "weight, and take that one's model out, however many others send theirs."
        )
    limited = (
        "Nothing limited them in this run (gossip.max_sums); the ledger counts them."
        if averaging.max_sums is None
        else f"No receiver was offered a model in more than {plural(averaging.max_sums, 'round')} "
        "(max_sums)."
    )
    return [
        (
            "What sums imply",
            f"A sum is a mixture of models whose weights the receiver knows. {mostly} Once models "
            "hardly change, the sums of some rounds are equations that it can solve for single "
            "models, without breaking any rule; several receivers that work together need fewer "
            f"rounds. {limited} Equal weights at which everyone always shares (beta = 0) tell the "
            "mean alone.",
        ),
        (
            "Receivers with a sender on their side",
            f"A receiver and {least - 1} of the senders of a sum that work together know the model "
            f"that is left when {least} were summed, and a dishonest receiver can see to it that "
            "no more are. Set min_senders higher to ask for more of them.",
        ),
        (
            "Dishonest receivers",
            choice
            + (
                " Hidden weights can even hold two models apart in one sum."
                if averaging.hides_weights
                else ""
            ),
        ),
        (
            "Dishonest senders",
            "Nothing proves that a part of a sum is the model that it should be, so a sender can "
            "spoil the average of a round; only sums beyond the planned range are noticed. "
            "Who cheats when gradients are compared chooses another number than the cosine.",
        ),
        (
            f"The {nouns.samples} a model learned from",
            "Averages and cosines are computed from models that learned from them. Formal "
            "protection needs differentially private training (DP-SGD).",
        ),
        (
            "Decisions, sizes and times",
            "Everyone sees whether a neighbour shares with it, which follows the weights, and "
            f"senders of a sum learn who the others are. {told} Whoever watches the network sees "
            "who talks to whom, when and how much, and more if the channels are not encrypted and "
            "authenticated, which is not done here.",
        ),
    ]

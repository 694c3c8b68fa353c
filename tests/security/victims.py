"""A student whose teacher lies: it learns from what it opened, and then answers others."""

from functools import cache

import numpy as np

from securefair.data.dataset import Samples
from securefair.model.building import build_model
from securefair.model.plausibility import IMPLAUSIBLE, Clip, SmoothPrior
from securefair.model.prevalence import own_prevalence
from securefair.model.projection import block_signs, public_indices, public_rows
from securefair.model.reconstruction import Reconstructor
from securefair.model.training import (
    OptimizerConfig,
    TeacherAnswer,
    TrainState,
    distil_steps,
    train_epochs,
)

PATIENTS, FEATURES, TARGET, COLUMN = 60, 6, 11, 3
TRIALS = 24
GRID = 2.0**-10
NO_CLIP = Clip(sample=1e9, answer=1e9)
MOST_BY_CHANCE = 19 / 24  # of so many trials a guesser does better once in 300
CALM = 8  # ordinary rounds before each aimed one


class Facts:
    """What a victim is before the first round: the same for all tests, as nothing changes it."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (PATIENTS, FEATURES))
        x[:, COLUMN] = rng.choice([-1.0, 1.0], PATIENTS)
        true = rng.normal(size=FEATURES)
        y = (x @ true + 0.5 * rng.normal(size=PATIENTS) > 0).astype(np.int64)
        self.samples = Samples(x, y, 2)
        self.honest = np.column_stack([-x @ true, x @ true])
        ring, seed_of_rows = 8192, b"securefair"
        self.rows = public_rows(
            ring, public_indices(ring, 64, seed_of_rows), PATIENTS, block_signs(1, seed_of_rows)
        )
        self.opened = Reconstructor(self.samples, self.rows, 0.0)
        self.prior = SmoothPrior(self.samples, self.rows, 0.0)
        head = build_model("linear", self.samples, hidden=0, network=None, seed=seed)
        self.trained = TrainState.start(head, OptimizerConfig())
        train_epochs(self.trained, self.samples, 40)


facts_of = cache(Facts)


class Victim:
    """A student that distils from the attacker and from an honest peer, and then answers."""

    def __init__(self, seed, clip, tested, *, prevalence=None):
        facts = facts_of(seed)
        self.samples, self.honest, self.rows = facts.samples, facts.honest, facts.rows
        self.opened, self.prior = facts.opened, facts.prior
        self.clip, self.tested = clip, tested
        self.prevalence = prevalence or ("own" if tested else "teacher")
        self.state = facts.trained.copy()
        self.refused = 0
        self._known = {}  # of numbers that were opened before: most rounds repeat some

    def round(self, released, asked):
        """Learn from an answer that opens to these numbers, then answer a question."""
        answers = [TeacherAnswer(self.honest, 5.0)]
        key = released.tobytes()
        if key not in self._known:
            self._known[key] = self._learnt_of(released)
        if (learnt := self._known[key]) is None:
            self.refused += 1
        else:
            answers.append(TeacherAnswer(learnt, 5.0))
        distil_steps(self.state, self.samples, answers, 5, temperature=5.0)
        return self.answer(asked)

    def _learnt_of(self, released):
        """What it learns from these numbers; None: it refuses them."""
        if self.tested and self.prior.log_ratio(released) < IMPLAUSIBLE:
            return None
        return self.learnable(self.opened.logits(released))

    def learnable(self, logits):
        """What a student makes of what it opened, in the order of the participant."""
        if self.prevalence == "own":
            logits = own_prevalence(logits, self.samples.labels)
        return self.clip.applied(logits)

    def answer(self, asked):
        return GRID * np.rint(self.state.model.logits(asked)[:, 1] / GRID)

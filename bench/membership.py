"""Who was behind a teacher: membership inference against its answers, as a table for a page.

    python bench/membership.py                                        # print
    python bench/membership.py --write docs/notebook/differential-privacy.md   # replace the table

The likelihood-ratio attack with shadow models (Carlini et al. 2022, online) on Cleveland's
patients. Of every pool of 160 patients, 64 models are fitted to random halves; each is attacked
with the 63 others as shadows. The attacker sees the model's exact logit on the record in question.
Rates are pooled over pools, models and patients. Takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script

from securefair.data.dataset import Samples
from securefair.data.encoding import encode
from securefair.data.heart import HEART_SPEC, HOSPITALS, heart_rows
from securefair.model.transfer import own_fit
from securefair.privacy import Patients, PrivacyTarget, SeededNoise, private_fit
from securefair.privacy.guarantees import largest_true_positive_rate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.auditing import Rate, likelihood_ratios, true_positives_at

Array = NDArray[np.float64]
Fit = Callable[[Samples, int], Callable[[Array], Array]]

MODELS, RECORDS = 64, 160
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-3
FALSE_POSITIVE_RATES = (0.001, 0.01, 0.1)


def ordinary(samples: Samples, seed: int) -> Callable[[Array], Array]:
    """What a teacher without privacy answers from: tuned by cross-validation."""
    model = own_fit(samples, rng=np.random.default_rng(seed)).model
    return lambda x: model.logits(x)[:, 0]


def private(epsilon: float) -> Fit:
    target = PrivacyTarget(epsilon=epsilon, delta=DELTA)

    def fit(samples: Samples, seed: int) -> Callable[[Array], Array]:
        noise = SeededNoise(seed, int(10 * epsilon))
        found = private_fit(samples, Patients.one_row_each(len(samples)), target, noise)
        return lambda x: x @ found.linear[0] + found.constant[0]

    return fit


def attacked(fit: Fit, everyone: Samples, pools: int) -> tuple[Array, Array]:
    """Scores of members and of others."""
    inside, outside = [], []
    for pool in range(pools):
        rng = np.random.default_rng([pool, 4])
        records = everyone.take(rng.permutation(len(everyone))[:RECORDS])
        members = rng.random((MODELS, RECORDS)) < 0.5
        signs = np.where(records.labels == 1, 1.0, -1.0)
        margins = np.array(
            [
                signs * fit(records.take(np.flatnonzero(row)), 1000 * pool + at)(records.features)
                for at, row in enumerate(members)
            ]
        )
        for at in range(MODELS):
            others = np.arange(MODELS) != at
            scores = likelihood_ratios(margins[at], margins[others], members[others])
            inside.append(scores[members[at]])
            outside.append(scores[~members[at]])
    return np.concatenate(inside), np.concatenate(outside)


def cell(found: tuple[Rate, Rate] | None, allowed: float | None) -> str:
    if found is None:
        return "too few false positives"
    true = found[0]
    text = f"{true.value:.2%} ({true.low:.2%} to {true.high:.2%})"
    return text if allowed is None else f"{text}, at most {allowed:.2%}"


def main(
    pools: Annotated[int, typer.Option(help="Draws of 160 patients.")] = 6,
    write: PageOption = None,
) -> None:
    """Attack, print, and write."""
    rows = [row for row in heart_rows() if row.fields["hospital"] == HOSPITALS[0]]
    everyone = encode(rows, HEART_SPEC)
    head = " | ".join(f"{one:.1%} false positives" for one in FALSE_POSITIVE_RATES)
    lines = [f"| answers from | {head} |", "|---|" + "---|" * len(FALSE_POSITIVE_RATES)]
    fits: dict[str, tuple[Fit, float | None]] = {"an ordinary fit": (ordinary, None)}
    fits |= {f"a private fit, epsilon {e:g}": (private(e), e) for e in reversed(EPSILONS)}
    for name, (fit, epsilon) in fits.items():
        inside, outside = attacked(fit, everyone, pools)
        cells = []
        for wanted in FALSE_POSITIVE_RATES:
            allowed = None
            if epsilon is not None:
                allowed = largest_true_positive_rate(epsilon, DELTA, wanted)
            cells.append(cell(true_positives_at(inside, outside, wanted), allowed))
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    print(f"{len(inside)} members, {len(outside)} others")
    if write is not None:
        replace_tables(write, {"membership": "\n".join(lines)})


if __name__ == "__main__":
    run_script(main)

"""What more of the logarithm of the sum of exponentials would add to CaPriDe's loss, and cost.

    python bench/log_sum_exp.py                                          # print
    python bench/log_sum_exp.py --write docs/notebook/log-sum-exp.md     # replace the tables

The divergence of a student p from a teacher q = softmax(z / T) is

    KL(p, q) = sum p log p - p . z / T + log sum exp(z / T),

of which encrypted distillation takes the first two terms. Around equal logits the third is log M
plus the cumulants of z / T over the classes: their mean, half their variance, and so on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import log
from statistics import median

import numpy as np
import tenseal as ts
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from stored_cells import markdown

Floats = NDArray[np.float64]
TEMPERATURES = (1.0, 2.0, 5.0, 10.0, 20.0)
ORDERS = (0, 1, 2, 3, 4)
REPEATS = 9


def log_sum_exp(u: Floats) -> Floats:
    """Exactly, (B, M) -> (B,)."""
    top = u.max(axis=1)
    result: Floats = top + np.log(np.exp(u - top[:, None]).sum(axis=1))
    return result


def expanded(u: Floats, order: int) -> Floats:
    """By so many cumulants over the classes, (B, M) -> (B,)."""
    mean = u.mean(axis=1)
    second, third, fourth = (((u - mean[:, None]) ** n).mean(axis=1) for n in (2, 3, 4))
    terms = (mean, second / 2, third / 6, (fourth - 3 * second**2) / 24)
    result: Floats = log(u.shape[1]) + sum(terms[:order], np.zeros(len(u)))
    return result


def pull(u: Floats, target: Floats) -> Floats:
    """The gradient of sum p (log p - target) by the student's logits u, both (B, M)."""
    p = np.exp(u - log_sum_exp(u)[:, None])
    inside = np.log(p) - target
    result: Floats = p * (inside - (p * inside).sum(axis=1, keepdims=True))
    return result


def logits() -> tuple[Floats, Floats]:
    """Of a student and of a teacher on the student's digits; each has learned on its own half."""
    x, y = load_digits(return_X_y=True)
    x = x / 16
    halves = np.random.default_rng(0).permutation(len(x)).reshape(-1)
    mine, theirs = np.array_split(halves, 2)
    fits = [LogisticRegression(max_iter=2000).fit(x[rows], y[rows]) for rows in (mine, theirs)]
    student, teacher = (np.asarray(fit.decision_function(x[mine])) for fit in fits)
    return student, teacher


def errors() -> str:
    """Mean error of the divergence by temperature and order, and the largest of its gradient."""
    student, teacher = logits()
    heads = ["T", "exact KL", "without the term", *(f"order {n}" for n in ORDERS), "gradient"]
    rows = [heads]
    for temperature in TEMPERATURES:
        u, v = student / temperature, teacher / temperature
        p = np.exp(u - log_sum_exp(u)[:, None])
        exact = log_sum_exp(v)
        divergence = (p * (np.log(p) - v)).sum(axis=1) + exact
        off = [np.abs(exact).mean(), *(np.abs(expanded(v, n) - exact).mean() for n in ORDERS)]
        gradient = np.abs(pull(u, v) - pull(u, v - exact[:, None])).max()
        shown = [f"{one:.2g}" for one in (divergence.mean(), *off)]
        rows.append([f"{temperature:g}", *shown, f"{gradient:.0e}"])
    return markdown(rows)


def costs() -> str:
    """Of 4,096 samples of ten classes: an upload's ciphertext, and the teacher's extra work."""
    rows = [["order", "primes, bits", "a ciphertext, KB", "extra work of the teacher, ms"]]
    for order, primes in ((1, (40, 30, 40)), (2, (40, 30, 30, 40))):
        context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=list(primes))
        context.global_scale = 2**30
        values = np.random.default_rng(0).uniform(-1, 1, 4096).tolist()
        z = [ts.ckks_vector(context, values) for _ in range(10)]
        times = []
        for _ in range(REPEATS):
            started = time.process_time()
            total = z[0] if order == 1 else z[0] * z[0]
            for one in z[1:]:
                total = total + (one if order == 1 else one * one)
            times.append(1000 * (time.process_time() - started))
        size = len(z[0].serialize()) / 1000
        rows.append(
            [f"{order}", ", ".join(map(str, primes)), f"{size:.0f}", f"{median(times):.1f}"]
        )
    return markdown(rows)


def main(
    write: PageOption = None,
) -> None:
    """Print both tables, or write them."""
    made: Mapping[str, str] = {"errors": errors(), "cost": costs()}
    if write is not None:
        replace_tables(write, made)
        return
    for name, text in made.items():
        print(f"\n{name}\n\n{text}")


if __name__ == "__main__":
    run_script(main)

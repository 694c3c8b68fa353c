"""Tables of a run for a publication, in LaTeX that needs no package."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.records import RunResult
from securefair.report import algorithm_name, certain_note, score_rows, titles_of
from securefair.words import words_of

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",  # behind the end of a row it would start an argument
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def scores_table(result: RunResult) -> str:
    """Every algorithm by score: means over participants, standard errors over test patients."""
    words = words_of()
    rows = score_rows(result, words)
    caption = (
        f"Means over {len(result.participants)} participants and {len(result.seeds)} seeds; "
        f"standard errors over test patients. {certain_note(rows, words)}"
    )
    cells = [[row.name, *row.cells] for row in rows]
    headings, cells = _told_once(["Algorithm", *titles_of(result, words).values()], cells)
    return table(headings, cells, caption=caption)


def fairness_table(result: RunResult) -> str:
    """MVA, MCG and CGS of every algorithm: in points, means over seeds with their deviation."""
    several = len(result.seeds) > 1
    rows = [
        [
            algorithm_name(name),
            *(
                _points(mean, spread if several else 0.0)
                for mean, spread in (
                    (one.mva, one.mva_spread),
                    (one.mcg, one.mcg_spread),
                    (one.cgs, one.cgs_spread),
                )
            ),
        ]
        for name, one in result.algorithms.items()
    ]
    caption = (
        f"Mean over {len(result.participants)} participants (MVA), mean gain over training alone "
        f"(MCG) and its spread over participants (CGS, divided by N), all times 100; "
        f"{len(result.seeds)} seeds" + ("; standard deviations over seeds." if several else ".")
    )
    return table(["Algorithm", "MVA", "MCG", "CGS"], rows, caption=caption)


def gains_table(result: RunResult) -> str:
    """What the run's algorithm gains over the best control, by participant; positive is better."""
    titles = titles_of(result, words_of())
    gains = result.algorithms[result.algorithm].gain_over_best_control
    control = result.algorithms[result.algorithm].best_control
    rows = [
        [
            one.name,
            *(
                _number(gains[score].by_hospital[one.name], gains[score].se_by_hospital[one.name])
                for score in titles
            ),
        ]
        for one in result.participants
        if gains
    ]
    caption = (
        f"Gain of {algorithm_name(result.algorithm)} over {algorithm_name(control or '')}, the "
        f"control that is best by {titles[result.metric].lower()}; positive is better; "
        "standard errors over test patients."
        if gains
        else "Nobody collaborated: there is no gain."
    )
    headings, rows = _told_once(["Participant", *titles.values()], rows)
    return table(headings, rows, caption=caption)


def _told_once(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The same with equal columns as one: of many classes mean sensitivity is balanced accuracy."""
    kept: dict[tuple[str, ...], list[str]] = {}
    for at, heading in enumerate(headings[1:], 1):
        column = tuple(row[at] for row in rows)
        # Columns without a number are equal by chance.
        kept.setdefault(column if any(column) else (heading, *column), []).append(heading)
    cells = [column[-len(rows) :] if rows else () for column in kept]
    return (
        [headings[0], *(" = ".join(one) for one in kept.values())],
        [[row[0], *(column[at] for column in cells)] for at, row in enumerate(rows)],
    )


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str) -> str:
    """A `table` with a caption; names left, numbers right. Every text is escaped."""
    body = [" & ".join(map(escape, row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
            r"\hline",
            " & ".join(map(escape, headings)) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """A text as LaTeX prints it."""
    plain = "".join(_ESCAPES.get(sign, sign) for sign in " ".join(text.split()))
    return plain.replace("\u00b1", r"$\pm$").replace("\u2212", "$-$")


def _number(mean: float | None, error: float | None) -> str:
    if mean is None:
        return ""
    shown = f"{mean:.3f}".replace("-", "\u2212")
    return f"{shown} \u00b1 {error:.3f}" if error else shown


def _points(mean: float, spread: float) -> str:
    shown = f"{100 * mean:.1f}".replace("-", "\u2212")
    return f"{shown} \u00b1 {100 * spread:.1f}" if spread else shown

"""The plot of all results: a bar for each ratio, on a logarithmic scale, with its goal.

The same report gives the same SVG with the same version of matplotlib: ids are hashed with a fixed salt, and
there is no date in the file. Its texts are texts, in a font that the reader's program chooses.
"""

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Final

from .comparison import Comparison, ratio_text
from .report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METADATA: Final = {"Date": None, "Creator": None}
MET, NOT_MET, NO_GOAL = "#2a7f62", "#c0392b", "#8a94a6"
LOWEST, HIGHEST = 0.005, 50.0
"""The ends of the scale; a bar that goes beyond ends there, and its number is beside it."""
_TICKS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
_ROW: Final = 0.19  # inches
_MOST_LETTERS: Final = 88


def draw(report: Report) -> str:
    """Return an SVG of the ratios of all rows that have a goal, or that the guide shows."""
    import matplotlib as mpl  # takes long to load
    from matplotlib.figure import Figure

    rows = shown_rows(report)
    with mpl.rc_context({"svg.hashsalt": "chatrest", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(10, 1.1 + _ROW * max(1, len(rows))), layout="constrained")
        _draw_rows(figure.add_subplot(), rows)
        file = StringIO()
        figure.savefig(file, format="svg", metadata=METADATA)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def shown_rows(report: Report) -> list[Comparison]:
    """Return the rows with a ratio that have a goal, or that the guide shows."""
    rows = (each for each in report.comparisons() if each.goal is not None or each.is_headline)
    return [each for each in rows if each.ratio is not None]


def _draw_rows(axes: "Axes", rows: Sequence[Comparison]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(LOWEST, HIGHEST)
    axes.axvline(1, color="black", linewidth=0.8)
    for place, row in enumerate(rows):
        _draw_row(axes, place, row)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [label(row) for row in rows])
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("chatrest ÷ the other. Green: goal met; red: not met; grey: no goal; black: the goal")
    axes.grid(visible=True, axis="x", linewidth=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _draw_row(axes: "Axes", place: int, row: Comparison) -> None:
    assert row.ratio is not None
    shown = min(max(row.ratio, LOWEST), HIGHEST)
    colour = {True: MET, False: NOT_MET, None: NO_GOAL}[row.is_met]
    axes.barh(place, shown - 1, left=1, height=0.66, color=colour)
    axes.text(1.01, place, ratio_text(row), transform=axes.get_yaxis_transform(), va="center")
    if row.goal is not None and row.goal.of == "ratio":
        axes.plot([row.goal.limit] * 2, [place - 0.42, place + 0.42], color="black", linewidth=1.6)


def label(row: Comparison) -> str:
    """Return the text beside a bar."""
    text = f"{row.case} / {row.against}".replace("`", "").replace("$", r"\$")
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"

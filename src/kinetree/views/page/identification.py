"""identification_page: the result of an identification on one self-contained HTML page."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from kinetree.errors import InputError
from kinetree.identify import Identification
from kinetree.identify.identification import (
    BASE,
    ROBOT,
    base_rows,
    choice_rows,
    choices_made,
    force_rows,
    unknown_rows,
)
from kinetree.identify.report import friction_curves
from kinetree.model.bounds import bounds_of
from kinetree.present.charts import Chart, Series
from kinetree.present.tables import escape
from kinetree.views.page.document import chart_frames, chart_page, scroll_table

MAX_SAMPLES = 600  # of a curve; a page is not wide enough to show more
CHOSEN = "Errors of friction laws on rows that the fit has not seen, in units of the noise."
FRICTION = (
    "Points are measured forces less all predicted ones but friction. A curve that misses them in "
    "a range of speeds is not the friction of the joint."
)
AS_FORCES = (0, 2, 3)  # colours of measured, described and found in plots of forces
MAX_DOTS = 400  # of a scatter plot
FORCES = "On held-out motion, root mean squares, N m or N."


def identification_page(found: Identification) -> str:
    """The page of an identification: notes, forces, parameters with errors, what is unidentifiable.

    The page is self-contained: it can be mailed, printed and opened without a network.

    Args:
        found: the result of `kt.identify.identify`.
    """
    if not isinstance(found, Identification):
        raise InputError(
            f"found is a {type(found).__name__}; expected a result of kinetree.identify.identify."
        )
    tone = {"good": "good", "usable": ""}.get(found.verdict.word, "bad")
    base, unknown = base_rows(found), unknown_rows(found)
    combinations = (["combination", *base[0][:-1]], [[row[-1], *row[:-1]] for row in base[1]])
    groups = [_curves(found), _friction(found)]
    charts = [chart for group in groups for chart in group]
    figures = chart_frames(len(charts))
    ends = np.cumsum([0, *map(len, groups)])
    forces, friction = (
        f'<div class="plots">{"".join(figures[a:b])}</div>' for a, b in pairwise(ends)
    )
    sections = [
        f"<header><h1>Identification of {escape(found.robot.name)}</h1></header>",
        f'<section><h2>Verdict</h2><p class="verdict {tone}">{escape(found.verdict.word)}</p>'
        f"{_listed(found.verdict.reasons)}{_listed(choices_made(found))}</section>",
        "<section><h2>Joint forces</h2>"
        f"{scroll_table(*force_rows(found), caption=FORCES)}"
        f'<p class="soft">Joint by joint:</p>{forces}</section>',
        f"<section><h2>Choices</h2>{_choices(found)}</section>" * bool(found.choices),
        f"<section><h2>Friction</h2><p>{escape(FRICTION)}</p>{friction}</section>",
        f"<section><h2>Base parameters</h2><p>{escape(BASE)}</p>"
        f"{scroll_table(*combinations)}</section>",
        f"<section><h2>The robot</h2><p>{escape(ROBOT)}</p>{scroll_table(*unknown)}</section>",
        f"<section><h2>Notes</h2>{_listed(found.notes)}</section>" * bool(found.notes),
    ]
    return chart_page(f"Identification of {found.robot.name}", sections, charts)


def _listed(texts: Iterable[str]) -> str:
    """Sentences as a list; empty if there are none."""
    items = "".join(f"<li>{escape(x)}</li>" for x in texts)
    return f'<ul class="findings">{items}</ul>' if items else ""


def _choices(result: Identification) -> str:
    return scroll_table(*choice_rows(result), caption=CHOSEN, text=2)


def _friction(result: Identification) -> list[Chart]:
    """Measured friction of every joint over its speed, beside the curves."""
    charts: list[Chart] = []
    for x in friction_curves(result):
        some = slice(None, None, max(1, len(x.speed) // MAX_DOTS))
        speed = "speed, rad/s" if x.unit == "N m" else "speed, m/s"
        series = (
            Series("measured", x.speed[some], x.force[some], dots=True, colour=AS_FORCES[0]),
            Series("described", x.grid, x.described, colour=AS_FORCES[1]),
            Series("found", x.grid, x.found, colour=AS_FORCES[2]),
        )
        charts.append(Chart(f"{x.name}, friction", x.unit, series, speed))
    return charts


def _curves(result: Identification) -> list[Chart]:
    """Force of every joint, measured, as described and as found, and the error that is left."""
    data = result.test
    some = slice(None, None, max(1, len(data) // MAX_SAMPLES))
    t, measured, predicted = data.t[some], data.tau[some], result.predict(data)[some]
    described = result.prior.inverse_dynamics(data.q, data.dq, data.ddq)[some]
    sliding = bounds_of(result.robot.model).sliding
    charts: list[Chart] = []
    for k, name in enumerate(result.robot.model.dof_names):
        lines = {
            "measured": measured[:, k],
            "measured less found": measured[:, k] - predicted[:, k],
            "described": described[:, k],
            "found": predicted[:, k],  # the last lies on top
        }
        series = tuple(Series(words, t, y) for words, y in lines.items())
        charts.append(Chart(name, "N" if sliding[k] else "N m", series))
    return charts

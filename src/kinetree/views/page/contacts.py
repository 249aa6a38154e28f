"""contacts_page: forces from outside and contacts of a recording on one self-contained page."""

from collections.abc import Sequence

import numpy as np

from kinetree.controllers import Contact
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number
from kinetree.model.bounds import bounds_of
from kinetree.present.charts import Chart, Series
from kinetree.present.tables import escape
from kinetree.robot import Robot
from kinetree.views.page.document import chart_frames, chart_page, scroll_table

BINS = 400  # intervals of time in a plot, each with its lowest and highest value
HEADS = ("from, s", "to, s", "joint", "peak", "unit", "at, s", "all joints", "on or beyond")
WORDS = (
    "A contact begins where the force from outside passes the threshold of a joint. It is on the "
    "link of the last joint that does, or beyond it."
)


def contacts_page(
    robot: Robot, t: Array, external: Array, thresholds: Array, contacts: Sequence[Contact]
) -> str:
    """The page: a table of contacts, and the force from outside of every joint over time.

    Args:
        robot: the robot that was recorded.
        t: times, shape (T,), s.
        external: joint forces from outside, shape (T, n), N m or N.
        thresholds: of the joints, shape (n,), N m or N.
        contacts: in the order of their beginnings.
    """
    count = counted(len(contacts), "contact") if contacts else "No contact"
    sliding = dict(zip(robot.model.dof_names, bounds_of(robot.model).sliding, strict=True))
    rows = [
        (
            f"{x.start:.3f}", f"{x.end:.3f}", x.joint, number(x.peak, 3),
            _unit(sliding[x.joint]), f"{x.at:.3f}", ", ".join(x.joints), x.link,
        )
        for x in contacts
    ]  # fmt: skip
    table = scroll_table(HEADS, rows) if rows else ""
    times, low, high = envelope(t, external)
    charts: list[Chart] = []
    for k, name in enumerate(robot.model.dof_names):
        limit = np.full(len(times), float(thresholds[k]))
        lines = {
            "threshold": limit,
            "threshold below": -limit,
            "lowest": low[:, k],
            "highest": high[:, k],
        }
        series = tuple(Series(words, times, y) for words, y in lines.items())
        charts.append(Chart(name, _unit(sliding[name]), series))
    sections = [
        f"<header><h1>Contacts of {escape(robot.name)}</h1>"
        f'<p class="lead">{count} in {number(float(t[-1] - t[0]), 3)} s.</p></header>',
        f"<section><h2>Contacts</h2><p>{WORDS}</p>{table}</section>",
        "<section><h2>Forces from outside</h2>"
        f'<p class="soft">Lowest and highest value in each of {BINS} intervals.</p>'
        f'<div class="plots">{"".join(chart_frames(len(charts)))}</div></section>',
    ]
    return chart_page(f"Contacts of {robot.name}", sections, charts)


def _unit(sliding: bool) -> str:
    return "N" if sliding else "N m"


def envelope(t: Array, x: Array) -> tuple[Array, Array, Array]:
    """Times, lowest and highest values of x, (T, n), in at most BINS intervals of samples."""
    cuts = np.unique(np.linspace(0, len(t), BINS + 1).round().astype(int))[:-1]
    low, high = np.minimum.reduceat(x, cuts, axis=0), np.maximum.reduceat(x, cuts, axis=0)
    return t[cuts], low, high

"""The tab Recursion: step through both passes of Newton and Euler, one link at a time.

Arrows are drawn for the links that are done; the numbers of the step stand in the tab.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kinetree.algorithms import Recursion
from kinetree.base.tables import steady_number
from kinetree.errors import KinetreeError
from kinetree.explain import Explanation, Term, explain
from kinetree.model import Model
from kinetree.views.arrows import HALVES, Arrow, constraint_arrows, recursion_arrows
from kinetree.views.shapes import LOOP, Colour
from kinetree.views.workbench.bench import Bench, Event, in_turn, user_action
from kinetree.views.workbench.markup import STEPS, reading
from kinetree.views.workbench.scene_nodes import place
from kinetree.views.workbench.state import State, external_wrenches

if TYPE_CHECKING:
    from viser import ArrowsHandle, MeshHandle

PREVIOUS, NEXT, OFF = "◀ back", "next ▶", "off"
CLEAR = 0.35  # opacity of the robot while arrows are shown
LONGEST = 0.4  # longest arrow, in extents
HELP = reading(
    "<p>Press <b>next</b> to go outward from the base (V and dV of each link) and back inward "
    "(F and τ). Set rates in the tab <b>Joints</b> first: at rest only gravity acts.</p>"
)
OUTWARD, INWARD = "outward", "inward"
SYMBOLS = {OUTWARD: ("V", "dV"), INWARD: ("F", "tau")}
LETTERS = {"omega": "ω", "alpha": "α"}
NAMES = {"V": "V", "dV": "dV", "F": "F", "tau": "τ"}
ROWS = {
    "V": ("ωx", "ωy", "ωz", "vx", "vy", "vz"),
    "dV": ("αx", "αy", "αz", "ax", "ay", "az"),
    "F": ("mx", "my", "mz", "fx", "fy", "fz"),
}


def add_recursion(bench: Bench, bodies: "Sequence[MeshHandle]") -> None:
    """Add the controls of the recursion, its arrows, and the frame of the link of the step.

    bodies: nodes of the robot that are made transparent while arrows are shown.
    """
    gui, scene, extent = bench.server.gui, bench.server.scene, bench.scene.extent
    plan = steps(bench.state.robot.model)
    buttons = gui.add_button_group("Step", (PREVIOUS, NEXT, OFF))
    slider = gui.add_slider("Step", 0, max(len(plan), 1), 1, 0)
    text = gui.add_html(HELP)
    frame = scene.add_frame(
        bench.node("recursion/link"),
        axes_length=0.12 * extent,
        axes_radius=0.006 * extent,
        visible=False,
    )
    arrows = Arrows(bench)
    found: list[tuple[State, Explanation]] = []  # of the state that was drawn last

    def draw(state: State) -> None:
        k = min(max(int(slider.value), 0), len(plan)) - 1
        if k < 0:
            text.content = HELP
            arrows.draw([])
        else:
            if not found or found[0][0] is not state:
                try:
                    found[:] = [(state, explained(state))]
                except KinetreeError as error:  # a motion that the constraints do not allow
                    text.content = reading(f'<p class="kt-over">{escape(str(error))}</p>')
                    arrows.draw([])
                    return
            explanation = found[0][1]
            text.content = step_reading(explanation, plan, k)
            place(frame, np.asarray(explanation.recursion.T_si[plan[k].link], float))
            found_arrows = step_arrows(explanation.recursion, plan, k, LONGEST * extent)
            if plan[k].direction == INWARD:
                found_arrows += constraint_arrows(explanation, LONGEST * extent)
            arrows.draw(found_arrows, plan[k].link)
        if frame.visible != (k >= 0):  # made visible after it is placed
            frame.visible = k >= 0
            for body in bodies:
                body.opacity = CLEAR if frame.visible else None

    def draw_now() -> None:
        with bench.server.atomic():
            draw(bench.state)

    def press(button: str) -> None:
        by = {PREVIOUS: -1, NEXT: 1}.get(button)
        with bench.showing:  # callbacks run in many threads: no step is lost
            slider.value = 0 if by is None else min(max(int(slider.value) + by, 0), len(plan))
            draw_now()

    def slide(_: Event) -> None:
        with bench.showing:
            draw_now()

    in_turn(buttons.on_click, press)
    slider.on_update(user_action(slide))
    bench.refreshers.append(draw)


class Arrows:
    """Arrows of the links: thick for the link of the step, thin for the links before it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.nodes: dict[str, ArrowsHandle] = {}
        self.colours: dict[str, list[Colour]] = {}

    def draw(self, arrows: Sequence[Arrow], link: int | None = None) -> None:
        """Move the arrows if only their points differ, otherwise replace them."""
        for name, radius in (("thin", 0.003), ("thick", 0.007)):
            own = [a for a in arrows if (a.link == link) == (name == "thick")]
            colours = [a.colour for a in own]
            points = np.array([(a.start, a.tip) for a in own], np.float32).reshape(-1, 2, 3)
            if colours == self.colours.get(name, []):
                if own:
                    self.nodes[name].points = points
                continue
            self.colours[name] = colours
            if name in self.nodes:
                self.nodes.pop(name).remove()
            if own:
                size = radius * self.bench.scene.extent
                self.nodes[name] = self.bench.server.scene.add_arrows(
                    self.bench.node(f"recursion/{name}"), points, np.array(colours, np.uint8),
                    shaft_radius=size, head_radius=2.6 * size, head_length=5 * size,
                )  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step: one link in one of the two passes."""

    direction: str
    link: int


def steps(model: Model) -> tuple[Step, ...]:
    """All steps: outward, parents first, then inward, children first."""
    links = list(model.links)
    outward = [Step(OUTWARD, i) for i in links]
    return (*outward, *(Step(INWARD, i) for i in reversed(links)))


def explained(state: State) -> Explanation:
    """Both passes at the state, with the parts of every quantity."""
    F_ext = external_wrenches(state)
    return explain(state.robot.model, state.q, state.dq, state.ddq, F_ext)


def step_arrows(recursion: Recursion, plan: tuple[Step, ...], k: int, length: float) -> list[Arrow]:
    """Arrows of the links that are done after step k: V and dV outward, F inward."""
    done = plan[: k + 1]
    step = plan[k]
    links = range(len(recursion.T_si))
    quantities = ("F",) if step.direction == INWARD else ("V", "dV")
    known = {s.link for s in done if s.direction == step.direction}
    return [
        arrow
        for quantity in quantities
        for arrow in recursion_arrows(recursion, quantity, length, links)
        if arrow.link in known and np.linalg.norm(arrow.value) > 1e-9
    ]


def step_reading(explanation: Explanation, plan: tuple[Step, ...], k: int) -> str:
    """The equations of step k, and each of their parts in numbers."""
    step = plan[k]
    link = explanation[step.link]
    way = "from parents to children" if step.direction == OUTWARD else "from children to parents"
    body = (
        f"<h4>Step {k + 1} of {len(plan)}: {step.direction}, {way}</h4>"
        f"<p>link <b>{escape(link.name)}</b> on joint <b>{escape(link.joint)}</b> "
        f"({escape(link.type)}), parent <b>{escape(link.parent)}</b></p>"
    )
    for symbol in SYMBOLS[step.direction]:
        body += f"{STEPS[symbol]}{term_table(symbol, link[symbol], link.rates)}"
        if symbol in HALVES:
            body += halves_key(symbol)
    if step.direction == INWARD and explanation.torque.constraints is not None:
        body += (
            f'<p><span><i class="kt-key" style="background:rgb{LOOP}"></i>forces and moments of '
            "the constraints onto frame_b</span></p>"
        )
    return reading(body)


def term_table(symbol: str, term: Term, rates: tuple[str, ...]) -> str:
    """Parts side by side and their sum; parts that are zero are left out."""
    parts = [part for part in term.parts if np.any(np.abs(np.asarray(part.value, float)) > 1e-12)]
    names = [f'<th title="{escape(p.equation)}">{escape(p.name)}</th>' for p in parts]
    rows = ROWS.get(symbol, rates)
    total = np.asarray(term.value, float)
    body = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(f"<td>{steady_number(np.asarray(p.value, float)[r], 3)}</td>" for p in parts)
        + f'<td><b data-step="{symbol},{r}" data-value="{float(total[r])!r}">'
        f"{steady_number(total[r])}</b></td></tr>"
        for r, name in enumerate(rows)
    )
    head = f"<tr><th></th>{''.join(names)}<th>{NAMES[symbol]}</th></tr>"
    return f'<table class="kt-table kt-step"><thead>{head}</thead><tbody>{body}</tbody></table>'


def halves_key(symbol: str) -> str:
    """A key of the colours of the arrows."""
    keys = "".join(
        f'<span><i class="kt-key" style="background:rgb{colour}"></i>{LETTERS.get(name, name)}, '
        f"{unit.replace('^2', '²')}</span>"
        for name, unit, colour in HALVES[symbol]
    )
    return f"<p>arrows:{keys}</p>"

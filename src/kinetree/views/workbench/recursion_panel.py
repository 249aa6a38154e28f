"""Stepping through the recursion: arrows grow link by link, the numbers of the step beside them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.explain.record import Explanation
from kinetree.views.arrows import Arrow
from kinetree.views.shapes import Colour
from kinetree.views.workbench.bench import Bench, by_hand, in_turn
from kinetree.views.workbench.recursion import explained, step_arrows, step_reading, steps
from kinetree.views.workbench.scene_nodes import place
from kinetree.views.workbench.state import State
from kinetree.views.workbench.style import reading

PREVIOUS, NEXT, OFF = "◀ back", "next ▶", "off"
CLEAR = 0.35  # opacity of the robot among its arrows
LONGEST = 0.4  # of an arrow, in extents
HELP = reading(
    "<p>Press <b>next</b> to walk outward from the base (V and dV of each link) and back inward "
    "(F and τ). Set rates under <b>Joints</b> first: at rest only gravity is left.</p>"
)


def add_recursion(bench: Bench, bodies: list[Any]) -> None:
    """The tab of the recursion, its arrows, and the frame of the link at hand.

    bodies: nodes of the robot that one sees through meanwhile.
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
    found: list[tuple[State, Explanation]] = []  # of the state drawn last

    def draw(state: State) -> None:
        k = min(max(int(slider.value), 0), len(plan)) - 1
        if k < 0:
            text.content = HELP
            arrows.draw([])
        else:
            if not found or found[0][0] is not state:
                found[:] = [(state, explained(state))]
            explanation = found[0][1]
            text.content = step_reading(explanation, plan, k)
            place(frame, np.asarray(explanation.recursion.T_si[plan[k].link], float))
            found_arrows = step_arrows(explanation.recursion, plan, k, LONGEST * extent)
            arrows.draw(found_arrows, plan[k].link)
        if frame.visible != (k >= 0):  # seen once it is placed
            frame.visible = k >= 0
            for body in bodies:
                body.opacity = CLEAR if frame.visible else None

    def draw_now() -> None:
        with bench.server.atomic():
            draw(bench.state)

    def press(button: str) -> None:
        by = {PREVIOUS: -1, NEXT: 1}.get(button)
        with bench.showing:  # callbacks run in many threads: no step is lost between them
            slider.value = 0 if by is None else min(max(int(slider.value) + by, 0), len(plan))
            draw_now()

    def slide(_: Any) -> None:
        with bench.showing:
            draw_now()

    in_turn(buttons.on_click, press)
    slider.on_update(by_hand(slide))
    bench.refreshers.append(draw)


class Arrows:
    """Arrows of the links: those of the link at hand thick, those before it thin."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.nodes: dict[str, Any] = {}
        self.colours: dict[str, list[Colour]] = {}

    def draw(self, arrows: Sequence[Arrow], link: int | None = None) -> None:
        """Move the arrows that are there; others than before are drawn anew."""
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

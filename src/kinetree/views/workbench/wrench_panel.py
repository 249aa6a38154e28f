"""An external wrench by hand: two handles in the scene, drop the first on any link."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.views.workbench.bench import Bench, by_hand, update
from kinetree.views.workbench.state import Push, State, external_wrenches
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, vector
from kinetree.views.workbench.wrench import (
    dropped_on,
    first_push,
    metres_per_newton,
    moved_point,
    point_in_space,
)

HELP = reading(
    "<p>Drag the handle at the arrow's foot onto a link: it stays where it is let go, on the "
    "nearest one. Drag the handle at the tip to aim the force and to make it stronger.</p>"
)
RED = (192, 57, 43)


def add_wrench(bench: Bench) -> None:
    """The tab of the wrench, and its handles and arrow in the scene."""
    gui, model = bench.server.gui, bench.state.robot.model
    on = gui.add_checkbox("push the robot", bench.state.push is not None)
    link = gui.add_dropdown("Link", model.link_names)
    force = gui.add_vector3("Force in {s}, N", (0.0, 0.0, 0.0), step=0.1)
    moment = gui.add_vector3("Moment in {s}, N m", (0.0, 0.0, 0.0), step=0.01)
    gui.add_html(HELP)
    text = gui.add_html("")
    handles = Handles(bench)

    def switch(_: Any) -> None:
        wanted = bool(on.value)
        update(bench, lambda x: x.replace(push=first_push(x) if wanted else None))

    def edit(_: Any) -> None:
        name, f, n = link.value, np.array(force.value), np.array(moment.value)
        if name in model.link_names and np.isfinite([*f, *n]).all():
            i = model.link_names.index(name)
            update(bench, lambda state: with_push(state, edited, i, f, n))

    def edited(state: State, push: Push, i: int, f: Array, n: Array) -> Push:
        point = push.point if i == push.link else np.asarray(model.com[i], float)
        return Push(i, point, f, n)

    on.on_update(by_hand(switch))
    for element in (link, force, moment):
        element.on_update(by_hand(edit))

    def refresh(state: State) -> None:
        push = state.push
        on.value = push is not None
        handles.follow(state)
        if push is None:
            text.content = ""
            return
        link.value = model.link_names[push.link]
        force.value = tuple(np.round(push.force, 6).tolist())
        moment.value = tuple(np.round(push.moment, 6).tolist())
        F = external_wrenches(state)[push.link]
        text.content = reading(
            f"<p>on <b>{escape(model.link_names[push.link])}</b>, at {vector(push.point)} m of its "
            f"frame<br>F<sub>ext</sub> = (moment {vector(F[:3])} N m,<br>force {vector(F[3:])} N) "
            "in the frame of the link</p>"
        )

    bench.refreshers.append(refresh)


def with_push(state: State, function: Callable[..., Push], *arguments: Any) -> State:
    """The state with another push made of the present one; without a push, as it is."""
    if state.push is None:
        return state
    return state.replace(push=function(state, state.push, *arguments))


class Handles:
    """The two handles and the arrow between them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.scale = metres_per_newton(bench.state.robot.model, bench.scene.extent)
        self.held: set[str] = set()
        self.drawn = np.zeros(3)
        size = 0.14 * bench.scene.extent
        self.foot, self.tip = (self._handle(name, size) for name in ("foot", "tip"))
        radius = 0.008 * bench.scene.extent
        self.arrow = bench.server.scene.add_arrows(
            "/push/arrow", np.zeros((1, 2, 3)), RED, shaft_radius=radius,
            head_radius=2.5 * radius, head_length=5 * radius, visible=False,
        )  # fmt: skip
        self.foot.on_update(by_hand(lambda event: self._drag_foot(event.phase)))
        self.tip.on_update(by_hand(lambda event: self._drag_tip(event.phase)))

    def _handle(self, name: str, size: float) -> Any:
        return self.bench.server.scene.add_transform_controls(
            f"/push/{name}", scale=size, disable_rotations=True, depth_test=False, visible=False
        )

    def _hold(self, name: str, phase: str) -> None:
        """Remember which handle is held, so that `follow` leaves it alone."""
        (self.held.discard if phase == "end" else self.held.add)(name)

    def _drag_foot(self, phase: str) -> None:
        self._hold("foot", phase)
        p = np.asarray(self.foot.position, float)
        move = dropped_on if phase == "end" else moved_point
        if np.isfinite(p).all():
            update(self.bench, lambda state: with_push(state, move, p))

    def _drag_tip(self, phase: str) -> None:
        self._hold("tip", phase)
        p = np.asarray(self.tip.position, float)
        if np.isfinite(p).all():
            update(self.bench, lambda state: with_push(state, self._aimed, p))

    def _aimed(self, state: State, push: Push, p: Array) -> Push:
        """The push whose arrow ends at p of {s}."""
        force = (p - point_in_space(state, push)) / self.scale
        return Push(push.link, push.point, force, push.moment)

    def follow(self, state: State) -> None:
        """Put the handles where the push is, but not those that a hand holds."""
        push = state.push
        if push is not None:
            self._place(state, push)
        for node in (self.foot, self.tip, self.arrow):  # seen once they are placed
            node.visible = push is not None

    def _place(self, state: State, push: Push) -> None:
        foot = point_in_space(state, push)
        tip = foot + self.scale * push.force
        self.arrow.position = tuple(foot.tolist())
        if not np.array_equal(self.drawn, push.force):  # moving an arrow is cheap, a new one is not
            self.drawn = push.force
            self.arrow.points = np.array([[np.zeros(3), tip - foot]], np.float32)
        for name, node, p in (("foot", self.foot, foot), ("tip", self.tip, tip)):
            if name not in self.held:
                node.position = tuple(p.tolist())

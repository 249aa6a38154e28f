"""The tab Push: an external force and moment on one link, set by numbers or by two handles.

The handle at the foot of the arrow is dropped on a link; the handle at the tip sets the force.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.model import Model
from kinetree.views.bodies import link_points
from kinetree.views.workbench.bench import Bench, Event, update, user_action
from kinetree.views.workbench.markup import reading, vector
from kinetree.views.workbench.state import Push, State, external_wrenches, link_poses

if TYPE_CHECKING:
    from viser import GuiInputHandle, TransformControlsEvent, TransformControlsHandle

RED = (192, 57, 43)
STRONG = 0.25  # the first push, in weights of the robot
LONG = 0.3  # its arrow, in extents
HELP = reading(
    "<p>Drag the handle at the foot of the arrow to a link. When released, it moves to the nearest "
    "link. Drag the handle at the tip to set the direction and size of the force.</p>"
)


def add_push(bench: Bench) -> None:
    """Add the controls of the push, and its handles and arrow in the scene."""
    gui, model = bench.server.gui, bench.state.robot.model
    on = gui.add_checkbox("push the robot", bench.state.push is not None)
    link = gui.add_dropdown("Link", model.link_names)
    force = gui.add_vector3("Force in {s}, N", (0.0, 0.0, 0.0), step=0.1)
    moment = gui.add_vector3("Moment in {s}, N m", (0.0, 0.0, 0.0), step=0.01)
    gui.add_html(HELP)
    text = gui.add_html("")
    handles = Handles(bench)
    shown = [Shown(element) for element in (on, link, force, moment)]
    edits: tuple[Callable[[State, Any], State], ...] = (switch, choose, aim, turn)
    for element, edit in zip(shown, edits, strict=True):
        element.element.on_update(user_action(editor(bench, element, edit)))

    def refresh(state: State) -> None:
        push = state.push
        handles.follow(state)
        with bench.changing:
            if state is bench.state:  # else a newer state is shown next
                for element, value in zip(shown, values(model, push), strict=False):
                    element.follow(value)
        if push is None:
            text.content = ""
            return
        F = external_wrenches(state)[push.link]
        text.content = reading(
            f"<p>on <b>{escape(model.link_names[push.link])}</b>, at {vector(push.point)} m of its "
            f"frame<br>F<sub>ext</sub> = (moment {vector(F[:3])} N m,<br>force {vector(F[3:])} N) "
            "in the frame of the link</p>"
        )

    bench.refreshers.append(refresh)


class Shown:
    """An element of the page that follows the state without undoing what a user has just set.

    A user may change the element while an older state is still being drawn; `known` is the last
    value that the workbench has seen or set. Both methods need the lock `bench.changing`.
    """

    def __init__(self, element: "GuiInputHandle[Any]") -> None:
        self.element, self.known = element, element.value

    def taken(self) -> Any:
        """The value that a user has set."""
        self.known = self.element.value
        return self.known

    def follow(self, value: object) -> None:
        """Set the element to a value of the state, if it differs from the known one."""
        if value != self.known:
            self.known = value
            self.element.value = value


def values(model: Model, push: Push | None) -> tuple[object, ...]:
    """Values of the elements of the tab; without a push, only that of the first."""
    if push is None:
        return (False,)
    force, moment = (tuple(np.round(x, 6).tolist()) for x in (push.force, push.moment))
    return True, model.link_names[push.link], force, moment


def editor(
    bench: Bench, shown: Shown, edit: Callable[[State, Any], State]
) -> Callable[[Event], None]:
    """A callback that takes the value set by a user into the state."""
    return lambda _: update(bench, lambda state: edit(state, shown.taken()))


def switch(state: State, wanted: bool) -> State:
    """The state with a push or without one."""
    if not wanted:
        return state.replace(push=None)
    return state if state.push is not None else state.replace(push=first_push(state))


def choose(state: State, name: str) -> State:
    """The push on another link, at its centre of mass."""
    model, push = state.robot.model, state.push
    if push is None or name not in model.link_names or name == model.link_names[push.link]:
        return state
    i = model.link_names.index(name)
    return state.replace(push=replace(push, link=i, point=np.asarray(model.com[i], float)))


def aim(state: State, force: Sequence[float]) -> State:
    """The push with another force, N in {s}."""
    return _with(state, "force", force)


def turn(state: State, moment: Sequence[float]) -> State:
    """The push with another moment, N m in {s}."""
    return _with(state, "moment", moment)


def _with(state: State, name: str, value: ArrayLike) -> State:
    x = np.array(value, float)
    if state.push is None or not np.isfinite(x).all():
        return state
    return state.replace(push=replace(state.push, **{name: x}))


class Handles:
    """The two handles in the scene and the arrow between them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.scale = metres_per_newton(bench.state.robot.model, bench.scene.extent)
        self.held: set[str] = set()
        self.drawn = np.zeros(3)
        size = 0.14 * bench.scene.extent
        self.foot, self.tip = (self._handle(name, size) for name in ("foot", "tip"))
        radius = 0.008 * bench.scene.extent
        self.arrow = bench.server.scene.add_arrows(
            bench.node("push/arrow"), np.zeros((1, 2, 3)), RED, shaft_radius=radius,
            head_radius=2.5 * radius, head_length=5 * radius, visible=False,
        )  # fmt: skip
        for name, node, drag in (
            ("foot", self.foot, self._drag_foot),
            ("tip", self.tip, self._drag_tip),
        ):
            node.on_update(self._hold(name))
            node.on_update(user_action(lambda _, drag=drag: update(bench, drag)))

    def _handle(self, name: str, size: float) -> "TransformControlsHandle":
        return self.bench.server.scene.add_transform_controls(
            self.bench.node(f"push/{name}"),
            scale=size,
            disable_rotations=True,
            depth_test=False,
            visible=False,
        )

    def _hold(self, name: str) -> "Callable[[TransformControlsEvent], Coroutine[Any, Any, None]]":
        """A coroutine that notes which handle is being dragged, so that `follow` leaves it alone.

        It runs in the viewer's own thread and so in the order of the drag. Of two callbacks in
        threads, the end of a drag could come before its middle and the handle be held for good.
        """

        async def note(event: "TransformControlsEvent") -> None:
            (self.held.discard if event.phase == "end" else self.held.add)(name)

        return note

    def _drag_foot(self, state: State) -> State:
        p = np.asarray(self.foot.position, float)
        if state.push is None or not np.isfinite(p).all():
            return state
        move = moved_point if "foot" in self.held else dropped_on
        return state.replace(push=move(state, state.push, p))

    def _drag_tip(self, state: State) -> State:
        if state.push is None:
            return state
        p = np.asarray(self.tip.position, float)
        return _with(state, "force", (p - point_in_space(state, state.push)) / self.scale)

    def follow(self, state: State) -> None:
        """Move the handles to the push, except a handle that is being dragged."""
        push = state.push
        if push is not None:
            self._place(state, push)
        for node in (self.foot, self.tip, self.arrow):  # made visible after they are placed
            node.visible = push is not None

    def _place(self, state: State, push: Push) -> None:
        foot = point_in_space(state, push)
        tip = foot + self.scale * push.force
        self.arrow.position = tuple(foot.tolist())
        if not np.array_equal(self.drawn, push.force):  # moving an arrow is cheap, redrawing is not
            self.drawn = push.force
            self.arrow.points = np.array([[np.zeros(3), tip - foot]], np.float32)
        for name, node, p in (("foot", self.foot, foot), ("tip", self.tip, tip)):
            if name not in self.held:
                node.position = tuple(p.tolist())


def weight(model: Model) -> float:
    """Mass times 9.81, N, also for a robot without gravity: a scale of forces."""
    return max(9.81 * float(np.sum(np.asarray(model.m, float))), 1e-3)


def metres_per_newton(model: Model, extent: float) -> float:
    """Length of an arrow per force."""
    return LONG * extent / (STRONG * weight(model))


def first_push(state: State) -> Push:
    """A push down on the tool with a quarter of the robot's weight."""
    model = state.robot.model
    tool = model.frame()
    link = max(tool.link, 0)
    point = np.asarray(tool.T_if, float)[:3, 3] if tool.link >= 0 else np.zeros(3)
    return Push(link, point, np.array([0, 0, -STRONG * weight(model)]), np.zeros(3))


def point_in_space(state: State, push: Push) -> Array:
    """The point at which the force acts, in {s}."""
    T = link_poses(state)[push.link]
    return T[:3, :3] @ push.point + T[:3, 3]


def moved_point(state: State, push: Push, p: Array) -> Push:
    """The push at point p of {s}, still on its link."""
    T = link_poses(state)[push.link]
    return replace(push, point=T[:3, :3].T @ (p - T[:3, 3]))


def dropped_on(state: State, push: Push, p: Array) -> Push:
    """The push on the link that passes nearest to p of {s}, at the nearest point of its line."""
    best: tuple[float, int, Array] | None = None
    for i, T in enumerate(link_poses(state)):
        local = T[:3, :3].T @ (p - T[:3, 3])
        start, ends = link_points(state.robot.model, i)
        for end in ends or [start]:
            near = nearest(local, start, end)
            distance = float(np.linalg.norm(near - local))
            if best is None or distance < best[0] - 1e-12:
                best = (distance, i, near)
    return push if best is None else replace(push, link=best[1], point=best[2])


def nearest(p: Array, start: Array, end: Array) -> Array:
    """The point between start and end that is nearest to p."""
    way = end - start
    length = float(way @ way)
    share = 0.0 if length == 0 else float(np.clip((p - start) @ way / length, 0, 1))
    return start + share * way

"""The handles of a push in the scene: the foot is dropped on a link, the tip aims the force."""

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.workbench.bench import Bench, by_hand, update
from kinetree.views.workbench.state import Push, State
from kinetree.views.workbench.wrench import (
    dropped_on,
    metres_per_newton,
    moved_point,
    point_in_space,
    with_push,
)

RED = (192, 57, 43)


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
            bench.node("push/arrow"), np.zeros((1, 2, 3)), RED, shaft_radius=radius,
            head_radius=2.5 * radius, head_length=5 * radius, visible=False,
        )  # fmt: skip
        for name, node, drag in (
            ("foot", self.foot, self._drag_foot),
            ("tip", self.tip, self._drag_tip),
        ):
            node.on_update(self._hold(name))
            node.on_update(by_hand(lambda _, drag=drag: update(bench, drag)))

    def _handle(self, name: str, size: float) -> Any:
        return self.bench.server.scene.add_transform_controls(
            self.bench.node(f"push/{name}"),
            scale=size,
            disable_rotations=True,
            depth_test=False,
            visible=False,
        )

    def _hold(self, name: str) -> Callable[[Any], Awaitable[None]]:
        """Notes which handle is held, so that `follow` leaves it alone.

        In the viewer's own thread, and so in the order of the hand: of two callbacks in threads
        the end of a drag may come before the middle of it, and the handle be held for ever.
        """

        async def note(event: Any) -> None:
            (self.held.discard if event.phase == "end" else self.held.add)(name)

        return note

    def _drag_foot(self, state: State) -> State:
        p = np.asarray(self.foot.position, float)
        move = moved_point if "foot" in self.held else dropped_on
        return with_push(state, move, p) if np.isfinite(p).all() else state

    def _drag_tip(self, state: State) -> State:
        p = np.asarray(self.tip.position, float)
        return with_push(state, self._aimed, p) if np.isfinite(p).all() else state

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

"""Bench: the running workbench. It has the state; panels show the state and request changes.

The viewer runs callbacks in many threads, in any order, some time after the user's action. Changes
of the state go through `update`, which loses none of them; buttons and menus use `in_turn`, which
keeps their order.
"""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kinetree.errors import KinetreeError
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory
from kinetree.views.shapes import Scene
from kinetree.views.workbench.guard import Guard
from kinetree.views.workbench.state import State

if TYPE_CHECKING:
    from viser import ClientHandle, GuiHtmlHandle, GuiTabHandle, ViserServer

Refresh = Callable[[State], None]


class Event(Protocol):
    """Argument of a callback: the page that caused it, None for the server, and the element."""

    @property
    def client(self) -> "ClientHandle | None":
        """The page in whose browser the user acted."""
        ...

    @property
    def target(self) -> Any:
        """The element that was changed, of the viewer's type."""
        ...


@dataclass
class Bench:
    """A server, the state that it shows, and the functions that are called when the state changes.

    scene: shapes of the robot. folder: private, for uploaded files. meshes: the only folder that
    meshes of the robot's own file are read from; None means the folder of the file. notes: remarks
    on its file. trajectory: the motion that was simulated, read or recorded last. plots: the
    element with its curves. tabs: those whose content belongs to this robot. refreshers, watchers:
    called with every new state and trajectory. closers: called to end the robot's threads.
    opened: number of the robot that is shown.

    Locks are taken in the order opening (while another robot is opened), showing (while panels are
    drawn), changing (while the state is replaced).
    """

    server: "ViserServer"
    guard: Guard
    state: State
    scene: Scene
    folder: Path
    meshes: Path | None = None
    notes: list[str] = field(default_factory=list)
    trajectory: Trajectory | None = None
    plots: "GuiHtmlHandle | None" = None
    tabs: "dict[str, GuiTabHandle]" = field(default_factory=dict)
    refreshers: list[Refresh] = field(default_factory=list)
    watchers: list[Callable[[Trajectory], None]] = field(default_factory=list)
    closers: list[Callable[[], None]] = field(default_factory=list)
    version: int = 0
    opened: int = 0
    opening: threading.RLock = field(default_factory=threading.RLock)
    changing: threading.RLock = field(default_factory=threading.RLock)
    showing: threading.RLock = field(default_factory=threading.RLock)

    def node(self, name: str) -> str:
        """Scene name of a node, unique to this robot: pages keep the pose of a reused name."""
        return f"/{self.opened}/{name}"


def change(bench: Bench, **changes: Any) -> None:
    """Set fields of the state and show it."""
    update(bench, lambda state: state.replace(**changes))


def update(bench: Bench, function: Callable[[State], State]) -> None:
    """Replace the state by `function(state)` and show it.

    The lock keeps changes from other threads from being lost. If changes arrive faster than they
    can be drawn, only the latest is shown.
    """
    with bench.changing:
        bench.state = function(bench.state)
        bench.version += 1
        version = bench.version
    with bench.showing:
        if version == bench.version:
            show(bench)


def show(bench: Bench) -> None:
    """Update all panels together, with the same state."""
    with bench.showing, bench.server.atomic():
        state = bench.state
        for refresh in bench.refreshers:
            refresh(state)


def take(bench: Bench, robot: Robot, trajectory: Trajectory) -> bool:
    """Set the motion of a robot and call the watchers; False if another robot was opened since."""
    with bench.showing:
        if bench.state.robot is not robot:
            return False
        bench.trajectory = trajectory
        for watcher in bench.watchers:
            watcher(trajectory)
        return True


def user_action(function: Callable[[Event], None]) -> Callable[[Event], None]:
    """A callback for actions of users; changes that the workbench makes itself are ignored.

    A KinetreeError is shown, as plain text, on the page of the user who caused it.
    """

    def callback(event: Event) -> None:
        if event.client is None:
            return
        try:
            function(event)
        except KinetreeError as error:
            notify(event.client, "That did not work", str(error))
        except RuntimeError:
            if not removed(event.target):  # removed: another robot was opened since
                raise

    return callback


def removed(element: object) -> bool:
    """Return True if an element is no longer on the page; the viewer then refuses to change it."""
    return bool(getattr(getattr(element, "_impl", None), "removed", False))


def in_turn(
    register: Callable[[Callable[[Event], Any]], object], function: Callable[[Any], None]
) -> None:
    """Call `function(value)` for every action of a user on an element, in the order of the actions.

    register: `on_click` or `on_update` of the element. The value is noted at once by a coroutine in
    the viewer's own thread. The callback itself waits for a free thread, and by then the element
    may have another value.
    """
    values: queue.SimpleQueue[Any] = queue.SimpleQueue()
    turn = threading.Lock()

    async def note(event: Event) -> None:
        if event.client is not None:
            values.put(event.target.value)

    def act(_: Event) -> None:
        with turn:
            function(values.get_nowait())

    register(note)
    register(user_action(act))


def notify(
    client: "ClientHandle", title: str, text: str, colour: Literal["red", "yellow"] = "red"
) -> None:
    """Show a message in a corner of a page."""
    client.add_notification(title, text[:600], color=colour, auto_close_seconds=12.0)

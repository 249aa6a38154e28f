"""Bench: the running workbench. It holds the state; panels show it and ask for changes."""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory
from kinetree.views.shapes import Scene
from kinetree.views.workbench.guard import Guard
from kinetree.views.workbench.state import State

Refresh = Callable[[State], None]


@dataclass
class Bench:
    """A server, the state that it shows, and what is to be done when the state changes.

    scene: the shapes of the robot. folder: private, for files that were uploaded. meshes: the only
    folder that meshes of the robot's own file are read from; that of the file when None. notes:
    remarks about its file. trajectory: the motion that was simulated, read or recorded last.
    plots: the place of its curves. tabs: whose content belongs to this robot. refreshers,
    watchers: told of every new state and trajectory. closers: end what runs by itself. opened: the
    number of the robot that is shown.
    Callbacks run in many threads: opening, showing, changing are held in that order, while a
    robot is put on the bench, while panels are drawn, and for the moment of a new state.
    """

    server: Any
    guard: Guard
    state: State
    scene: Scene
    folder: Path
    meshes: Path | None = None
    notes: list[str] = field(default_factory=list)
    trajectory: Trajectory | None = None
    plots: Any = None
    tabs: dict[str, Any] = field(default_factory=dict)
    refreshers: list[Refresh] = field(default_factory=list)
    watchers: list[Callable[[Trajectory], None]] = field(default_factory=list)
    closers: list[Callable[[], None]] = field(default_factory=list)
    version: int = 0
    opened: int = 0
    opening: threading.RLock = field(default_factory=threading.RLock)
    changing: threading.RLock = field(default_factory=threading.RLock)
    showing: threading.RLock = field(default_factory=threading.RLock)

    def node(self, name: str) -> str:
        """The name of a node of this robot; pages keep the pose of one whose name returns."""
        return f"/{self.opened}/{name}"


def change(bench: Bench, **changes: Any) -> None:
    """Take new values into the state and show it."""
    update(bench, lambda state: state.replace(**changes))


def update(bench: Bench, function: Callable[[State], State]) -> None:
    """Make a new state of the present one and show it.

    Nothing is lost between reading and writing, though callbacks run in many threads. Where
    changes come faster than screens, only the latest is shown.
    """
    with bench.changing:
        bench.state = function(bench.state)
        bench.version += 1
        version = bench.version
    with bench.showing:
        if version == bench.version:
            show(bench)


def show(bench: Bench) -> None:
    """Bring every panel up to date, in one go for the eye, and all with the same state."""
    with bench.showing, bench.server.atomic():
        state = bench.state
        for refresh in bench.refreshers:
            refresh(state)


def take(bench: Bench, robot: Robot, trajectory: Trajectory) -> bool:
    """A new motion of a robot: the panels that play and plot it are told.

    False where another robot has taken its place meanwhile.
    """
    with bench.showing:
        if bench.state.robot is not robot:
            return False
        bench.trajectory = trajectory
        for watcher in bench.watchers:
            watcher(trajectory)
        return True


def by_hand(function: Callable[..., None]) -> Callable[[Any], None]:
    """A callback that acts on what people do, and not on what a panel sets by itself.

    Errors that teach are shown to the person who caused them; the viewer shows them as text.
    """

    def callback(event: Any) -> None:
        if event.client is None:
            return
        try:
            function(event)
        except KinetreeError as error:
            tell(event.client, "That did not work", str(error))
        except RuntimeError:
            if not removed(event.target):  # else its robot went meanwhile, and the panel with it
                raise

    return callback


def removed(element: Any) -> bool:
    """Whether an element is no longer on the page; the viewer refuses to change such a one."""
    return bool(getattr(getattr(element, "_impl", None), "removed", False))


def in_turn(register: Callable[[Any], Any], function: Callable[[Any], None]) -> None:
    """Call `function(value)` for everything that people do to an element, in their order.

    register: `on_click` or `on_update` of the element. Its value is noted at once, in the viewer's
    own thread: callbacks wait for theirs, and the element may stand at another value by then.
    """
    values: queue.SimpleQueue[Any] = queue.SimpleQueue()
    turn = threading.Lock()

    async def note(event: Any) -> None:
        if event.client is not None:
            values.put(event.target.value)

    def act(_: Any) -> None:
        with turn:
            function(values.get_nowait())

    register(note)
    register(by_hand(act))


def tell(client: Any, title: str, text: str, colour: str = "red") -> None:
    """A note in a corner of the page."""
    client.add_notification(title, text[:600], color=colour, auto_close_seconds=12.0)

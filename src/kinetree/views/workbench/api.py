"""The requests that the page of the workbench makes: one function each, pure, by name.

An answer depends on the request and on the robots that are open, and on nothing else.
"""

from collections.abc import Callable

from kinetree import robots
from kinetree.errors import NameLookupError
from kinetree.views.workbench.describe import description
from kinetree.views.workbench.readings import readings
from kinetree.views.workbench.shelf import BUILT_IN, Shelf
from kinetree.views.workbench.state import Request, State, read_state, text

Answer = dict[str, object]
ELLIPSOID = 0.16  # longest axis of a drawn ellipsoid, in extents


def answer_robots(shelf: Shelf, request: Request) -> Answer:
    """The built-in robots."""
    return {"built_in": [built_in(name) for name in BUILT_IN]}


def built_in(name: str) -> Answer:
    """A built-in robot in the list of robots."""
    words = (getattr(robots, name).__doc__ or "").strip().partition("\n")[0]
    return {"name": name, "title": name.replace("_", " "), "about": words}


def answer_open(shelf: Shelf, request: Request) -> Answer:
    """Open a robot by its name or id, or from uploaded files."""
    if "files" in request:
        return description(shelf.upload(request["files"], request.get("main")))
    key = request.get("id", request.get("name"))
    return description(shelf.find(text(key, "name")))


def answer_readings(shelf: Shelf, request: Request) -> Answer:
    """Joint forces, mass matrix, energy, and the pose and ellipsoids of a frame."""
    state = asked_state(shelf, request)
    frame = request.get("frame")
    name = None if frame is None else text(frame, "frame")
    frames = state.robot.model.frames
    if name is not None and name not in frames:
        raise NameLookupError(f"the robot has no frame {name[:60]!r}; it has {', '.join(frames)}.")
    extent = shelf.find(text(request["robot"], "robot")).stage.scene.extent
    return readings(state, name, ELLIPSOID * extent)


def asked_state(shelf: Shelf, request: Request) -> State:
    """The state that a request is about."""
    return read_state(request, shelf.robot(request))


API: dict[str, Callable[[Shelf, Request], Answer]] = {
    "robots": answer_robots,
    "open": answer_open,
    "readings": answer_readings,
}

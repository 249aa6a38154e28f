"""The requests that the page of the workbench makes: one function each, by name.

An answer depends on the request and on the robots that are open, and on nothing else.
"""

from collections.abc import Callable

from kinetree.core.text import nearest
from kinetree.errors import InputError, NameLookupError
from kinetree.explain import packed, recursion_steps, unfold_mass
from kinetree.views.page.report import equations
from kinetree.views.workbench.describe import description
from kinetree.views.workbench.motions import motion_data, read_motion_file, saved
from kinetree.views.workbench.presets import Law, default_preset, find_preset
from kinetree.views.workbench.reach import reached
from kinetree.views.workbench.readings import explained, readings
from kinetree.views.workbench.runs import simulated
from kinetree.views.workbench.shelf import BUILT_IN, Shelf, decoded
from kinetree.views.workbench.state import (
    Request,
    State,
    index,
    numbers,
    optional,
    random_position,
    read_kept,
    read_state,
    record,
    text,
)

Answer = dict[str, object]
MAX_NODES = 6000  # of an unfolded number
ELLIPSOID = 0.16  # longest axis of a drawn ellipsoid, in extents


def answer_robots(shelf: Shelf, request: Request) -> Answer:
    """The built-in robots."""
    return {"built_in": [{"name": name, "title": name.replace("_", " ")} for name in BUILT_IN]}


def answer_open(shelf: Shelf, request: Request) -> Answer:
    """Open a robot by its name or id, or from uploaded files."""
    if "files" in request:
        return description(shelf.upload(request["files"], request.get("main")))
    return description(shelf.find(text(request.get("id", request.get("name")), "name")))


def answer_readings(shelf: Shelf, request: Request) -> Answer:
    """Joint forces, mass matrix, energy, and the pose and ellipsoids of a frame."""
    state = asked_state(shelf, request)
    name = asked_frame(request, state)
    extent = shelf.find(text(request["robot"], "robot")).stage.scene.extent
    return readings(state, name, ELLIPSOID * extent, read_kept(request.get("kept"), state.robot))


def asked_frame(request: Request, state: State) -> str | None:
    """The frame of a request; None: the tool."""
    name, frames = request.get("frame"), state.robot.model.frames
    if name is not None and text(name, "frame") not in frames:
        raise NameLookupError(
            f"the robot has no frame {str(name)[:60]!r}; it has {', '.join(frames)}."
        )
    return None if name is None else str(name)


def answer_random(shelf: Shelf, request: Request) -> Answer:
    """A random position within the limits, on the constraints if there are any."""
    return {"q": random_position(shelf.robot(request))}


def answer_reach(shelf: Shelf, request: Request) -> Answer:
    """The position in which a frame is at a pose that it was dragged to, or near it."""
    state = asked_state(shelf, request)
    T = numbers(request.get("T"), "T", [str(k) for k in range(16)]).reshape(4, 4)
    q, is_reached = reached(state.robot, state.q, T, asked_frame(request, state))
    return {"q": q, "reached": is_reached}


def answer_simulate(shelf: Shelf, request: Request) -> Answer:
    """The motion of a preset from a state."""
    state = asked_state(shelf, request)
    stage = shelf.find(text(request["robot"], "robot")).stage
    name = text(request.get("preset", default_preset(state.robot)), "preset")
    preset, known = find_preset(state.robot, name), ("kp", "kd")
    gains = record({} if request.get("gains") is None else request["gains"], "gains", known)
    usual = {key: (preset.gains or {}).get(key, {}).get("value", 0.0) for key in known}
    given = {key: optional(gains.get(key), f"gain {key}") for key in known}
    kp, kd = (usual[key] if x is None else x for key, x in given.items())
    if kp < 0 or kd < 0:
        raise InputError(f"kp is {kp:g} and kd is {kd:g}; expected 0 or more.")
    duration = optional(request.get("duration"), "duration") or preset.duration
    stops = request.get("stops", True)
    if not isinstance(stops, bool):
        raise InputError(f"stops is {stops!r:.60}; expected true or false.")
    shelf.stopping.clear()
    law = Law(preset, kp, kd, duration, stage.scene.extent)
    run = simulated(law, state, stops=stops, ended=shelf.ended)
    return motion_data(state.robot, run, preset.title)


def answer_stop(shelf: Shelf, request: Request) -> Answer:
    """End the run that is being computed: it keeps what it has."""
    shelf.stopping.set()
    return {}


def answer_motion(shelf: Shelf, request: Request) -> Answer:
    """The motion of an uploaded CSV file."""
    robot = shelf.robot(request)
    file = record(request.get("file"), "file")
    name = text(file.get("name"), "the name of the file")
    run = read_motion_file(robot, name, decoded(file.get("base64"), name[:80]), shelf.folder)
    return motion_data(robot, run, name)


def answer_save(shelf: Shelf, request: Request) -> Answer:
    """A motion or a robot as a file."""
    opened = shelf.find(text(request.get("robot"), "robot"))
    kind = text(request.get("kind"), "kind")
    return saved(opened, shelf.robot(request), kind, request.get("motion"), shelf.folder)


def answer_recursion(shelf: Shelf, request: Request) -> Answer:
    """Both passes of the recursion step by step."""
    return {"steps": recursion_steps(explained(asked_state(shelf, request)))}


def answer_unfold(shelf: Shelf, request: Request) -> Answer:
    """A joint force, an entry of M or a vector of the recursion as a tree that adds up."""
    state = asked_state(shelf, request)
    what = record(request.get("what"), "what")
    model, kind = state.robot.model, text(what.get("kind"), "kind")
    if kind == "tau":
        tree = explained(state).unfold(index(what.get("dof"), "dof", model.n))
    elif kind == "M":
        entries = (index(what.get(name), name, model.n) for name in ("row", "column"))
        tree = unfold_mass(model, state.q, *entries)
    elif kind == "vector":
        link = index(what.get("link"), "link", len(model.links))
        tree = explained(state).unfold_vector(link, text(what.get("symbol"), "symbol"))
    else:
        raise InputError(f"kind is {kind[:20]!r}; expected tau, M or vector.")
    return packed([tree], MAX_NODES)


def answer_equations(shelf: Shelf, request: Request) -> Answer:
    """M, C and g in closed form as markup, or a sentence with the reason if there are none."""
    return {"html": equations(shelf.robot(request))}


def asked_state(shelf: Shelf, request: Request) -> State:
    """The state that a request is about."""
    return read_state(request, shelf.robot(request))


ROBOT = ("robot", "gravity", "payload")
STATE = (*ROBOT, "q", "dq", "ddq", "push", "contact_forces", "stop_forces")
# functions, and the entries that their requests may have, by name
API: dict[str, tuple[Callable[[Shelf, Request], Answer], tuple[str, ...]]] = {
    "robots": (answer_robots, ()),
    "open": (answer_open, ("id", "name", "files", "main")),
    "readings": (answer_readings, (*STATE, "frame", "kept")),
    "recursion": (answer_recursion, STATE),
    "unfold": (answer_unfold, (*STATE, "what")),
    "equations": (answer_equations, ROBOT),
    "random": (answer_random, ROBOT),
    "reach": (answer_reach, (*STATE, "T", "frame")),
    "simulate": (answer_simulate, (*STATE, "preset", "gains", "duration", "stops")),
    "stop": (answer_stop, ()),
    "motion": (answer_motion, (*ROBOT, "file")),
    "save": (answer_save, (*ROBOT, "kind", "motion")),
}


def answer(shelf: Shelf, name: str, request: Request) -> object:
    """The answer to a request by its name; InputError if it has an entry that is not read."""
    if name not in API:
        raise NameLookupError(f"there is no request {name[:40]!r}; expected {', '.join(API)}.")
    function, expected = API[name]
    for entry in request:
        if entry not in expected:
            raise InputError(
                f"the request {name} has an entry {entry[:40]!r}; expected only "
                f"{', '.join(expected) or 'an empty record'}.{nearest(entry, expected)}"
            )
    return function(shelf, request)

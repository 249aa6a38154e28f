"""The requests that the page of the workbench makes: one function each, pure, by name.

An answer depends on the request and on the robots that are open, and on nothing else.
"""

from collections.abc import Callable

from kinetree import robots
from kinetree.core.arrays import Array
from kinetree.core.text import nearest
from kinetree.errors import InputError, NameLookupError
from kinetree.explain import (
    explain,
    packed,
    recursion_steps,
    unfold_mass,
    unfold_torque,
    unfold_vector,
)
from kinetree.views.arrows import constraint_arrows
from kinetree.views.page.report import equations
from kinetree.views.workbench.closing import closed_state, closure_words, random_state
from kinetree.views.workbench.describe import description
from kinetree.views.workbench.motions import (
    motion_data,
    read_motion_file,
    read_recording,
    saved,
)
from kinetree.views.workbench.presets import default_preset
from kinetree.views.workbench.quantities import MAX_FULL, is_large, quantity
from kinetree.views.workbench.readings import readings
from kinetree.views.workbench.runs import asked_law, simulated
from kinetree.views.workbench.shelf import BUILT_IN, Shelf, decoded
from kinetree.views.workbench.state import (
    Request,
    State,
    at_rest,
    external_wrenches,
    number,
    numbers,
    read_state,
    record,
    sequence,
    text,
)

Answer = dict[str, object]
GAINS = ("kp", "kd")
MAX_NODES = 6000  # of an unfolded number
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
        opened = shelf.upload(request["files"], request.get("main"))
    else:
        opened = shelf.find(text(request.get("id", request.get("name")), "name"))
    answered = description(opened)
    shelf.compile(opened)  # after it, since both take the processor
    return answered


def answer_readings(shelf: Shelf, request: Request) -> Answer:
    """Joint forces, mass matrix, energy, and the pose and ellipsoids of a frame."""
    state = asked_state(shelf, request)
    frame = request.get("frame")
    name = None if frame is None else text(frame, "frame")
    frames = state.robot.model.frames
    if name is not None and name not in frames:
        raise NameLookupError(f"the robot has no frame {name[:60]!r}; it has {', '.join(frames)}.")
    extent = shelf.find(text(request["robot"], "robot")).stage.scene.extent
    return readings(state, name, ELLIPSOID * extent, read_kept(request.get("kept"), state))


def answer_close(shelf: Shelf, request: Request) -> Answer:
    """The state on the constraints of the robot; `kept` is the quantity and entry that was set."""
    state = asked_state(shelf, request)
    closed = closed_state(state, read_kept(request.get("kept"), state))
    words = closure_words(closed)
    return {"q": closed.q, "dq": closed.dq, "ddq": closed.ddq, "closure": words}


def read_kept(given: object, state: State) -> tuple[str, int] | None:
    """The quantity and the degree of freedom that the user has set; None if there is none."""
    if given is None:
        return None
    quantity, dof = (*sequence(given, "kept"), None, None)[:2]
    if quantity not in ("q", "dq", "ddq") or not isinstance(dof, int) or isinstance(dof, bool):
        raise InputError(f"kept is {given!r:.60}; expected q, dq or ddq and a number.")
    if not 0 <= dof < state.robot.n:
        raise InputError(f"kept names entry {dof}; expected 0 to {state.robot.n - 1}.")
    return str(quantity), dof


def answer_random(shelf: Shelf, request: Request) -> Answer:
    """A random position within the limits, on the constraints if there are any."""
    state = random_state(at_rest(shelf.robot(request)))
    return {"q": state.q, "closure": closure_words(state)}


def answer_simulate(shelf: Shelf, request: Request) -> Answer:
    """The motion of a preset from a state."""
    state = asked_state(shelf, request)
    opened = shelf.find(text(request["robot"], "robot"))
    gains = record({} if request.get("gains") is None else request["gains"], "gains", GAINS)
    kp, kd = (optional(gains.get(name), f"gain {name}") for name in GAINS)
    target = request.get("target")
    names = state.robot.model.coordinate_names
    law = asked_law(
        state,
        text(request.get("preset", default_preset(state.robot)), "preset"),
        (kp, kd),
        optional(request.get("duration"), "duration"),
        None if target is None else numbers(target, "target", names),
        opened.stage.q,
        opened.stage.scene.extent,
    )
    stops = request.get("stops", True)
    if not isinstance(stops, bool):
        raise InputError(f"stops is {stops!r:.60}; expected true or false.")
    run = simulated(law, state, stops=stops, closing=shelf.closing)
    return motion_data(state.robot, run, law.preset.title)


def optional(given: object, name: str) -> float | None:
    """A number of a request that may be left out."""
    return None if given is None else number(given, name)


def answer_motion(shelf: Shelf, request: Request) -> Answer:
    """The motion of an uploaded CSV file."""
    robot = shelf.robot(request)
    file = record(request.get("file"), "file")
    name = text(file.get("name"), "the name of the file")
    run = read_motion_file(robot, name, decoded(file.get("base64"), name[:80]), shelf.folder)
    return motion_data(robot, run, name)


def answer_record(shelf: Shelf, request: Request) -> Answer:
    """The motion of sliders that were moved, made smooth."""
    robot = shelf.robot(request)
    return motion_data(robot, read_recording(robot, request), "Recording")


def answer_save(shelf: Shelf, request: Request) -> Answer:
    """A motion or a robot as a file."""
    opened = shelf.find(text(request.get("robot"), "robot"))
    kind = text(request.get("kind"), "kind")
    return saved(opened, shelf.robot(request), kind, request.get("motion"), shelf.folder)


def answer_recursion(shelf: Shelf, request: Request) -> Answer:
    """Both passes of the recursion step by step, and the forces of the constraints."""
    state = asked_state(shelf, request)
    explanation = explain(state.robot.model, state.q, state.dq, state.ddq, wrenches(state))
    arrows = [
        {"name": x.name, "unit": x.unit, "from": x.start, "vector": x.value}
        for x in constraint_arrows(explanation, 1.0)
    ]
    return {"steps": recursion_steps(explanation), "constraint_forces": arrows}


def answer_unfold(shelf: Shelf, request: Request) -> Answer:
    """A joint force, an entry of M or a vector of the recursion as a tree that adds up."""
    state = asked_state(shelf, request)
    what = record(request.get("what"), "what")
    model, kind = state.robot.model, text(what.get("kind"), "kind")
    motion, F_ext = (state.q, state.dq, state.ddq), wrenches(state)
    if kind == "tau":
        tree = unfold_torque(model, *motion, index(what.get("dof"), "dof"), F_ext)
    elif kind == "M":
        entries = (index(what.get(name), name) for name in ("row", "column"))
        tree = unfold_mass(model, state.q, *entries)
    elif kind == "vector":
        link, symbol = index(what.get("link"), "link"), text(what.get("symbol"), "symbol")
        tree = unfold_vector(model, *motion, link, symbol, F_ext)
    else:
        raise InputError(f"kind is {kind[:20]!r}; expected tau, M or vector.")
    return packed([tree], MAX_NODES)


def wrenches(state: State) -> Array | None:
    """F_ext of the push of a state; None without a push."""
    if state.push is None:
        return None
    return external_wrenches(state, quantity(state.robot, "link_poses")(state.q))


def index(given: object, name: str) -> int:
    """A whole number of a request, from 0."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise InputError(f"{name} is {given!r:.60}; expected a whole number from 0.")
    return given


def answer_equations(shelf: Shelf, request: Request) -> Answer:
    """M, C and g in closed form as markup, or a sentence with the reason if there are none."""
    return {"html": equations(shelf.robot(request))}


def asked_state(shelf: Shelf, request: Request) -> State:
    """The state that a request is about."""
    return read_state(request, shelf.robot(request))


API: dict[str, Callable[[Shelf, Request], Answer]] = {
    "robots": answer_robots,
    "open": answer_open,
    "readings": answer_readings,
    "recursion": answer_recursion,
    "unfold": answer_unfold,
    "equations": answer_equations,
    "close": answer_close,
    "random": answer_random,
    "simulate": answer_simulate,
    "motion": answer_motion,
    "record": answer_record,
    "save": answer_save,
}

LARGE = ("readings", "equations", "save")  # that large robots have, without a motion
ROBOT = ("robot", "gravity", "payload")
STATE = (*ROBOT, "q", "dq", "ddq", "push")
ENTRIES: dict[str, tuple[str, ...]] = {  # that a request may have, by its name
    "robots": (),
    "open": ("id", "name", "files", "main"),
    "readings": (*STATE, "frame", "kept"),
    "recursion": STATE,
    "unfold": (*STATE, "what"),
    "equations": ROBOT,
    "close": (*STATE, "kept"),
    "random": ROBOT,
    "simulate": (*STATE, "preset", "gains", "duration", "target", "stops"),
    "motion": (*ROBOT, "file"),
    "record": (*ROBOT, "t", "q"),
    "save": (*ROBOT, "kind", "motion"),
}


def answer(shelf: Shelf, name: str, request: Request) -> object:
    """The answer to a request by its name; InputError if it has an entry that is not read."""
    if name not in API:
        raise NameLookupError(f"there is no request {name[:40]!r}; expected {', '.join(API)}.")
    expected = ENTRIES[name]
    for entry in request:
        if entry not in expected:
            raise InputError(
                f"the request {name} has an entry {entry[:40]!r}; expected only "
                f"{', '.join(expected) or 'an empty record'}.{nearest(entry, expected)}"
            )
    if "robot" in request:
        model = shelf.find(text(request["robot"], "robot")).robot.model
        if is_large(model) and (name not in LARGE or request.get("motion") is not None):
            raise InputError(
                f"the robot has {model.n} degrees of freedom and {len(model.links)} links; the "
                f"workbench answers {name} for up to {MAX_FULL}. Use Python for larger robots."
            )
    return API[name](shelf, request)

"""The tab Joints: sliders for q, dq and ddq within the limits of the joints, in rad or degrees.

Every degree of freedom has one slider. The quaternion of a spherical or free joint is set by its
roll, pitch and yaw.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import degrees as to_degrees
from math import isfinite, pi

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import steady_number
from kinetree.description.joints import FREE, PRISMATIC, SPHERICAL
from kinetree.model import Model
from kinetree.spatial.so3 import quaternion, quaternion_rotation, rpy
from kinetree.views.rest import handles
from kinetree.views.workbench.bench import Bench, Event, in_turn, update, user_action
from kinetree.views.workbench.closing import closed_state, closure_reading, random_state
from kinetree.views.workbench.state import State, at_rest
from kinetree.write.urdf import roll_pitch_yaw

HOME, RANDOM, STILL = "home", "random", "still"
SAME = 1e-9  # rad or m: angles of a quaternion come back with rounding errors
STEPS = 2000  # steps of a slider from end to end
PITCH = 1  # index in roll, pitch, yaw
FASTEST = {True: 4.0, False: 2.0}  # rates of joints without a limit, rad/s and m/s
HARDEST = {True: 10.0, False: 5.0}  # accelerations, rad/s^2 and m/s^2

Read = Callable[[State], Array]
Write = Callable[[State, Array], State]


@dataclass(frozen=True)
class Slider:
    """A slider: its label, its range in rad or m (per s, per s^2), and whether it is an angle."""

    name: str
    low: float
    high: float
    angle: bool


def add_joints(bench: Bench) -> None:
    """Add the buttons and the three sets of sliders."""
    gui, model = bench.server.gui, bench.state.robot.model
    buttons = gui.add_button_group("Set", (HOME, RANDOM, STILL))
    in_turn(buttons.on_click, lambda button: press(bench, button))
    if model.constraints is not None:
        closure = gui.add_html("")

        def refresh(state: State) -> None:
            closure.content = closure_reading(state)

        bench.refreshers.append(refresh)
    tabs = gui.add_tab_group()
    unit = "deg" if bench.state.degrees else "rad"
    q = position_sliders(model, bench.scene.extent)
    sets: tuple[tuple[str, list[Slider], Read, Write], ...] = (
        (f"q, {unit}", q, read_positions, write_positions),
        (f"dq, {unit}/s", rate_sliders(model), lambda x: x.dq, lambda x, dq: x.replace(dq=dq)),
        (
            f"ddq, {unit}/s²",
            acceleration_sliders(model),
            lambda x: x.ddq,
            lambda x, ddq: x.replace(ddq=ddq),
        ),
    )
    for name, (label, sliders, read, write) in zip(("q", "dq", "ddq"), sets, strict=True):
        with tabs.add_tab(label):
            add_sliders(bench, sliders, read, write, name)


def press(bench: Bench, button: str) -> None:
    """Move home, move to a random position within the limits, or stop all motion."""

    def pressed(state: State) -> State:
        if button == RANDOM:
            return random_state(state)
        zero = np.zeros(state.robot.n)
        q = at_rest(state.robot).q if button == HOME else state.q
        return state.replace(q=q, dq=zero, ddq=zero)

    update(bench, pressed)


def add_sliders(
    bench: Bench, sliders: list[Slider], read: Read, write: Write, quantity: str = "q"
) -> None:
    """Add one slider per degree of freedom, which follows the state and changes it.

    quantity: "q", "dq" or "ddq"; with constraints, the other entries follow.
    """
    factors = [to_degrees(1) if s.angle and bench.state.degrees else 1.0 for s in sliders]
    robot = bench.state.robot

    def moved(k: int) -> Callable[[Event], None]:
        def with_value(state: State) -> State:
            # the value is read now and not when the callback was queued: callbacks run in threads,
            # and the later of two is not always the last to run
            asked = float(nodes[k].value) / factors[k]
            if state.robot is not robot or not isfinite(asked):  # another robot was opened
                return state
            value = min(max(asked, sliders[k].low), sliders[k].high)
            known[k] = value if value == asked else np.nan
            values = np.array(read(state), float)
            values[k] = value
            return closed_state(write(state, values), (quantity, k))

        return user_action(lambda _: update(bench, with_value))

    start = read(bench.state)
    # the value of each slider as far as the workbench knows: a user may have moved the slider on
    # since, and a state from before that must not pull it back
    known = np.array(start, float)
    nodes = []
    for k, (slider, factor) in enumerate(zip(sliders, factors, strict=True)):
        low, high = slider.low * factor, slider.high * factor
        value = min(max(float(start[k]) * factor, low), high)
        marks = tuple((end, steady_number(end, 3)) for end in (low, high))
        size = step(low, high)
        node = bench.server.gui.add_slider(slider.name, low, high, size, value, marks=marks)
        node.precision = decimals(size)  # more decimals do not fit into the box beside the slider
        node.on_update(moved(k))
        nodes.append(node)

    def follow(state: State) -> None:
        values = read(state)
        with bench.changing:
            if state is not bench.state:  # a newer state is shown next
                return
            for k in np.flatnonzero(~(np.abs(values - known) < SAME)):
                known[k] = values[k]
                slider = sliders[k]
                nodes[k].value = float(min(max(values[k], slider.low), slider.high) * factors[k])

    bench.refreshers.append(follow)


def step(low: float, high: float) -> float:
    """A round step, 1, 2 or 5 times a power of ten, of about the range over STEPS."""
    rough = max(high - low, 1e-9) / STEPS
    place = 10.0 ** np.floor(np.log10(rough))
    return float(next(k * place for k in (1, 2, 5, 10) if k * place >= rough * 0.999))


def decimals(size: float) -> int:
    """Number of decimals of a step."""
    return max(0, -int(np.floor(np.log10(size) + 1e-9)))


def read_positions(state: State) -> Array:
    """Slider values of q."""
    return slider_values(state.robot.model, state.q)


def write_positions(state: State, values: Array) -> State:
    """The state at the position given by slider values."""
    return state.replace(q=positions(state.robot.model, values))


def position_sliders(model: Model, extent: float) -> list[Slider]:
    """One slider per degree of freedom; pitch is limited to the range that it is read back in."""
    sliders: list[Slider] = []
    for handle in handles(model, max(extent, 0.1)):
        reach = pi / 2 if handle.turn == PITCH else np.inf
        low, high = max(handle.low, -reach), min(handle.high, reach)
        sliders.append(Slider(handle.label, low, high, handle.unit == "rad"))
    return sliders


def rate_sliders(model: Model) -> list[Slider]:
    """Sliders of dq, within the joints' speed limits."""
    return _symmetric(model, FASTEST, limited=True)


def acceleration_sliders(model: Model) -> list[Slider]:
    """Sliders of ddq."""
    return _symmetric(model, HARDEST, limited=False)


def _symmetric(model: Model, default: dict[bool, float], limited: bool) -> list[Slider]:
    sliders: list[Slider] = []
    names = iter(model.dof_names)
    for joint in (x for x in model.joints if x.follows is None):
        for _ in joint.dofs:
            name = next(names)
            part = name.rpartition(".")[2][:1]
            angle = joint.type != PRISMATIC if joint.screw is not None else part == "w"
            limit = joint.limits.velocity
            most = limit if limited and isfinite(limit) and limit > 0 else default[angle]
            sliders.append(Slider(name, -most, most, angle))
    return sliders


def positions(model: Model, values: Array) -> Array:
    """q, (nq,), of slider values, (n,)."""
    q: list[float] = []
    k = 0
    for joint in (x for x in model.joints if x.follows is None):
        own = values[k : k + len(joint.dofs)]
        k += len(joint.dofs)
        if joint.type in (SPHERICAL, FREE):
            q += [*quaternion(np.asarray(rpy(*own[:3]), float)), *own[3:]]
        else:
            q += [*own]
    return np.array(q, float)


def slider_values(model: Model, q: Array) -> Array:
    """Slider values, (n,), of q, (nq,)."""
    values: list[float] = []
    for joint in (x for x in model.joints if x.follows is None):
        own = q[list(joint.coords)]
        if joint.type in (SPHERICAL, FREE):
            R = np.asarray(quaternion_rotation(own[:4]), float)
            values += [*roll_pitch_yaw(R), *own[4:]]
        else:
            values += [*own]
    return np.array(values, float)

"""Presets: the simulations that make sense for a robot, and the laws that they run with.

The gains kp, 1/s^2, and kd, 1/s, are the same for all joints: tau = D (kp e + kd de) + g, where D
is the diagonal of M at the start. Each joint alone would then swing at sqrt(kp) rad/s. On a free
base D is 1 over the diagonal of M^-1, the inertia of a joint while all others are free.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree import controllers
from kinetree.constraints import mobility, project
from kinetree.controllers.terms import unactuated
from kinetree.core.arrays import Array
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.joints import FREE, SCREW_TYPES
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.robot import Robot
from kinetree.scalars import Scalar, cos, sin
from kinetree.views.loops import closures
from kinetree.views.workbench.state import State

HOLD, FOLLOW, FLOAT, RELEASE = "hold", "follow", "float", "release"
SWINGING = ("pendulum", "pole", "acrobot")  # in names of robots that are made to swing freely
# bounds of a gentle motion: shares of the way to a limit and of the speed limit, and its largest
# amplitude, in rad for a hinge and in extents of the robot for a slide
LIMIT_SHARE, SPEED_SHARE = 0.35, 0.4
LARGEST_ANGLE, LARGEST_SLIDE = 0.5, 0.15
MAX_HALVINGS = 6  # of an amplitude that the constraints do not allow
Motion = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Preset:
    """A kind of simulation: its name, words for the page, gains with ranges, duration in s."""

    name: str
    title: str
    about: str
    duration: float
    gains: dict[str, dict[str, float]] | None = None


def _gains(kp: float, kd: float) -> dict[str, dict[str, float]]:
    damping = {"kd": {"value": kd, "low": 0.0, "high": 5 * max(kd, 4.0)}}
    return ({"kp": {"value": kp, "low": 0.0, "high": 6 * kp}} if kp else {}) | damping


COMPUTED = _gains(100.0, 20.0)  # the defaults of kinetree.controllers.ComputedTorque
STANDING = _gains(10000.0, 200.0)

FIXED = (
    Preset(HOLD, "Hold", "Motors hold the position against gravity and the push: PD control with "
           "gravity compensation. kp and kd are multiplied by the diagonal of M.", 3.0,
           _gains(64.0, 16.0)),
    Preset(FOLLOW, "Follow a motion", "Motors follow a gentle sine inside the limits: computed "
           "torque.", 4.0, COMPUTED),
    Preset(FLOAT, "Float", "Motors carry the weight, so that the robot stays where it is pushed; "
           "kd slows it down.", 3.0, _gains(0.0, 1.0)),
    Preset(RELEASE, "Release", "No motors: the robot falls.", 3.0),
)  # fmt: skip
ON_GROUND = (
    Preset(HOLD, "Stand", "Motors hold the joints by PD control, and the feet carry the robot.",
           2.0, STANDING),
    Preset(FOLLOW, "Move the joints", "Motors move the joints by a gentle sine with PD control, "
           "and the feet carry the robot.", 2.0, STANDING),
    Preset(RELEASE, "Release", "No motors: the robot falls to the ground.", 2.0),
)  # fmt: skip
FALLING = (Preset(RELEASE, "Release", "No motors and no contacts: the robot falls freely.", 0.5),)


def presets(robot: Robot) -> tuple[Preset, ...]:
    """The presets of a robot; with too few motors only those without control."""
    if not robot.n:
        return ()
    if free_base(robot.model):
        return FALLING if robot.model.contacts is None else ON_GROUND
    if robot.model.constraints is not None and not mobility(robot).sufficient:
        return FIXED[-1:]
    return FIXED


def default_preset(robot: Robot) -> str | None:
    """Name of the preset that is chosen at first; None for a robot that cannot move."""
    names = [preset.name for preset in presets(robot)]
    swings = any(word in robot.name.lower() for word in SWINGING)
    wanted = RELEASE if swings else FOLLOW if closures(robot.model) else HOLD
    return wanted if wanted in names else names[-1] if names else None


def find_preset(robot: Robot, name: str) -> Preset:
    """The preset of a robot by its name."""
    known = {preset.name: preset for preset in presets(robot)}
    if name not in known:
        raise NameLookupError(
            f"{robot.name!r} has no preset {name[:40]!r}; it has {', '.join(known)}."
        )
    return known[name]


def free_base(model: Model) -> bool:
    """Return True if the robot hangs on a free joint."""
    return any(joint.type == FREE and joint.follows is None for joint in model.joints)


# laws


@dataclass(frozen=True, eq=False)
class Law:
    """A preset with the numbers of a request: gains, s of the run, and the robot's size, m."""

    preset: Preset
    kp: float
    kd: float
    duration: float
    extent: float


def controller(law: Law, state: State) -> controllers.Controller | None:
    """The controller of a run that starts at a state; None without motors."""
    robot, name = state.robot, law.preset.name
    if name == RELEASE:
        return None
    M, floats = np.asarray(robot.mass_matrix(state.q), float), free_base(robot.model)
    scale = 1 / np.diag(np.linalg.pinv(M)) if floats else np.diag(M).copy()
    bare, gravity = unactuated(robot.model), not floats
    scale[bare] = 0.0
    if name == FLOAT:
        return controllers.GravityCompensation(kd=scale * law.kd)
    if name == HOLD:
        return controllers.PD(state.q, kp=scale * law.kp, kd=scale * law.kd, gravity=gravity)
    reference = swing(law, state)
    if bare and robot.model.constraints is None:
        return controllers.PD(reference, kp=scale * law.kp, kd=scale * law.kd, gravity=gravity)
    return controllers.ComputedTorque(reference, kp=law.kp, kd=law.kd)


def swing(law: Law, state: State) -> Callable[[Scalar], Motion]:
    """A gentle sine away from the state and back to it, within the limits of every joint."""
    robot = state.robot
    coords, dofs = moved(robot.model)
    w = 2 * np.pi / law.duration
    amplitude, rate = np.zeros(robot.nq), np.zeros(robot.n)
    amplitude[coords] = allowed(robot, state.q, amplitudes(law, state, coords, dofs, w), coords)
    rate[dofs] = amplitude[coords]
    start = np.array(state.q)

    def reference(t: Scalar) -> Motion:
        turn = cos(w * t)
        q = start + amplitude * ((1 - turn) / 2)
        return q, rate * (sin(w * t) * (w / 2)), rate * (turn * (w * w / 2))

    return reference


def moved(model: Model) -> tuple[list[int], list[int]]:
    """Entries of q and of dq of joints that a preset moves: those of one degree of freedom.

    Of a robot with constraints they are the independent ones, and the others follow.
    """
    joints = [x for x in model.joints if x.follows is None and x.type in SCREW_TYPES]
    if model.constraints is not None:
        joints = [x for x in joints if x.dofs[0] in model.constraints.independent]
    return [x.coords[0] for x in joints], [x.dofs[0] for x in joints]


def amplitudes(law: Law, state: State, coords: list[int], dofs: list[int], w: float) -> Array:
    """Signed amplitudes of the moved joints, towards the side with more room."""
    bounds, q = bounds_of(state.robot.model), state.q[coords]
    above, below = bounds.upper[dofs] - q, q - bounds.lower[dofs]
    widest = np.where(bounds.sliding[dofs], LARGEST_SLIDE * law.extent, LARGEST_ANGLE)
    calm = SPEED_SHARE * bounds.velocity[dofs] * 2 / w  # the largest rate is half the amplitude w
    size = np.minimum.reduce([widest, LIMIT_SHARE * np.maximum(above, below), calm])
    return np.where(above >= below, 1, -1) * np.maximum(size, 0.0)


def allowed(robot: Robot, q: Array, amplitude: Array, coords: list[int]) -> Array:
    """Amplitudes that the constraints allow: halved until all positions on the way close."""
    if robot.model.constraints is None:
        return amplitude
    names = [x.name for x in robot.model.joints if x.follows is None and x.coords[0] in coords]
    for _ in range(MAX_HALVINGS):
        try:
            near = np.array(q, float)
            for share in (0.25, 0.5, 0.75, 1.0):
                near[coords] = q[coords] + share * amplitude
                near = np.asarray(project(robot, near, keep=names), float)
            return amplitude
        except InputError:
            amplitude = amplitude / 2
    return 0 * amplitude

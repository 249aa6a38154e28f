"""Actuators of the model from their descriptions: joints by number, mimic joints resolved.

A joint that follows another stands at scale * q + offset of its leader, so an actuator on it acts
through the leader: scale becomes a part of the gear, and offset a part of the length.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kinetree.core.arrays import Array
from kinetree.errors import InputError, ModelError
from kinetree.files.description.actuators import Actuator, Coefficients, Range, checked_actuator
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model.joint import Joint, changed_by_name, joint_named
from kinetree.model.springs import Frames, PathPoint, described_points, path_points, renamed_points


@dataclass(frozen=True)
class JointActuator:
    """An actuator of length x = sum of gears[k] * q[coords[k]] + shift; see `Actuator`.

    dofs: the entries of dq and tau that belong to `coords`. points: of an actuator between points,
    which has no gears: x is the length of the path through them.
    """

    name: str
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    gears: tuple[float, ...]
    shift: float
    gain: Coefficients
    bias: Coefficients
    dynamics: str
    time_constant: float
    delay: float
    early: bool
    control_range: Range
    force_range: Range
    activation_range: Range
    points: tuple[PathPoint, ...] = ()

    @property
    def has_activation(self) -> bool:
        """Whether a state of the actuator acts, and not the control itself."""
        return self.dynamics != "none"


def actuator_kind(x: JointActuator) -> str:
    """The kind of an actuator in a word, from its law; "general" if it is not a usual one."""
    (g0, g1, g2), (b0, b1, b2) = x.gain, x.bias
    if g1 or b0:
        return "general"
    if x.dynamics == "integrator":
        return "integrated velocity" if (b1 == -g0 and not g2) else "general"
    if not (g2 or b1 or b2):
        return "motor"
    if not g2 and b1 == -g0:
        return "position"
    if not (g2 or b1) and b2 == -g0:
        return "velocity"
    return "damper" if not (g0 or b1 or b2) else "general"


def build_actuators(
    actuators: Mapping[str, Actuator], joints: Sequence[Joint], frames: Frames
) -> tuple[JointActuator, ...]:
    """Actuators by name, over the joints of a model; frames: its links and frames by name."""
    return tuple(_build(name, x, joints, frames) for name, x in actuators.items())


def changed_actuators(
    own: Sequence[JointActuator],
    changes: Mapping[str, Actuator | None],
    joints: Sequence[Joint],
    frames: Frames,
) -> tuple[JointActuator, ...]:
    """The actuators with some added or replaced by name; None removes one."""
    return changed_by_name(
        "actuator",
        own,
        changes,
        lambda name, actuator: _build(name, actuator, joints, frames),
        "such as {'servo': Actuator.position('knee', kp=100)}.",
    )


def _build(name: str, actuator: Actuator, joints: Sequence[Joint], frames: Frames) -> JointActuator:
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of an actuator is {name!r:.60}; expected a text.")
    record, owner = checked_actuator(actuator, name), f"actuator {name!r}"
    gears: dict[Joint, float] = {}  # of the joints that move by themselves
    shift = 0.0
    for key, gear in record.joints.items():
        joint = joint_named(key, joints, owner)
        if joint.type not in SCREW_TYPES:
            raise ModelError(
                f"actuator {name!r} acts on joint {key!r}, which is {joint.type}; expected joints "
                f"of one degree of freedom ({', '.join(SCREW_TYPES)})."
            )
        leader = joint
        if joint.follows is not None:
            leader, shift = (
                joint_named(joint.follows, joints, owner),
                shift + gear * float(joint.offset),
            )
            gear = gear * float(joint.scale)
        gears[leader] = gears.get(leader, 0.0) + gear
    return JointActuator(
        name=name,
        coords=tuple(joint.coords[0] for joint in gears),
        dofs=tuple(joint.dofs[0] for joint in gears),
        gears=tuple(gears.values()),
        shift=shift,
        gain=record.gain,
        bias=record.bias,
        dynamics=record.dynamics,
        time_constant=record.time_constant,
        delay=record.delay,
        early=record.early,
        control_range=record.control_range,
        force_range=record.force_range,
        activation_range=record.activation_range,
        points=()
        if record.points is None
        else path_points("actuator", name, record.points, frames),
    )


def describe_actuators(
    actuators: Iterable[JointActuator],
    coordinate_names: Sequence[str],
    link_names: Mapping[int, str],
) -> dict[str, Actuator]:
    """Records from which `build_actuators` makes the same actuators again.

    The shift of an actuator on a mimic joint becomes a part of its gain and bias.
    """
    records: dict[str, Actuator] = {}
    for x in actuators:
        (g0, g1, g2), (b0, b1, b2) = x.gain, x.bias
        records[x.name] = Actuator(
            {coordinate_names[k]: gear for k, gear in zip(x.coords, x.gears, strict=True)},
            (g0 + g1 * x.shift if x.shift else g0, g1, g2),
            (b0 + b1 * x.shift if x.shift else b0, b1, b2),
            dynamics=x.dynamics,
            time_constant=x.time_constant,
            delay=x.delay,
            early=x.early,
            control_range=x.control_range,
            force_range=x.force_range,
            activation_range=x.activation_range,
            points=described_points(x.points, link_names),
        )
    return records


def held_actuator(actuator: Actuator, held: Mapping[str, Array]) -> Actuator:
    """The actuator on the joints that still move, where some are held at given positions.

    The held joints' part of its length becomes a part of gain and bias. One whose joints are all
    held is as it was.
    """
    moving = {name: gear for name, gear in actuator.joints.items() if name not in held}
    if not moving or len(moving) == len(actuator.joints):
        return actuator
    shift = sum(gear * float(held[x][0]) for x, gear in actuator.joints.items() if x in held)
    (g0, g1, g2), (b0, b1, b2) = actuator.gain, actuator.bias
    gain, bias = (g0 + g1 * shift, g1, g2), (b0 + b1 * shift, b1, b2)
    return replace(actuator, joints=moving, gain=gain, bias=bias)


def renamed_actuator(actuator: Actuator, prefix: str) -> Actuator:
    """The actuator with a prefix before the names of its joints and links."""
    joints = {prefix + x: gear for x, gear in actuator.joints.items()}
    return replace(actuator, joints=joints, points=renamed_points(actuator.points, prefix))

"""Springs of the model from their descriptions: joints by number, mimic joints resolved, checks.

A spring has the energy k/2 (x - rest)^2 with x = sum of c_j q_j. The model has coefficients of
joints that move by themselves alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.core.arrays import ArrayLike, array, known_number, scalar
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description.actuators import Points
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Spring
from kinetree.model.joint import Joint, is_plain, joint_named
from kinetree.scalars import Scalar

HINTS = {
    "spring": " A spring between joints lists them: Spring(stiffness, joints={joint: coefficient})."
}
Over = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], tuple[Scalar, ...]]
Frames = Mapping[str, Any]  # of the model: a number of a link and T_if, the pose in it


@dataclass(frozen=True)
class PathPoint:
    """A point of a link, by name and number: at, (3,), in its frame."""

    name: str
    link: int
    at: tuple[Scalar, ...]


@dataclass(frozen=True)
class JointSpring:
    """A spring of the energy stiffness/2 (x - rest)^2, x = sum of arms[k] * q[coords[k]].

    play: width of the range about `rest` without force, beyond which x - rest counts from its end.
    joints, dofs: the joints and the entries of dq and tau that belong to `coords`. points: of a
    spring between points, which has no arms: x is the length of the path through them.
    """

    name: str
    stiffness: Scalar
    rest: Scalar
    damping: Scalar = 0
    play: Scalar = 0
    joints: tuple[str, ...] = ()
    coords: tuple[int, ...] = ()
    dofs: tuple[int, ...] = ()
    arms: tuple[Scalar, ...] = ()
    points: tuple[PathPoint, ...] = ()

    @property
    def record(self) -> Spring:
        """The spring as a user gives it, on joints that move by themselves."""
        single = self.joints == (self.name,) and is_plain(self.arms[0], 1)
        joints = None if single or self.points else dict(zip(self.joints, self.arms, strict=True))
        points = described_points(self.points)
        return Spring(self.stiffness, self.rest, joints, self.damping, points, self.play)


def build_spring(name: str, spring: Spring, joints: Sequence[Joint], frames: Frames) -> JointSpring:
    """The spring over the joints of a model; `Spring` has the meaning of its numbers.

    frames: links and frames by name.
    """
    if not isinstance(spring, Spring):
        raise InputError(f"spring {name!r} is {spring!r:.60}; expected a record Spring(...).")
    stiffness = checked_stiffness(spring.stiffness, name)
    rest = scalar(spring.rest, f"rest position of spring {name!r}")
    damping = checked_stiffness(spring.damping, name, "damping")
    play = checked_stiffness(spring.play, name, "play")
    if spring.points is not None:
        if spring.joints is not None:
            raise InputError(f"spring {name!r} has joints and points; expected one of them.")
        points = path_points("spring", name, spring.points, frames)
        return JointSpring(name, stiffness, rest, damping, play, points=points)
    ends = {name: 1} if spring.joints is None else spring.joints
    over, shift = joint_arms("spring", name, ends, joints)
    rest = rest if is_plain(shift, 0) else rest - shift
    return JointSpring(name, stiffness, rest, damping, play, *over)


def joint_arms(
    kind: str, name: str, coefficients: Mapping[str, Scalar], joints: Sequence[Joint]
) -> tuple[Over, Scalar]:
    """The length of a spring, actuator or motor over joints that move by themselves.

    Returns names of the joints, entries of q and of dq and coefficients; and the constant part.
    A joint that follows another stands at scale * q + offset of its leader: scale becomes a part
    of the coefficient of the leader, and offset a part of the constant.
    """
    arms: dict[Joint, Scalar] = {}
    shift: Scalar = 0
    for joint, coefficient in joint_coefficients(kind, name, coefficients, joints):
        leader = joint
        if joint.follows is not None:
            leader = next(x for x in joints if x.name == joint.follows)
            if not is_plain(joint.offset, 0):
                shift = shift + coefficient * joint.offset
        arm = coefficient if is_plain(joint.scale, 1) else coefficient * joint.scale
        arms[leader] = arms[leader] + arm if leader in arms else arm
    coords, dofs = (tuple(getattr(x, key)[0] for x in arms) for key in ("coords", "dofs"))
    return (tuple(x.name for x in arms), coords, dofs, tuple(arms.values())), shift


def path_points(kind: str, name: str, pairs: Points, frames: Frames) -> tuple[PathPoint, ...]:
    """The points of a spring or actuator, checked, in the frames of their links."""
    wanted = "[(link or frame, position (3,) in m), ...], two or more"
    if isinstance(pairs, str) or not isinstance(pairs, Sequence) or len(pairs) < 2:
        raise InputError(f"points of {kind} {name!r} are {pairs!r:.60}; expected {wanted}.")
    points: list[PathPoint] = []
    for pair in pairs:
        if not (isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], str)):
            raise InputError(f"{kind} {name!r} has the point {pair!r:.60}; expected {wanted}.")
        frame = frames.get(pair[0])
        if frame is None:
            raise NameLookupError(
                f"{kind} {name!r} passes {pair[0]!r}, which is no link or frame; expected one of "
                f"{', '.join(frames)}."
            )
        at = array(pair[1], (3,), f"point of {kind} {name!r} on {pair[0]!r}")
        moved = frame.T_if[:3, :3] @ at + frame.T_if[:3, 3]
        link = next(key for key, x in frames.items() if x.link == frame.link)
        points.append(PathPoint(link, frame.link, tuple(moved.tolist())))
        if len(points) > 1 and points[-1] == points[-2]:
            raise InputError(
                f"{kind} {name!r} passes the same point of {pair[0]!r} twice in a row; expected "
                "points that are apart."
            )
    if len({point.link for point in points}) == 1:
        raise InputError(
            f"all points of {kind} {name!r} belong to one link, so that no joint changes its "
            "length; expected points of two links or more."
        )
    return tuple(points)


def checked_stiffness(value: Scalar, name: str, kind: str = "stiffness") -> Scalar:
    """The stiffness, damping or play of a spring; raise InputError if it is negative."""
    x = scalar(value, f"{kind} of spring {name!r}")
    number = known_number(x)
    if number is not None and number < 0:
        raise InputError(
            f"{kind} of spring {name!r} is {x}; expected >= 0 (a spring pulls back to its rest "
            "position)."
        )
    return x


def joint_coefficients(
    kind: str, name: str, coefficients: Mapping[str, Scalar], joints: Sequence[Joint]
) -> list[tuple[Joint, Scalar]]:
    """The joints of a spring or motor with their coefficients, checked."""
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise InputError(
            f"joints of {kind} {name!r} are {coefficients!r:.60}; expected {{joint: coefficient}}, "
            "such as {'hip': 1, 'knee': -1}."
        )
    ends: list[tuple[Joint, Scalar]] = []
    for key, coefficient in coefficients.items():
        joint = joint_named(key, joints, f"{kind} {name!r}", HINTS.get(kind, ""))
        if joint.type not in SCREW_TYPES:
            raise ModelError(
                f"{kind} {name!r} acts on joint {key!r}, which is {joint.type}; expected joints of "
                f"one degree of freedom ({', '.join(SCREW_TYPES)}). Apply the force of such a "
                f"{kind} as a control law, or replace the joint by several of one degree of "
                "freedom."
            )
        value = scalar(coefficient, f"coefficient of joint {key!r} in {kind} {name!r}")
        if is_plain(value, 0):
            raise InputError(
                f"coefficient of joint {key!r} in {kind} {name!r} is 0; expected another number, "
                "or leave the joint out."
            )
        ends.append((joint, value))
    return ends


def described_points(points: Sequence[PathPoint]) -> list[tuple[str, ArrayLike]] | None:
    """Points as a user gives them; None if there are none."""
    return [(point.name, point.at) for point in points] or None


def spring_units(spring: JointSpring, joints: Sequence[Joint]) -> tuple[str, str, str]:
    """Units of stiffness, of stiffness times rest position, and of the rest position.

    Coefficients of a spring between joints count as plain numbers if all joints turn or all slide;
    the sum over joints of both kinds has no unit of its own.
    """
    if spring.points:
        return "N/m", "N", "m"
    sliding = {x.type == PRISMATIC for x in joints if set(x.coords) & set(spring.coords)}
    if len(sliding) > 1:
        return "J", "J", "1"
    return ("N/m", "N", "m") if True in sliding else ("N m/rad", "N m", "rad")

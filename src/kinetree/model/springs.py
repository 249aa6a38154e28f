"""Springs of the model from their descriptions: joints by number, mimic joints resolved, checks.

A spring has the energy k/2 (x - rest)^2 with x = sum of c_j q_j. A joint that follows another
stands at scale * q + offset of its leader, so a spring on it acts through the leader: scale becomes
a part of the coefficient, and offset a part of the rest position. The model has coefficients of
entries of q alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.core.arrays import ArrayLike, array, known_number, scalar
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description.actuators import Points
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Spring
from kinetree.model.joint import Joint, changed_by_name, is_plain, joint_named
from kinetree.scalars import Scalar

HINTS = {
    "spring": " A spring between joints lists them: Spring(stiffness, joints={joint: coefficient})."
}
Frames = Mapping[str, Any]  # of the model: a number of a link and T_if, the pose in it


@dataclass(frozen=True)
class PathPoint:
    """A point of a link, by number: at, (3,), in its frame."""

    link: int
    at: tuple[Scalar, ...]


@dataclass(frozen=True)
class JointSpring:
    """A spring of the energy stiffness/2 (x - rest)^2, x = sum of arms[k] * q[coords[k]].

    play: width of the range about `rest` without force, beyond which x - rest counts from its end.
    dofs: the entries of dq and tau that belong to `coords`. points: of a spring between points,
    which has no arms: x is the length of the path through them.
    """

    name: str
    stiffness: Scalar
    rest: Scalar
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    arms: tuple[Scalar, ...]
    damping: Scalar = 0
    points: tuple[PathPoint, ...] = ()
    play: Scalar = 0


def build_springs(
    springs: Mapping[str, Spring], joints: Sequence[Joint], frames: Frames
) -> tuple[JointSpring, ...]:
    """Springs by name, over the joints of a model; `Spring` has the meaning of their numbers.

    frames: links and frames by name.
    """
    return tuple(_build(name, spring, joints, frames) for name, spring in springs.items())


def changed_springs(
    own: Sequence[JointSpring],
    changes: Mapping[str, Spring | None],
    joints: Sequence[Joint],
    frames: Frames,
) -> tuple[JointSpring, ...]:
    """The springs with some added or replaced by name; None removes one."""
    return changed_by_name(
        "spring",
        own,
        changes,
        lambda name, spring: _build(name, spring, joints, frames),
        "{name: Spring(...)}: the name of a joint for the spring of that joint, or a new name for "
        "a spring between joints.",
    )


def _build(name: str, spring: Spring, joints: Sequence[Joint], frames: Frames) -> JointSpring:
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
        return JointSpring(name, stiffness, rest, (), (), (), damping, points, play)
    arms: dict[Joint, Scalar] = {}  # of the joints that move by themselves
    ends = {name: 1} if spring.joints is None else spring.joints
    for joint, coefficient in joint_coefficients("spring", name, ends, joints):
        leader = leader_of(joint, joints)
        arm = coefficient if is_plain(joint.scale, 1) else coefficient * joint.scale
        arms[leader] = arms[leader] + arm if leader in arms else arm
        if joint.follows is not None and not is_plain(joint.offset, 0):
            rest = rest - coefficient * joint.offset
    return JointSpring(
        name,
        stiffness,
        rest,
        coords=tuple(joint.coords[0] for joint in arms),
        dofs=tuple(joint.dofs[0] for joint in arms),
        arms=tuple(arms.values()),
        damping=damping,
        play=play,
    )


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
        points.append(PathPoint(frame.link, tuple(moved.tolist())))
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


def leader_of(joint: Joint, joints: Sequence[Joint]) -> Joint:
    """The joint that a mimic joint follows; of others, the joint itself."""
    return joint if joint.follows is None else next(x for x in joints if x.name == joint.follows)


def describe_springs(
    springs: Iterable[JointSpring],
    coordinate_names: Sequence[str],
    link_names: Mapping[int, str],
) -> dict[str, Spring]:
    """Records from which `build_springs` makes the same springs again."""
    records: dict[str, Spring] = {}
    for x in springs:
        if x.points:
            points = described_points(x.points, link_names)
            records[x.name] = Spring(x.stiffness, x.rest, None, x.damping, points, x.play)
            continue
        joints = {coordinate_names[k]: arm for k, arm in zip(x.coords, x.arms, strict=True)}
        single = list(joints) == [x.name] and is_plain(x.arms[0], 1)
        ends = None if single else joints
        records[x.name] = Spring(x.stiffness, x.rest, ends, x.damping, play=x.play)
    return records


def described_points(
    points: Sequence[PathPoint], link_names: Mapping[int, str]
) -> list[tuple[str, ArrayLike]] | None:
    """Points as a user gives them; None if there are none."""
    return [(link_names[point.link], point.at) for point in points] or None


def renamed_points(points: Points | None, prefix: str) -> Points | None:
    """The points with a prefix before the names of their links."""
    return None if points is None else [(prefix + link, at) for link, at in points]


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

"""Springs of the model from their descriptions: joints by number, mimic joints resolved, checks.

A spring has the energy k/2 (x - rest)^2 with x = sum of c_j q_j. A joint that follows another
stands at scale * q + offset of its leader, so a spring on it acts through the leader: scale becomes
a part of the coefficient, and offset a part of the rest position. The model has coefficients of
entries of q alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kinetree.base.arrays import known_number, scalar
from kinetree.errors import InputError, ModelError
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Spring
from kinetree.model.joint import Joint, changed_by_name, is_plain, joint_named
from kinetree.scalars import Scalar


@dataclass(frozen=True)
class JointSpring:
    """A spring of the energy stiffness/2 (x - rest)^2, x = sum of arms[k] * q[coords[k]].

    dofs: the entries of dq and tau that belong to `coords`.
    """

    name: str
    stiffness: Scalar
    rest: Scalar
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    arms: tuple[Scalar, ...]


def build_springs(
    springs: Mapping[str, Spring], joints: Sequence[Joint]
) -> tuple[JointSpring, ...]:
    """Springs by name, over the joints of a model; `Spring` has the meaning of their numbers."""
    return tuple(_build(name, spring, joints) for name, spring in springs.items())


def changed_springs(
    own: Sequence[JointSpring], changes: Mapping[str, Spring | None], joints: Sequence[Joint]
) -> tuple[JointSpring, ...]:
    """The springs with some added or replaced by name; None removes one."""
    return changed_by_name(
        "spring",
        own,
        changes,
        lambda name, spring: _build(name, spring, joints),
        "{name: Spring(...)}: the name of a joint for the spring of that joint, or a new name for "
        "a spring between joints.",
    )


def _build(name: str, spring: Spring, joints: Sequence[Joint]) -> JointSpring:
    if not isinstance(spring, Spring):
        raise InputError(f"spring {name!r} is {spring!r:.60}; expected a record Spring(...).")
    stiffness = checked_stiffness(spring.stiffness, name)
    rest = scalar(spring.rest, f"rest position of spring {name!r}")
    arms: dict[Joint, Scalar] = {}  # of the joints that move by themselves
    for joint, coefficient in _ends(name, spring, joints):
        leader = joint if joint.follows is None else _named(joint.follows, name, joints)
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
    )


def checked_stiffness(value: Scalar, name: str) -> Scalar:
    """The stiffness of a spring; raise InputError if it is negative."""
    stiffness = scalar(value, f"stiffness of spring {name!r}")
    number = known_number(stiffness)
    if number is not None and number < 0:
        raise InputError(
            f"stiffness of spring {name!r} is {stiffness}; expected >= 0 (a spring pulls back to "
            "its rest position)."
        )
    return stiffness


def _ends(name: str, spring: Spring, joints: Sequence[Joint]) -> list[tuple[Joint, Scalar]]:
    """The joints of a spring with their coefficients, checked."""
    coefficients = {name: 1} if spring.joints is None else spring.joints
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise InputError(
            f"joints of spring {name!r} are {coefficients!r:.60}; expected {{joint: coefficient}}, "
            "such as {'hip': 1, 'knee': -1}."
        )
    ends: list[tuple[Joint, Scalar]] = []
    for key, coefficient in coefficients.items():
        joint = _named(key, name, joints)
        if joint.type not in SCREW_TYPES:
            raise ModelError(
                f"spring {name!r} acts on joint {key!r}, which is {joint.type}; expected joints of "
                f"one degree of freedom ({', '.join(SCREW_TYPES)}). Apply the force of such a "
                "spring as a control law, or replace the joint by several of one degree of freedom."
            )
        value = scalar(coefficient, f"coefficient of joint {key!r} in spring {name!r}")
        if is_plain(value, 0):
            raise InputError(
                f"coefficient of joint {key!r} in spring {name!r} is 0; expected another number, "
                "or leave the joint out."
            )
        ends.append((joint, value))
    return ends


def _named(key: str, spring: str, joints: Sequence[Joint]) -> Joint:
    hint = " A spring between joints lists them: Spring(stiffness, joints={joint: coefficient})."
    return joint_named(key, joints, f"spring {spring!r}", hint)


def describe_springs(
    springs: Iterable[JointSpring], coordinate_names: Sequence[str]
) -> dict[str, Spring]:
    """Records from which `build_springs` makes the same springs again."""
    records: dict[str, Spring] = {}
    for x in springs:
        joints = {coordinate_names[k]: arm for k, arm in zip(x.coords, x.arms, strict=True)}
        single = list(joints) == [x.name] and is_plain(x.arms[0], 1)
        records[x.name] = Spring(x.stiffness, x.rest, None if single else joints)
    return records


def spring_units(spring: JointSpring, joints: Sequence[Joint]) -> tuple[str, str, str]:
    """Units of stiffness, of stiffness times rest position, and of the rest position.

    Coefficients of a spring between joints count as plain numbers if all joints turn or all slide;
    the sum over joints of both kinds has no unit of its own.
    """
    sliding = {x.type == PRISMATIC for x in joints if set(x.coords) & set(spring.coords)}
    if len(sliding) > 1:
        return "J", "J", "1"
    return ("N/m", "N", "m") if True in sliding else ("N m/rad", "N m", "rad")

"""What every table of joints may carry besides its geometry, one entry a joint."""

from collections.abc import Sequence
from typing import Any, TypedDict

from kinetree.base.arrays import array
from kinetree.base.tables import counted
from kinetree.description.records import Body, Friction, Limits, LinkDescription, Rotor
from kinetree.errors import InputError, ShapeError


class JointOptions(TypedDict, total=False):
    """Names and drive data of the joints, and the fields of the robot itself.

    Each of friction, armature, rotors and limits is one value for all joints or a list with one
    entry a joint (None: nothing there).
    """

    name: str
    gravity: Any
    joint_names: Sequence[str] | None
    link_names: Sequence[str] | None
    base_name: str
    friction: Friction | Sequence[Friction | None] | None
    armature: Any
    rotors: Rotor | Sequence[Rotor | None] | None
    limits: Limits | Sequence[Limits | None] | None


def check_options(options: JointOptions) -> None:
    """No misspelt option is passed over."""
    for option in options:
        if option not in JointOptions.__annotations__:
            known = ", ".join(JointOptions.__annotations__)
            raise InputError(f"there is no option {option!r}; expected one of {known}.")


def per_joint(value: Any, n: int, default: Any, name: str) -> list[Any]:
    """One entry a joint, from one value for all, a list, or None."""
    if not isinstance(value, list | tuple) and getattr(value, "ndim", 0) == 0:
        return [default if value is None else value] * n
    if len(value) != n:
        raise ShapeError(
            f"{name} has {counted(len(value), 'entry')}; expected {n}, one for each joint."
        )
    return [default if entry is None else entry for entry in value]


def joint_options(n: int, options: JointOptions) -> list[dict[str, Any]]:
    """Keyword arguments of each JointDescription: name, friction, armature, rotor, limits."""
    check_options(options)
    names = per_joint(options.get("joint_names"), n, None, "joint_names")
    columns = {
        "friction": per_joint(options.get("friction"), n, Friction(), "friction"),
        "armature": per_joint(options.get("armature"), n, 0, "armature"),
        "rotor": per_joint(options.get("rotors"), n, None, "rotors"),
        "limits": per_joint(options.get("limits"), n, Limits(), "limits"),
    }
    return [
        {"name": names[i] or f"joint{i + 1}"} | {key: column[i] for key, column in columns.items()}
        for i in range(n)
    ]


def link_names(n: int, options: JointOptions) -> list[str]:
    """Names of the base and of the links that move."""
    names = per_joint(options.get("link_names"), n, None, "link_names")
    return [options.get("base_name", "base")] + [
        name or f"link{i + 1}" for i, name in enumerate(names)
    ]


def link_bodies(m: Any, com: Any, I_com: Any, names: Sequence[str]) -> tuple[LinkDescription, ...]:
    """The base and the links, from masses (n,), centres (n, 3), inertias (n, 3, 3)."""
    n = len(names) - 1
    m, com = array(m, (n,), "m"), array(com, (n, 3), "com")
    I_com = array(I_com, (n, 3, 3), "I_com")
    links = [LinkDescription(names[0])]
    links += [LinkDescription(names[i + 1], (Body(m[i], com[i], I_com[i]),)) for i in range(n)]
    return tuple(links)

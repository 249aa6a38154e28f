"""Names of what a compiled MJCF model contains; every link, joint and frame has one of its own."""

from typing import Any

WORLD = "world"


def body_names(model: Any) -> list[str]:
    """Names of all bodies; a body without name is "#<id>", the world is "world"."""
    return [WORLD, *_named([model.body(b).name for b in range(1, model.nbody)], "#", 1)]


def joint_names(model: Any) -> list[str]:
    """Names of all joints; a joint without name is "#j<id>"."""
    return _named([model.joint(j).name for j in range(model.njnt)], "#j", 0)


def _named(names: list[str], prefix: str, first: int) -> list[str]:
    """Names with numbers where there were none, which a given name may have taken already."""
    taken = {name for name in names if name}
    return [name or unused(f"{prefix}{k}", taken) for k, name in enumerate(names, first)]


def unused(name: str, taken: set[str]) -> str:
    """`name`, or `name` with the first number that makes it new; it is taken from then on."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}~{k}", k + 1
    taken.add(candidate)
    return candidate


def listing(names: list[str], most: int = 6) -> str:
    """Names for a message: a, b, c and 9 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"

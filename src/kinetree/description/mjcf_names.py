"""Names of what a compiled MJCF model contains; every link, joint and frame has one of its own."""

from typing import Any

WORLD = "world"


def body_names(model: Any) -> list[str]:
    """Names of all bodies; a body without name is "#<id>", the world is "world"."""
    return [model.body(b).name or f"#{b}" if b else WORLD for b in range(model.nbody)]


def joint_names(model: Any) -> list[str]:
    """Names of all joints; a joint without name is "#j<id>"."""
    return [model.joint(j).name or f"#j{j}" for j in range(model.njnt)]


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

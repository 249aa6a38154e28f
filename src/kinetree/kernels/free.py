"""Free parameters: robot data that are arguments of a kernel instead of constants in it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.options import names
from kinetree.compiler.graph import Port
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.friction import with_coefficients

# name -> shape after the number of links or springs (or alone, for gravity) and letters of its
# dimensions
FREE: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "mass": ((), ("l",)),
    "com": ((3,), ("l", "3")),
    "inertia": ((3, 3), ("l", "3", "3")),
    "gravity": ((3,), ("3",)),
    "friction": ((4,), ("l", "4")),
    "springs": ((2,), ("s", "2")),
}


def free_ports(model: Model, free: Sequence[str]) -> list[Port]:
    """Return the further arguments of a kernel."""
    ports: list[Port] = []
    for k, name in enumerate(names(free, "free")):
        if name in free[:k]:
            raise InputError(f"{name!r} is left free twice; name it once.")
        if name not in FREE:
            raise InputError(f"{name!r} cannot be left free; choose from {', '.join(FREE)}.")
        if name == "springs" and not model.springs:
            raise InputError(
                f"'springs' cannot be left free: {model.name!r} has no springs. Add some first, of "
                "any stiffness, with robot.with_springs({joint: kt.Spring(1)})."
            )
        shape, dims = FREE[name]
        count = len(model.springs if name == "springs" else model.links)
        ports.append(Port(name, shape if name == "gravity" else (count, *shape), dims))
    return ports


def with_free(model: Model, free: Sequence[str], values: Sequence[Array]) -> Model:
    """Return the model with its free data replaced by `values`, in the order of `free`."""
    for name, x in zip(free, values, strict=True):
        if name == "mass":
            model = model.replace(m=x)
        elif name == "com":
            model = model.replace(com=x)
        elif name == "inertia":
            model = model.replace(I_com=x)
        elif name == "gravity":
            model = model.replace(gravity=np.concatenate([np.zeros(3, int), x]))
        elif name == "springs":
            springs = [
                replace(spring, stiffness=k, rest=rest)
                for spring, (k, rest) in zip(model.springs, x, strict=True)
            ]
            model = model.replace(springs=tuple(springs))
        else:
            joints = [
                replace(
                    joint,
                    friction=with_coefficients(joint.friction, (f[0], f[1]), (f[2], f[3])),
                )
                for joint, f in zip(model.joints, x, strict=True)
            ]
            model = model.replace(joints=tuple(joints))
    return model


def free_values(model: Model, name: str) -> Array:
    """Return the model's own data for a free argument, in its shape."""
    if name == "friction":
        pairs = [(*joint.friction.viscous, *joint.friction.coulomb) for joint in model.joints]
        return np.array(pairs, float).reshape(-1, 4)
    if name == "springs":
        pairs = [(spring.stiffness, spring.rest) for spring in model.springs]
        return np.array(pairs, float).reshape(-1, 2)
    found = {
        "mass": model.m,
        "com": model.com,
        "inertia": model.I_com,
        "gravity": model.gravity[3:],
    }
    return np.asarray(found[name], float)

"""Free parameters: robot data that are arguments of a kernel instead of constants in it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import names
from kinetree.core.records import checked, named_numbers, numbers_in, unchecked, with_numbers
from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, KinetreeError
from kinetree.files.description.contacts import (
    above_zero,
    at_least_zero,
    share,
)
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Spring
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.friction import checked_friction, with_coefficients
from kinetree.spatial.inertia import check_physical

# name -> shape after the number of its owners (or alone, for gravity) and letters of its dimensions
FREE: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "mass": ((), ("l",)),
    "com": ((3,), ("l", "3")),
    "inertia": ((3, 3), ("l", "3", "3")),
    "gravity": ((3,), ("3",)),
    "friction": ((4,), ("l", "4")),
    "springs": ((2,), ("s", "2")),
    "contact_friction": ((), ("c",)),
    "restitution": ((), ("c",)),
    "ground": ((), ("g",)),
}
OF_CONTACTS = ("contact_friction", "restitution", "ground")


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
                "any stiffness, with robot.with_springs({joint: kt.joints.Spring(1)})."
            )
        if name in OF_CONTACTS:
            contacts_of_model(model, f"{name!r} as a free parameter")
        shape, dims = FREE[name]
        ports.append(
            Port(name, shape if name == "gravity" else (len(owners(model, name)), *shape), dims)
        )
    return ports


def owners(model: Model, name: str) -> Sequence[str]:
    """Links, springs or contacts that free data belong to; of gravity and ground, their numbers."""
    if name == "gravity":
        return ("x", "y", "z")
    if name == "springs":
        return [x.name for x in model.springs]
    if name not in OF_CONTACTS:
        return model.link_names
    contacts = contacts_of_model(model, name)
    if name == "ground":
        return [key for key, _ in named_numbers(contacts.ground)]
    return contacts.names


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
        elif name in OF_CONTACTS:
            contacts = contacts_of_model(model, name)
            if name == "ground":
                contacts = replace(contacts, ground=with_numbers(contacts.ground, x))
            else:
                field = "friction" if name == "contact_friction" else name
                pairs = zip(contacts.points, x, strict=True)
                points = tuple(unchecked(point, **{field: value}) for point, value in pairs)
                contacts = replace(contacts, points=points)
            model = model.replace(contacts=contacts)
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


def check_free(model: Model, name: str, values: Array) -> None:
    """Raise the error of the model's own rule for numbers that no robot has, (..., *shape).

    Numbers that the robot has already are accepted: it may be unphysical by choice.
    """
    robot_values = free_values(model, name)
    rows = values.reshape(-1, *robot_values.shape)
    normal = [k for k, x in enumerate(owners(model, name)) if "normal." in x]
    if name == "ground" and normal and not rows[:, normal].any(-1).all():
        raise InputError(
            "parameter ground has a plane whose normal is zero; expected a vector that points from "
            "the ground to the robot, such as (0, 0, 1)."
        )
    for row, i in np.argwhere(_suspect(model, name, rows)):
        value = rows[row, i].tolist()
        try:
            if value == robot_values[i].tolist():
                continue
            if name == "mass":
                check_physical(value, [0] * 3, np.zeros((3, 3)), f"link {model.link_names[i]!r}")
            elif name == "inertia":
                check_physical(0, [0] * 3, value, f"link {model.link_names[i]!r}")
            elif name == "springs":
                checked(Spring(value[0]), Spring, f"spring {model.springs[i].name!r}")
            elif name in OF_CONTACTS:
                rules = {"contact_friction": at_least_zero, "restitution": share}
                rules.get(name, above_zero)(value, f"entry {owners(model, name)[i]!r}")
            else:
                friction = Friction(tuple(value[:2]), tuple(value[2:]))
                checked_friction(friction, model.joints[i].name)
        except KinetreeError as problem:
            at = [int(k) for k in np.unravel_index(row, values.shape[: -robot_values.ndim])]
            raise type(problem)(f"parameter {name}{at or ''}: {problem}") from None


def _suspect(model: Model, name: str, rows: Array) -> Array:
    """Which entries of free data, (rows, owners), may break a rule."""
    if name == "mass":
        return rows < 0
    if name == "springs":
        return rows[..., 0] < 0
    if name == "friction":
        return np.asarray((rows < 0).any(-1))
    if name == "ground":
        lengths = [x.startswith("spacing") or ".size" in x for x in owners(model, name)]
        return (rows <= 0) & np.array(lengths)
    if name in OF_CONTACTS:
        return (rows < 0) | (rows > 1) if name == "restitution" else rows < 0
    if name != "inertia":
        return np.zeros((0, 0), bool)
    moments = np.linalg.eigvalsh(rows)
    lowest = np.minimum(moments[..., 0], moments[..., 0] + moments[..., 1] - moments[..., 2])
    skewness = abs(rows - rows.swapaxes(-1, -2)).max((-1, -2))
    slack = 4 * np.finfo(np.float32).eps * abs(rows).max((-1, -2))  # numbers may be float32's
    return (lowest < -slack) | (skewness > slack)


def free_values(model: Model, name: str) -> Array:
    """Return the model's own data for a free argument, in its shape."""
    if name == "friction":
        pairs = [(*joint.friction.viscous, *joint.friction.coulomb) for joint in model.joints]
        return np.array(pairs, float).reshape(-1, 4)
    if name == "springs":
        pairs = [(spring.stiffness, spring.rest) for spring in model.springs]
        return np.array(pairs, float).reshape(-1, 2)
    if name in OF_CONTACTS:
        contacts = contacts_of_model(model, name)
        values = {
            "contact_friction": contacts.frictions,
            "restitution": contacts.restitutions,
            "ground": numbers_in(contacts.ground),
        }
        return np.array(values[name], float)
    data = {
        "mass": model.m,
        "com": model.com,
        "inertia": model.I_com,
        "gravity": model.gravity[3:],
    }
    return np.asarray(data[name], float)

"""Free parameters: robot data that are arguments of a kernel instead of constants in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import names
from kinetree.core.records import named_numbers, numbers_in, unchecked, with_numbers
from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, ModelError
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.friction import with_coefficients


@dataclass(frozen=True)
class FreeData:
    """Robot data of one kind.

    dims: letters of its axes, that of its owners first. read: the data of a model, (owners,
    *shape). write: the model with other data. wrong: which entries break a rule, (states, owners),
    of a model and data (states, owners, *shape); None: there is no rule. expected: the rule.
    owners: their names. missing: what to do for a model without owners.
    """

    dims: str
    read: Callable[[Model], Any]
    write: Callable[[Model, Array], Model]
    wrong: Callable[[Model, Array], Array] | None = None
    expected: str = ""
    owners: Callable[[Model], Sequence[str]] = lambda model: model.link_names
    missing: str = ""


def free_ports(model: Model, free: Sequence[str]) -> list[Port]:
    """Return the further arguments of a kernel."""
    ports: list[Port] = []
    for k, name in enumerate(names(free, "free")):
        if name in free[:k]:
            raise InputError(f"{name!r} is left free twice; name it once.")
        if name not in FREE:
            raise InputError(f"{name!r} cannot be left free; choose from {', '.join(FREE)}.")
        data = FREE[name]
        if name in OF_CONTACTS:
            contacts_of_model(model, f"{name!r} as a free parameter")
        if data.missing and not data.owners(model):
            raise InputError(
                f"{name!r} cannot be left free: {model.name!r} has no {name}. {data.missing}"
            )
        ports.append(Port(name, free_values(model, name).shape, tuple(data.dims.split())))
    return ports


def owners(model: Model, name: str) -> Sequence[str]:
    """Links, springs or contacts that free data belong to; of gravity and ground, their numbers."""
    return FREE[name].owners(model)


def free_values(model: Model, name: str) -> Array:
    """Return the model's own data for a free argument, in its shape."""
    return np.asarray(FREE[name].read(model), float)


def with_free(model: Model, free: Sequence[str], values: Sequence[Array]) -> Model:
    """Return the model with its free data replaced by `values`, in the order of `free`."""
    for name, x in zip(free, values, strict=True):
        model = FREE[name].write(model, x)
    return model


def check_free(model: Model, name: str, values: Array) -> None:
    """Raise ModelError for numbers that no robot has, (..., *shape).

    Numbers that the robot has already are accepted: it may be unphysical by choice.
    """
    data, known = FREE[name], free_values(model, name)
    if data.wrong is None:
        return
    rows = values.reshape(-1, *known.shape)
    new = (rows != known).reshape(*rows.shape[:2], -1).any(-1)
    for row, i in np.argwhere(data.wrong(model, rows) & new):
        at = [int(k) for k in np.unravel_index(row, values.shape[: -known.ndim])]
        raise ModelError(
            f"parameter {name}{at or ''} of {data.owners(model)[i]!r} is {rows[row, i].tolist()}; "
            f"expected {data.expected}."
        )


def _negative(model: Model, rows: Array) -> Array:
    return np.asarray((rows < 0).reshape(*rows.shape[:2], -1).any(-1))


def _not_physical(model: Model, rows: Array) -> Array:
    moments = np.linalg.eigvalsh(rows)
    lowest = np.minimum(moments[..., 0], moments[..., 0] + moments[..., 1] - moments[..., 2])
    skewness = abs(rows - rows.swapaxes(-1, -2)).max((-1, -2))
    slack = 4 * np.finfo(np.float32).eps * abs(rows).max((-1, -2))  # numbers may be float32's
    return (lowest < -slack) | (skewness > slack)


def _with_gravity(model: Model, x: Array) -> Model:
    return model.replace(gravity=np.concatenate([np.zeros(3, int), x]))


def _friction(model: Model) -> Array:
    pairs = [(*joint.friction.viscous, *joint.friction.coulomb) for joint in model.joints]
    return np.array(pairs, float).reshape(-1, 4)


def _with_friction(model: Model, x: Array) -> Model:
    joints = [
        replace(joint, friction=with_coefficients(joint.friction, (f[0], f[1]), (f[2], f[3])))
        for joint, f in zip(model.joints, x, strict=True)
    ]
    return model.replace(joints=tuple(joints))


def _with_springs(model: Model, x: Array) -> Model:
    pairs = zip(model.springs, x, strict=True)
    springs = [replace(spring, stiffness=k, rest=rest) for spring, (k, rest) in pairs]
    return model.replace(springs=tuple(springs))


def _of_points(field: str, wrong: Callable[[Model, Array], Array], expected: str) -> FreeData:
    """Data of contact points, in a field of their records."""

    def with_points(model: Model, x: Array) -> Model:
        contacts = contacts_of_model(model, field)
        pairs = zip(contacts.points, x, strict=True)
        points = tuple(unchecked(point, **{field: value}) for point, value in pairs)
        return model.replace(contacts=replace(contacts, points=points))

    def of_points(model: Model) -> Any:
        return getattr(contacts_of_model(model, field), f"{field}s")

    def owners(model: Model) -> Sequence[str]:
        return contacts_of_model(model, field).names

    return FreeData("c", of_points, with_points, wrong, expected, owners)


def _ground(model: Model) -> Any:
    return contacts_of_model(model, "ground").ground


def _ground_names(model: Model) -> list[str]:
    return [key for key, _ in named_numbers(_ground(model))]


def _with_ground(model: Model, x: Array) -> Model:
    contacts = contacts_of_model(model, "ground")
    return model.replace(contacts=replace(contacts, ground=with_numbers(contacts.ground, x)))


def _bad_ground(model: Model, rows: Array) -> Array:
    """Lengths must be above zero; a normal must not vanish."""
    known = _ground_names(model)
    lengths = np.array([x.startswith("spacing") or ".size" in x for x in known])
    normal = np.array(["normal." in x for x in known])
    vanished = normal & ~rows[:, normal].any(-1, keepdims=True) if normal.any() else normal
    return ((rows <= 0) & lengths) | vanished


FREE: Mapping[str, FreeData] = {
    "mass": FreeData(
        "l", lambda m: m.m, lambda m, x: m.replace(m=x), _negative, "a mass of 0 or more, kg"
    ),
    "com": FreeData("l 3", lambda m: m.com, lambda m, x: m.replace(com=x)),
    "inertia": FreeData(
        "l 3 3",
        lambda m: m.I_com,
        lambda m, x: m.replace(I_com=x),
        _not_physical,
        "a symmetric matrix whose principal moments are not negative, none above the sum of the "
        "others, kg m^2",
    ),
    "gravity": FreeData(
        "3", lambda m: m.gravity[3:], _with_gravity, owners=lambda m: ("x", "y", "z")
    ),
    "friction": FreeData(
        "l 4", _friction, _with_friction, _negative, "coefficients of friction of 0 or more"
    ),
    "springs": FreeData(
        "s 2",
        lambda m: np.array([(x.stiffness, x.rest) for x in m.springs], float).reshape(-1, 2),
        _with_springs,
        lambda m, x: x[..., 0] < 0,
        "a stiffness of 0 or more, and the position at rest",
        lambda m: [x.name for x in m.springs],
        "Add some first, of any stiffness, with robot.with_springs({joint: kt.joints.Spring(1)}).",
    ),
    "contact_friction": _of_points("friction", _negative, "a coefficient of 0 or more"),
    "restitution": _of_points(
        "restitution", lambda m, x: (x < 0) | (x > 1), "a share between 0 and 1"
    ),
    "ground": FreeData(
        "g",
        lambda m: numbers_in(_ground(m)),
        _with_ground,
        _bad_ground,
        "lengths above 0 and a normal that is not zero, from the ground to the robot",
        _ground_names,
    ),
}
OF_CONTACTS = ("contact_friction", "restitution", "ground")

"""Free parameters: robot data that are arguments of a kernel instead of constants in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import names
from kinetree.core.records import checked, named_numbers, numbers_in, unchecked, with_numbers
from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, KinetreeError
from kinetree.files.description.contacts import above_zero, at_least_zero, share
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Spring
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.friction import checked_friction, with_coefficients
from kinetree.spatial.inertia import check_physical


@dataclass(frozen=True)
class FreeData:
    """Robot data of one kind.

    dims: letters of its axes, that of its owners first. read: the data of a model, (owners,
    *shape). write: the model with other data. suspect: which entries, (states, owners), may break a
    rule, of a model and data (states, owners, *shape). check: raises the model's own error for the
    data of an owner. owners: their names. missing: what to do for a model without owners.
    """

    dims: str
    read: Callable[[Model], Any]
    write: Callable[[Model, Array], Model]
    suspect: Callable[[Model, Array], Array]
    check: Callable[[Model, Any, int], object]
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
    """Raise the error of the model's own rule for numbers that no robot has, (..., *shape).

    Numbers that the robot has already are accepted: it may be unphysical by choice.
    """
    data, known = FREE[name], free_values(model, name)
    rows = values.reshape(-1, *known.shape)
    for row, i in np.argwhere(data.suspect(model, rows)):
        value = rows[row, i].tolist()
        if value == known[i].tolist():
            continue
        try:
            data.check(model, value, i)
        except KinetreeError as problem:
            at = [int(k) for k in np.unravel_index(row, values.shape[: -known.ndim])]
            raise type(problem)(f"parameter {name}{at or ''}: {problem}") from None


# Data of links


def _never(model: Model, rows: Array) -> Array:
    return np.zeros((0, 0), bool)


def _negative(model: Model, rows: Array) -> Array:
    return rows < 0


def _not_physical(model: Model, rows: Array) -> Array:
    moments = np.linalg.eigvalsh(rows)
    lowest = np.minimum(moments[..., 0], moments[..., 0] + moments[..., 1] - moments[..., 2])
    skewness = abs(rows - rows.swapaxes(-1, -2)).max((-1, -2))
    slack = 4 * np.finfo(np.float32).eps * abs(rows).max((-1, -2))  # numbers may be float32's
    return (lowest < -slack) | (skewness > slack)


def _check_mass(model: Model, value: Any, i: int) -> None:
    check_physical(value, [0] * 3, np.zeros((3, 3)), f"link {model.link_names[i]!r}")


def _check_inertia(model: Model, value: Any, i: int) -> None:
    check_physical(0, [0] * 3, value, f"link {model.link_names[i]!r}")


def _accept(model: Model, value: Any, i: int) -> None:
    pass


def _with_gravity(model: Model, x: Array) -> Model:
    return model.replace(gravity=np.concatenate([np.zeros(3, int), x]))


# Friction and springs


def _friction(model: Model) -> Array:
    pairs = [(*joint.friction.viscous, *joint.friction.coulomb) for joint in model.joints]
    return np.array(pairs, float).reshape(-1, 4)


def _with_friction(model: Model, x: Array) -> Model:
    joints = [
        replace(joint, friction=with_coefficients(joint.friction, (f[0], f[1]), (f[2], f[3])))
        for joint, f in zip(model.joints, x, strict=True)
    ]
    return model.replace(joints=tuple(joints))


def _check_friction(model: Model, value: Any, i: int) -> None:
    checked_friction(Friction(tuple(value[:2]), tuple(value[2:])), model.joints[i].name)


def _with_springs(model: Model, x: Array) -> Model:
    pairs = zip(model.springs, x, strict=True)
    springs = [replace(spring, stiffness=k, rest=rest) for spring, (k, rest) in pairs]
    return model.replace(springs=tuple(springs))


# Contacts and the ground


def _of_points(field: str, suspect: Callable[[Model, Array], Array], rule: Any) -> FreeData:
    """Data of contact points, in a field of their records."""

    def with_points(model: Model, x: Array) -> Model:
        contacts = contacts_of_model(model, field)
        pairs = zip(contacts.points, x, strict=True)
        points = tuple(unchecked(point, **{field: value}) for point, value in pairs)
        return model.replace(contacts=replace(contacts, points=points))

    def names_of(model: Model) -> Sequence[str]:
        return contacts_of_model(model, field).names

    return FreeData(
        "c",
        lambda model: getattr(contacts_of_model(model, field), f"{field}s"),
        with_points,
        suspect,
        lambda model, value, i: rule(value, f"entry {names_of(model)[i]!r}"),
        names_of,
    )


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
    normal = [k for k, x in enumerate(known) if "normal." in x]
    if normal and not rows[:, normal].any(-1).all():
        raise InputError(
            "parameter ground has a plane whose normal is zero; expected a vector that points from "
            "the ground to the robot, such as (0, 0, 1)."
        )
    return (rows <= 0) & np.array([x.startswith("spacing") or ".size" in x for x in known])


FREE: Mapping[str, FreeData] = {
    "mass": FreeData("l", lambda m: m.m, lambda m, x: m.replace(m=x), _negative, _check_mass),
    "com": FreeData("l 3", lambda m: m.com, lambda m, x: m.replace(com=x), _never, _accept),
    "inertia": FreeData(
        "l 3 3", lambda m: m.I_com, lambda m, x: m.replace(I_com=x), _not_physical, _check_inertia
    ),
    "gravity": FreeData(
        "3", lambda m: m.gravity[3:], _with_gravity, _never, _accept, lambda m: ("x", "y", "z")
    ),
    "friction": FreeData(
        "l 4", _friction, _with_friction, lambda m, x: np.asarray((x < 0).any(-1)), _check_friction
    ),
    "springs": FreeData(
        "s 2",
        lambda m: np.array([(x.stiffness, x.rest) for x in m.springs], float).reshape(-1, 2),
        _with_springs,
        lambda m, x: x[..., 0] < 0,
        lambda m, value, i: checked(Spring(value[0]), Spring, f"spring {m.springs[i].name!r}"),
        lambda m: [x.name for x in m.springs],
        "Add some first, of any stiffness, with robot.with_springs({joint: kt.joints.Spring(1)}).",
    ),
    "contact_friction": _of_points("friction", _negative, at_least_zero),
    "restitution": _of_points("restitution", lambda m, x: (x < 0) | (x > 1), share),
    "ground": FreeData(
        "g",
        lambda m: numbers_in(_ground(m)),
        _with_ground,
        _bad_ground,
        lambda m, value, i: above_zero(value, f"entry {_ground_names(m)[i]!r}"),
        _ground_names,
    ),
}
OF_CONTACTS = ("contact_friction", "restitution", "ground")

"""Contacts in explanations: what they and the stops do to joint forces; one contact force by cause.

A step of a simulation has a row for the normal and two for the tangents of each contact, and one
for each joint at a limit. Row r with the force lambda_r pushes the joints with J_r^T lambda_r.

The forces f of inverse dynamics with contacts follow from the generalised forces r that a motion
needs, and twice the r needs twice the f. So f = (df/dr) r (Euler), and each cause in
r = M ddq + c + g - J^T F_ext has the share (df/dr) r_cause. The derivatives are differences: each
cause is made larger and smaller by DIFFERENCE.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.contacts.inverse import NAME, GroundForces, contact_inverse_dynamics_at_state
from kinetree.dynamics.contacts.points import book_places, touches
from kinetree.errors import InputError
from kinetree.explain.node import Node, Quantity, leaf, summed, vector
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.edit import with_gravity

ROWS = ("normal", "tangent 1", "tangent 2")
DIFFERENCE = 1e-4  # of each cause; errors of f are below 1e-10 of its size
SMALLEST_SHARE = 1e-6  # of the size of the force, that is shown
CAUSES: dict[str, tuple[str, Callable[[dict[str, Any], float], dict[str, Any]]]] = {
    "gravity": ("g", lambda x, k: {"model": with_gravity(x["model"], k * x["model"].gravity[3:])}),
    "acceleration": (r"M \ddot q", lambda x, k: {"ddq": k * x["ddq"]}),
    "velocity": ("c", lambda x, k: {"dq": math.sqrt(k) * x["dq"]}),
    "loads": (r"-J^T F_\mathrm{ext}", lambda x, k: {"F_ext": k * x["F_ext"]}),
}


@dataclass(frozen=True, eq=False)
class Pressed:
    """Rows of contacts and stops that push: their joint forces J^T lambda, and the numbers behind.

    Args:
        contacts: by name, J along the normal and both tangents, (3, n), and lambda, (3,), N.
        stops: by degree of freedom, the force of its stop, N m or N.
        n: number of degrees of freedom.
    """

    contacts: Mapping[str, tuple[Array, Array]]
    stops: Mapping[int, float]
    n: int

    def shares(self) -> dict[str, Array]:
        """What the contacts and the stops take from the joint forces, (n,) each."""
        shares = {"contact": np.zeros(self.n), "stop": np.zeros(self.n)}
        for J, lam in self.contacts.values():
            # explain: contact
            shares["contact"] = shares["contact"] - J.T @ lam
        for dof, force in self.stops.items():
            shares["stop"][dof] -= force  # explain: stop
        return {name: x for name, x in shares.items() if x.any()}

    def nodes(self, dof: int, unit: str) -> dict[str, list[Node]]:
        """The rows that push a degree of freedom."""
        contacts: list[Node] = []
        for name, (J, lam) in self.contacts.items():
            rows: list[Node] = []
            for r, row in enumerate(ROWS):
                value, latex = -float(J[r, dof] * lam[r]), rf"-J_{{{r + 1}}} \lambda_{{{r + 1}}}"
                numbers = ("lambda", float(lam[r]), "N"), ("entry of J", float(J[r, dof]), "")
                rows += leaf(row, latex, value, unit, "contact", *numbers)
            contacts += [summed(name, r"-J^T \lambda", unit, rows, "contact")] if rows else []
        force = self.stops.get(dof, 0.0)
        return {
            "contact": contacts,
            "stop": leaf("stop", r"-\lambda", -force, unit, "stop", ("lambda", force, unit)),
        }


def pressed(
    model: Model,
    q: Array,
    contact_forces: Mapping[str, ArrayLike] | None,
    stop_forces: Mapping[str, float] | None,
) -> Pressed:
    """Contacts and stops with their forces, those of `meta` of a simulated motion at one time."""
    contacts: dict[str, tuple[Array, Array]] = {}
    if contact_forces:
        names = contacts_of_model(model, "explain").names
        touching = touches(book_tree(model, q), book_places(model))
        for name, force in contact_forces.items():
            if name not in names:
                raise InputError(f"there is no contact {name!r}; there are {', '.join(names)}.")
            touch = touching[names.index(name)]
            J, axes = np.asarray(touch.J, float), np.asarray(touch.axes, float)
            contacts[name] = J, axes @ np.asarray(force, float)
    joints = {joint.name: joint for joint in model.joints}
    for name in stop_forces or ():
        if name not in joints:
            raise InputError(f"there is no joint {name!r}; there are {', '.join(joints)}.")
    stops = {joints[name].dofs[0]: float(x) for name, x in (stop_forces or {}).items() if x}
    return Pressed(contacts, stops, model.n)


def explain_contact(forces: GroundForces, contact: str) -> Node:
    """One contact force in {s} as a sum of its shares by cause, N.

    Args:
        forces: of one state, from `kt.contacts.inverse_dynamics`.
        contact: name of the contact.

    Returns:
        A node whose children add up to the force: gravity, acceleration, velocity, loads, and what
        joint friction, springs and a change of contact modes add.
    """
    names = contacts_of_model(forces.model, NAME).names
    if np.ndim(forces.shortfall):
        raise InputError("the forces are of many states; choose one: explain(forces[0], name).")
    if contact not in names:
        raise InputError(
            f"there is no contact {contact!r} of {forces.model.name!r}; it has {', '.join(names)}."
        )
    k = names.index(contact)
    state: dict[str, Any] = {"model": forces.model, **forces.arguments}
    total = np.asarray(forces.forces[k], float)
    children, left = [], total
    for name, (latex, changed) in CAUSES.items():
        if name == "loads" and state["F_ext"] is None:
            continue
        more, less = (
            contact_inverse_dynamics_at_state(**{**state, **changed(state, 1 + h)}).forces[k]
            for h in (DIFFERENCE, -DIFFERENCE)
        )
        share = (more - less) / (2 * DIFFERENCE)
        left = left - share
        children.append(_node(name, rf"\frac{{\partial f}}{{\partial r}} {latex}", share))
    if np.abs(left).max() > SMALLEST_SHARE * np.abs(forces.forces).max():
        children.append(_node("other", r"\Delta f", left))
    return Node(
        contact,
        rf"f_{{{k + 1}}}",
        tuple(total.tolist()),
        "N",
        "{s}",
        numbers=_numbers(forces, k, total),
        children=tuple(children),
    )


def _node(name: str, latex: str, share: Array) -> Node:
    return Node(name, latex, tuple((share + 0.0).tolist()), "N", "{s}")


def _numbers(forces: GroundForces, k: int, total: Array) -> tuple[Quantity, ...]:
    """The normal, the friction coefficient, and the share of the friction cone that is used."""
    model, contacts = forces.model, contacts_of_model(forces.model, NAME)
    touch = touches(book_tree(model, forces.arguments["q"]), book_places(model))[k]
    f, mu = touch.axes @ total, float(contacts.frictions[k])  # type: ignore[arg-type]
    limit = mu * f[0]
    used = float(np.hypot(f[1], f[2]) / limit) if limit > 0 else 0.0
    return (
        vector("normal", touch.axes[0], "", "{s}"),
        Quantity("normal force", float(f[0]), "N"),
        Quantity("coefficient of friction", mu),
        Quantity("share of the friction cone", used),
    )

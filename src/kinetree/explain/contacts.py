"""explain of one contact force: its shares by cause, which add up to it.

The forces f of inverse dynamics with contacts follow from the generalised forces r that a motion
needs, and twice the r needs twice the f. So f = (df/dr) r (Euler), and each cause in
r = M ddq + c + g - J^T F_ext has the share (df/dr) r_cause. The derivatives are differences: each
cause is made larger and smaller by DIFFERENCE.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.contacts.inverse import (
    NAME,
    GroundForces,
    contact_inverse_dynamics_at_state,
)
from kinetree.dynamics.contacts.points import book_places, touches
from kinetree.errors import InputError
from kinetree.explain.node import Node, Quantity, vector
from kinetree.model.contacts import contacts_of_model
from kinetree.model.edit import with_gravity

DIFFERENCE = 1e-4  # of each cause; errors of f are below 1e-10 of its size
SMALLEST_SHARE = 1e-6  # of the size of the force, that is shown
CAUSES: dict[str, tuple[str, Callable[[dict[str, Any], float], dict[str, Any]]]] = {
    "gravity": ("g", lambda x, k: {"model": with_gravity(x["model"], k * x["model"].gravity[3:])}),
    "acceleration": (r"M \ddot q", lambda x, k: {"ddq": k * x["ddq"]}),
    "velocity": ("c", lambda x, k: {"dq": math.sqrt(k) * x["dq"]}),
    "loads": (r"-J^T F_\mathrm{ext}", lambda x, k: {"F_ext": k * x["F_ext"]}),
}


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

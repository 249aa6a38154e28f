"""Parts of the closed form: what all joints and links together contribute through L."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.explain.parts import Parts
from kinetree.formulations.closed import closed_form, column
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_adjoints, zeros


def closed_parts(model: Model, x: Motion, dV_base: Array) -> tuple[Parts, list[dict[str, Array]]]:
    """V, dV and F of every link by the terms of the stacked equations.

    Every part of link i has come all the way: V and dV from the links between the base and it, F
    from all links that hang on it.
    """
    form = closed_form(model, x.q, x.dq, x.ddq, np.array(x.F_ext), V_base=x.V_base, dV_base=dV_base)
    L, G, V = form.L, form.G, form.V
    moved = stacked_base(model, x, dV_base)
    weight = L @ stacked_base(model, x, -model.gravity)
    twist = {"base": L @ form.V_base, "joint rates": L @ form.A @ x.dq}
    motion = {
        "base": L @ moved,
        "joint accelerations": L @ form.A @ x.ddq,
        "velocity product": -L @ (form.ad_Adq @ (form.W @ V + form.V_base)),
    }
    acceleration = sum(motion.values())
    wrench = {
        "inertia": L.T @ (G @ acceleration),
        "velocity product": -L.T @ (form.ad_V.T @ (G @ V)),
        "gravity": L.T @ (G @ weight),
        "external wrench": -L.T @ form.F_ext,
        "rotors": L.T @ form.F_rotor,
    }
    inward = _by_link(model, wrench)
    parts = {
        "V": _by_link(model, twist),
        "dV": _by_link(model, motion | {"gravity": weight}),
        "F": inward,
    }
    return parts, inward


def stacked_base(model: Model, x: Motion, value: Array) -> Array:
    """A 6-vector of the base, carried into the links that hang on it, in a stack."""
    Ad_ip = link_adjoints(model, x.q)
    roots = [model.parent[i] == WORLD for i in model.links]
    return column([Ad_ip[i] @ value if roots[i] else zeros(6) for i in model.links])


def _by_link(model: Model, stacks: dict[str, Array]) -> list[dict[str, Array]]:
    rows = {name: stack.reshape(-1, 6) for name, stack in stacks.items()}
    return [{name: row[i] for name, row in rows.items()} for i in model.links]

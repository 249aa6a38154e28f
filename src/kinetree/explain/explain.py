"""explain: inverse dynamics with the parts of every intermediate."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.explain.closed import closed_parts
from kinetree.explain.parts import Parts, drive_parts, pose_parts, total
from kinetree.explain.record import Explanation, LinkSteps, Part, Term
from kinetree.explain.screw import screw_parts
from kinetree.explain.torque import torque_shares
from kinetree.explain.vectors import link_frames, space_frames, vector_parts
from kinetree.explain.words import equation
from kinetree.formulations.drives import turns_armature
from kinetree.formulations.newton_euler import newton_euler
from kinetree.formulations.recursion import Recursion
from kinetree.model import WORLD, Joint, Model
from kinetree.model.inputs import Motion, TipWrench, Wrenches, read_motion, six_vector
from kinetree.model.joint import rate_names

Split = Callable[[Model, Motion, Array], tuple[Parts, list[dict[str, Array]]]]

SPLITS: dict[str, Split] = {
    "screw": screw_parts,
    "closed": closed_parts,
    "link": lambda model, x, base: vector_parts(model, x, base, link_frames(model, x)),
    "space": lambda model, x, base: vector_parts(model, x, base, space_frames(model, x)),
}


def explain(
    model: Model,
    q: Any,
    dq: Any,
    ddq: Any,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: Any = None,
    dV_base: Any = None,
    formulation: str = "screw",
) -> Explanation:
    """Both passes of the recursion as data, each quantity with the parts that make it.

    Arguments as in `kinetree.algorithms.inverse_dynamics`; numbers or symbols, one state.

    Returns:
        For each link T, then V, dV, F (screw and closed form) or omega, v, alpha, a_e, a_c, f, n
        (link and space form), then tau; and where the joint forces go.
    """
    loads = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    record = newton_euler(model, q, dq, ddq, formulation=formulation, **loads)
    x = read_motion(model, q, dq, ddq, F_ext, F_tip, V_base, dV_base)
    parts, wrenches = SPLITS[formulation](model, x, six_vector(dV_base, "dV_base"))
    parts = {"T": pose_parts(model, x, record.T_si)} | parts
    parts["tau"] = joint_parts(model, x, record, wrenches)
    values = link_values(model, record, parts)
    links = tuple(
        LinkSteps(
            link=i,
            name=model.link_names[i],
            joint=joint.name,
            type=joint.type,
            parent=model.base_name
            if model.parent[i] == WORLD
            else model.link_names[model.parent[i]],
            rates=tuple(rate_names(joint)),
            terms={
                symbol: term(formulation, symbol, parts[symbol][i], values[symbol][i], joint)
                for symbol in parts
            },
        )
        for i, joint in enumerate(model.joints)
    )
    torque = torque_shares(model, x.q, x.dq, x.ddq, record.tau, **loads)
    given = {"q": x.q, "dq": x.dq, "ddq": x.ddq} | loads
    return Explanation(model, formulation, links, torque, record, given)


def joint_parts(
    model: Model, x: Motion, record: Recursion, wrenches: list[dict[str, Array]]
) -> list[dict[str, Array]]:
    """Force of each joint by parts: A^T of every part of its wrench, and its drive, (k,)."""
    alpha = {WORLD: x.dV_base[:3], **dict(enumerate(record.dV[:, :3]))}
    return [
        {name: model.A[i].T @ F for name, F in wrenches[i].items()}
        | drive_parts(model, x, alpha, i)
        for i in model.links
    ]


def link_values(model: Model, record: Recursion, parts: Parts) -> dict[str, Any]:
    """What the recursion found, by symbol and link.

    Joints that move together share an entry of tau; each has its own here.
    """
    values = {s: getattr(record, s) for s in parts if s not in ("T", "tau")}
    drives = [total({k: x[k] for k in ("rotor and armature", "friction")}) for x in parts["tau"]]
    tau = [model.A[i].T @ F + drives[i] for i, F in enumerate(record.F)]
    return {"T": record.T_si} | values | {"tau": tau}


def term(formulation: str, symbol: str, parts: dict[str, Array], value: Any, joint: Joint) -> Term:
    """The record of one quantity of one link."""
    turning = turns_armature(joint)
    found = tuple(
        Part(name, *equation(formulation, symbol, name, turning), np.asarray(x))
        for name, x in parts.items()
    )
    return Term(symbol, found, np.asarray(value), product=symbol == "T")

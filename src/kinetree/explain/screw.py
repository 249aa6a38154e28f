"""Parts of the screw form: 6-vectors in link frames, outward from parents, inward from children."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.explain.parts import Parts, child, total
from kinetree.formulations.drives import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_adjoints, zeros
from kinetree.spatial import ad


def screw_parts(model: Model, x: Motion, dV_base: Array) -> tuple[Parts, list[dict[str, Array]]]:
    """V, dV and F of every link by parts, and the parts of F once more, for the joint.

    dV_base is the acceleration of the base without gravity, which is carried outward apart from it.
    """
    Ad_ip = link_adjoints(model, x.q)
    V, moved, weight = {WORLD: x.V_base}, {WORLD: dV_base}, {WORLD: -model.gravity}
    twists, accelerations = [], []
    for i in model.links:
        p, rate = model.parent[i], model.A[i] @ x.dq_i[i]
        twists.append({"parent": Ad_ip[i] @ V[p], "joint rate": rate})
        V[i] = total(twists[i])
        motion = {
            "parent": Ad_ip[i] @ moved[p],
            "joint acceleration": model.A[i] @ x.ddq_i[i],
            "velocity product": ad(V[i]) @ rate,
        }
        moved[i], weight[i] = total(motion), Ad_ip[i] @ weight[p]
        accelerations.append(motion | {"gravity": weight[i]})

    moments = rotor_moments(model.rotors, x.dq, x.ddq, {i: V[i][:3] for i in V})
    F: dict[int, Array] = {}
    wrenches: dict[int, dict[str, Array]] = {}
    for i in reversed(model.links):
        G = model.G[i]
        wrenches[i] = {
            "inertia": G @ moved[i],
            "velocity product": -ad(V[i]).T @ (G @ V[i]),
            "gravity": G @ weight[i],
            "external wrench": -x.F_ext[i],
            "rotors": wrench_of(moments.get(i)),
            **{child(model, c): Ad_ip[c].T @ F[c] for c in model.children[i]},
        }
        F[i] = total(wrenches[i])
    inward = [wrenches[i] for i in model.links]
    return {"V": twists, "dV": accelerations, "F": inward}, inward


def wrench_of(moment: Any) -> Array:
    """A pure moment as a wrench; None is none."""
    return zeros(6) if moment is None else np.concatenate([moment, zeros(3)])

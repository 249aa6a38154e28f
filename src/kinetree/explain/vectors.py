"""Parts of the two forms in 3-vectors: in link coordinates, and in {s}."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.explain.parts import Parts, child, total
from kinetree.formulations.drives import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_pose, zeros
from kinetree.spatial import cross


@dataclass(frozen=True, eq=False)
class Frames:
    """Where vectors are written: each link's own axes, or {s} for all.

    turn: R_ip, what takes a vector of the parent to link i (in {s}: nothing to do). own: what takes
    a vector given in {i} to where it is written. way: the origin of {i} seen from the parent's.
    """

    turn: dict[int, Array]
    own: dict[int, Array]
    way: dict[int, Array]


def link_frames(model: Model, x: Motion) -> Frames:
    """Every vector in the axes of its link."""
    T = {i: link_pose(model, i, x.q) for i in model.links}
    one = np.eye(3, dtype=int)
    turn, way = {i: T[i][:3, :3].T for i in T}, {i: T[i][:3, 3] for i in T}
    return Frames(turn, {i: one for i in (WORLD, *T)}, way)


def space_frames(model: Model, x: Motion) -> Frames:
    """Every vector in {s}."""
    T = {WORLD: np.eye(4, dtype=int)}
    for i in model.links:
        T[i] = T[model.parent[i]] @ link_pose(model, i, x.q)
    one = np.eye(3, dtype=int)
    way = {i: T[i][:3, 3] - T[model.parent[i]][:3, 3] for i in model.links}
    return Frames({i: one for i in model.links}, {i: T[i][:3, :3] for i in T}, way)


def vector_parts(
    model: Model, x: Motion, dV_base: Array, frames: Frames
) -> tuple[Parts, list[dict[str, Array]]]:
    """omega, v, alpha, a_e, a_c, f and n by parts; and (n, f) in {i} by parts, for the joint."""
    steps: Parts = {name: [] for name in ("omega", "v", "alpha", "a_e", "a_c")}
    omega, v = {WORLD: x.V_base[:3]}, {WORLD: x.V_base[3:]}
    alpha, a = {WORLD: dV_base[:3]}, {WORLD: dV_base[3:] + cross(x.V_base[:3], x.V_base[3:])}
    weight, a_c = {WORLD: -model.gravity[3:]}, {}

    for i in model.links:
        p, R, way = model.parent[i], frames.turn[i], frames.way[i]
        (w, l), (dw, dl) = _joint_motion(model, x, frames, i)
        turning = R @ omega[p]
        outward = {
            "omega": {"parent": turning, "joint rate": w},
            "v": {"parent": R @ v[p], "lever": R @ cross(omega[p], way), "joint rate": l},
            "alpha": {
                "parent": R @ alpha[p],
                "joint acceleration": dw,
                "velocity product": cross(turning, w),
            },
            "a_e": {
                "parent": R @ a[p],
                "lever": R @ cross(alpha[p], way),
                "centripetal": R @ cross(omega[p], cross(omega[p], way)),
                "joint acceleration": dl,
                "velocity product": 2 * cross(turning, l) + cross(w, l),
            },
        }
        omega[i], v[i], alpha[i], a[i] = (total(parts) for parts in outward.values())
        c = frames.own[i] @ model.com[i]
        outward["a_c"] = {
            "origin": a[i],
            "lever": cross(alpha[i], c),
            "centripetal": cross(omega[i], cross(omega[i], c)),
        }
        a_c[i], weight[i] = total(outward["a_c"]), R @ weight[p]
        for name, parts in outward.items():
            gravity = {"gravity": weight[i]} if name in ("a_e", "a_c") else {}
            steps[name].append(parts | gravity)

    motion = {"omega": omega, "alpha": alpha, "a_c": a_c, "weight": weight}
    forces, moments = _inward(model, x, frames, motion)
    steps |= {"f": forces, "n": moments}
    return steps, [_in_link(frames.own[i], moments[i], forces[i]) for i in model.links]


def _inward(
    model: Model, x: Motion, frames: Frames, motion: dict[str, dict[int, Array]]
) -> tuple[list[dict[str, Array]], list[dict[str, Array]]]:
    """Parts of f and n, children before parents."""
    omega, alpha, a_c, weight = motion.values()
    own = {i: frames.own[i].T @ omega[i] for i in omega}
    spin = rotor_moments(model.rotors, x.dq, x.ddq, own)
    f, n = {}, {}
    forces: dict[int, dict[str, Array]] = {}
    moments: dict[int, dict[str, Array]] = {}
    for i in reversed(model.links):
        R, m = frames.own[i], model.m[i]
        I, c = R @ model.I_com[i] @ R.T, R @ model.com[i]
        inertia, gravity = a_c[i] * m, weight[i] * m
        kids = {child(model, k): k for k in model.children[i]}
        carried = {name: frames.turn[k].T @ f[k] for name, k in kids.items()}
        forces[i] = {
            "inertia": inertia,
            "gravity": gravity,
            "external wrench": -(R @ x.F_ext[i][3:]),
            **carried,
        }
        moments[i] = {
            "inertia": I @ alpha[i] + cross(c, inertia),
            "velocity product": cross(omega[i], I @ omega[i]),
            "gravity": cross(c, gravity),
            "external wrench": -(R @ x.F_ext[i][:3]),
            "rotors": R @ spin[i] if i in spin else zeros(3),
            **{
                name: frames.turn[k].T @ n[k] + cross(frames.way[k], carried[name])
                for name, k in kids.items()
            },
        }
        f[i], n[i] = total(forces[i]), total(moments[i])
    return [forces[i] for i in model.links], [moments[i] for i in model.links]


def _joint_motion(
    model: Model, x: Motion, frames: Frames, i: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Angular and linear halves of A dq and of A ddq, where they are written."""
    R, A = frames.own[i], model.A[i]
    V, dV = A @ x.dq_i[i], A @ x.ddq_i[i]
    return (R @ V[:3], R @ V[3:]), (R @ dV[:3], R @ dV[3:])


def _in_link(R: Array, n: dict[str, Array], f: dict[str, Array]) -> dict[str, Array]:
    """Wrenches (n, f) in {i} by parts; a part that one of them lacks is zero there."""
    return {name: np.concatenate([R.T @ n[name], R.T @ f.get(name, zeros(3))]) for name in n}

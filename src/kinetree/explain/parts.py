"""Parts of every intermediate of the recursion, by the terms of its equations.

The recursion itself is run by `dynamics.textbook`: with everything (`full`), without gravity
(`moving`), and at rest under gravity alone (`resting`). Accelerations are linear in gravity, so the
last two add up to the first, and each term of an equation is evaluated at what was recorded.
Nothing is carried from link to link here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.friction import (
    friction_force,
    motor_friction,
)
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.textbook.closed import closed_form, column
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.dynamics.textbook.rotors import armature, rotor_moments
from kinetree.model import WORLD, JointRotor, Model, joint_pose
from kinetree.model.edit import with_gravity
from kinetree.model.inputs import Motion, link_adjoints, link_pose, zeros
from kinetree.spatial import ad, cross

Values = dict[str, Array]  # part -> value
Parts = dict[str, list[Values]]  # symbol -> for each link -> part -> value


@dataclass(frozen=True, eq=False)
class Recorded:
    """The motion, the acceleration of the base without gravity (6,), and the three recordings."""

    model: Model
    x: Motion
    dV_base: Array
    full: Recursion
    moving: Recursion
    resting: Recursion

    def before(self, rows: Array, base: Array) -> dict[int, Array]:
        """Rows of a recording by link, and the value of the base."""
        return {WORLD: base, **dict(enumerate(rows))}

    def spins(self) -> list[Array]:
        """Moment that the rotors on each link need, in {i}; zero where there are none."""
        x, links = self.x, self.model.links
        omega = self.before(self.full.V[:, :3], x.V_base[:3])
        moments = rotor_moments(self.model.rotors, x.dq, x.ddq, omega)
        return [moments.get(i, zeros(3)) for i in links]

    def children(self, i: int, carried: Mapping[int, Array]) -> Values:
        """What the children of link i exert on it, by their names."""
        return {child(self.model, c): carried[c] for c in self.model.children[i]}


def total(parts: Mapping[str, Array]) -> Array:
    """The sum of all parts."""
    values = iter(parts.values())
    return sum(values, next(values))


def child(model: Model, c: int) -> str:
    """Name of a part that came from a child."""
    return f"child {model.link_names[c]}"


def pose_parts(model: Model, x: Motion, T_si: Array) -> list[Values]:
    """Factors of T_si: the parent's pose, the home pose in it, and the joint's motion."""
    return [
        {
            "parent": np.eye(4, dtype=int) if model.parent[i] == WORLD else T_si[model.parent[i]],
            "home": model.M_pi[i],
            "joint": joint_pose(joint, x.q[list(joint.coords)]),
        }
        for i, joint in enumerate(model.joints)
    ]


def screw_parts(at: Recorded) -> tuple[Parts, list[Values]]:
    """Parts of V, dV and F in 6-vectors of the link frames; and those of F for the joint."""
    model, x = at.model, at.x
    Ad_ip = link_adjoints(model, x.q)
    V, dV = at.before(at.full.V, x.V_base), at.before(at.moving.dV, at.dV_base)
    spins = at.spins()
    carried = {c: Ad_ip[c].T @ at.full.F[c] for c in model.links}
    parts: Parts = {"V": [], "dV": [], "F": []}
    for i in model.links:
        p, G, rate = model.parent[i], model.G[i], model.A[i] @ x.dq_i[i]
        parts["V"].append({"parent": Ad_ip[i] @ V[p], "joint rate": rate})
        parts["dV"].append(
            {
                "parent": Ad_ip[i] @ dV[p],
                "joint acceleration": model.A[i] @ x.ddq_i[i],
                "velocity product": ad(V[i]) @ rate,
                "gravity": at.resting.dV[i],
            }
        )
        parts["F"].append(
            {
                "acceleration": G @ dV[i],
                "velocity product": -ad(V[i]).T @ (G @ V[i]),
                "gravity": G @ at.resting.dV[i],
                "external wrench": -x.F_ext[i],
                "rotors": np.concatenate([spins[i], zeros(3)]),
                **at.children(i, carried),
            }
        )
    return parts, parts["F"]


def closed_parts(at: Recorded) -> tuple[Parts, list[Values]]:
    """Parts of V, dV and F by the terms of the stacked equations.

    Every part of link i has come all the way: V and dV from the links between the base and it, F
    from all links that hang on it.
    """
    model, x = at.model, at.x
    still = with_gravity(model, zeros(3))
    loads = np.array(x.F_ext)
    form = closed_form(still, x.q, x.dq, x.ddq, loads, V_base=x.V_base, dV_base=at.dV_base)
    L, G, V = form.L, form.G, form.V
    weight = column(list(at.resting.dV))
    motion = {
        "base": L @ form.dV_base,
        "joint accelerations": L @ form.A @ x.ddq,
        "velocity product": -L @ (form.ad_Adq @ (form.W @ V + form.V_base)),
    }
    wrench = {
        "acceleration": L.T @ (G @ total(motion)),
        "velocity product": -L.T @ (form.ad_V.T @ (G @ V)),
        "gravity": L.T @ (G @ weight),
        "external wrench": -L.T @ form.F_ext,
        "rotors": L.T @ form.F_rotor,
    }
    stacks = {
        "V": {"base": L @ form.V_base, "joint rates": L @ form.A @ x.dq},
        "dV": motion | {"gravity": weight},
        "F": wrench,
    }
    parts = {
        symbol: [
            {name: stack.reshape(-1, 6)[i] for name, stack in named.items()} for i in model.links
        ]
        for symbol, named in stacks.items()
    }
    return parts, parts["F"]


def vector_parts(at: Recorded) -> tuple[Parts, list[Values]]:
    """Parts of omega, v, alpha, a_e, a_c, f and n; and of (n, f) in {i}, for the joint."""
    frames = _frames(at)
    steps: Parts = {name: [] for name in ("omega", "v", "alpha", "a_e", "a_c")}
    for i in at.model.links:
        for name, parts in _outward(at, frames, i).items():
            steps[name].append(parts)
    forces, moments = _inward(at, frames)
    joints = [
        {name: np.concatenate([R.T @ n[name], R.T @ f.get(name, zeros(3))]) for name in n}
        for R, n, f in zip(frames.own, moments, forces, strict=True)
    ]
    return steps | {"f": forces, "n": moments}, joints


@dataclass(frozen=True, eq=False)
class _Frames:
    """For every link: where vectors are written, in its own axes or in {s}.

    turn: from where the parent's vectors are written to where the link's are. own: from {i} to
    where its vectors are written. way: the origin of {i} seen from the parent's, in the parent's.
    """

    turn: list[Array]
    own: list[Array]
    way: list[Array]


def _frames(at: Recorded) -> _Frames:
    model, one = at.model, np.eye(3, dtype=int)
    if at.full.frame == "link":
        T_pi = [link_pose(model, i, at.x.q) for i in model.links]
        return _Frames([x[:3, :3].T for x in T_pi], [one] * len(T_pi), [x[:3, 3] for x in T_pi])
    T_si = at.before(at.full.T_si, np.eye(4, dtype=int))
    way = [T_si[i][:3, 3] - T_si[model.parent[i]][:3, 3] for i in model.links]
    return _Frames([one] * len(way), [T_si[i][:3, :3] for i in model.links], way)


def _outward(at: Recorded, frames: _Frames, i: int) -> dict[str, Values]:
    """Parts of the velocities and accelerations of link i; base values are in its own axes."""
    model, x, full, moving = at.model, at.x, at.full, at.moving
    p, R, way, R_i = model.parent[i], frames.turn[i], frames.way[i], frames.own[i]
    V, dV = x.V_base, at.dV_base
    omega_p = V[:3] if p == WORLD else full.omega[p]
    v_p = V[3:] if p == WORLD else full.v[p]
    alpha_p = dV[:3] if p == WORLD else moving.alpha[p]
    a_p = dV[3:] + cross(V[:3], V[3:]) if p == WORLD else moving.a_e[p]
    rate, change = model.A[i] @ x.dq_i[i], model.A[i] @ x.ddq_i[i]
    w, l, dw, dl = (R_i @ half for half in (rate[:3], rate[3:], change[:3], change[3:]))
    turning, c = R @ omega_p, R_i @ model.com[i]
    omega, alpha = full.omega[i], moving.alpha[i]
    weight = at.resting.a_e[i]
    return {
        "omega": {"parent": turning, "joint rate": w},
        "v": {"parent": R @ v_p, "lever": R @ cross(omega_p, way), "joint rate": l},
        "alpha": {
            "parent": R @ alpha_p,
            "joint acceleration": dw,
            "velocity product": cross(turning, w),
        },
        "a_e": {
            "parent": R @ a_p,
            "lever": R @ cross(alpha_p, way),
            "centripetal": R @ cross(omega_p, cross(omega_p, way)),
            "joint acceleration": dl,
            "velocity product": 2 * cross(turning, l) + cross(w, l),
            "gravity": weight,
        },
        "a_c": {
            "origin": moving.a_e[i],
            "lever": cross(alpha, c),
            "centripetal": cross(omega, cross(omega, c)),
            "gravity": weight,
        },
    }


def _inward(at: Recorded, frames: _Frames) -> tuple[list[Values], list[Values]]:
    """Parts of f and of n of every link."""
    model, x, full = at.model, at.x, at.full
    spins = at.spins()
    f_c = {c: frames.turn[c].T @ full.f[c] for c in model.links}
    n_c = {c: frames.turn[c].T @ full.n[c] + cross(frames.way[c], f_c[c]) for c in model.links}
    forces, moments = [], []
    for i in model.links:
        R, m = frames.own[i], model.m[i]
        I, c, omega = R @ model.I_com[i] @ R.T, R @ model.com[i], full.omega[i]
        inertia, gravity = at.moving.a_c[i] * m, at.resting.a_e[i] * m
        forces.append(
            {
                "acceleration": inertia,
                "gravity": gravity,
                "external wrench": -(R @ x.F_ext[i][3:]),
                **at.children(i, f_c),
            }
        )
        moments.append(
            {
                "acceleration": I @ at.moving.alpha[i] + cross(c, inertia),
                "velocity product": cross(omega, I @ omega),
                "gravity": cross(c, gravity),
                "external wrench": -(R @ x.F_ext[i][:3]),
                "rotors": R @ spins[i],
                **at.children(i, n_c),
            }
        )
    return forces, moments


def joint_parts(at: Recorded, wrenches: list[Values]) -> list[Values]:
    """Force of each joint by parts: A^T of every part of its wrench, and its drive, (k,)."""
    alpha = at.before(at.full.dV[:, :3], at.x.dV_base[:3])
    springs = Springs(at.model, at.x.q).at(at.x.dq) if at.model.springs else None
    return [
        {name: at.model.A[i].T @ F for name, F in wrenches[i].items()}
        | drive_parts(at.model, at.x, alpha, springs, i)
        for i in at.model.links
    ]


def drive_parts(
    model: Model, x: Motion, alpha: Mapping[int, Array], springs: Array | None, i: int
) -> Values:
    """Forces of joint i for its armature and rotor, and against its friction and springs, (k,).

    alpha: angular acceleration of every link in its own frame, and of WORLD. springs: joint forces
    of all springs, (n,), None without any. Springs and motors of a joint that follows another act
    on the joint that it follows, and count there.
    """
    joint = model.joints[i]
    spinning = x.ddq_i[i] * armature(model, i)

    def force(rotor: JointRotor) -> Array:
        ddq = rotor.s @ alpha[rotor.link] + rotor.ratio * x.ddq[rotor.dof]
        return np.array([ddq * (rotor.inertia * rotor.ratio)])

    spinning = sum((force(r) for r in model.rotors if r.joint == i), spinning)
    scale = joint.scale
    rubbing = [friction_force(joint.friction, rate * scale) * scale for rate in x.dq_i[i]]
    if model.motors and joint.follows is None:
        dofs = list(joint.dofs)
        spinning = spinning + inertia_forces(model, x.ddq)[dofs]
        rubbing = np.array(rubbing) + motor_friction(model, x.dq)[dofs]
    parts = {"rotor and armature": spinning, "friction": np.array(rubbing)}
    if springs is None:
        return parts
    pulls = springs[list(joint.dofs)]
    return parts | {"spring": pulls if joint.follows is None else zeros(len(joint.dofs))}

"""Momentum of the whole robot with the fewest operations."""

import numpy as np

from kinetree.algorithms.lean.mass_matrix import inward
from kinetree.algorithms.lean.mass_matrix import momentum as body_momentum
from kinetree.algorithms.lean.model import LeanModel
from kinetree.algorithms.lean.motion import step, subspace
from kinetree.base.arrays import Array
from kinetree.model import WORLD
from kinetree.model.inputs import per_link, zeros
from kinetree.spatial import cross


def momentum(lean: LeanModel, q: Array, dq: Array) -> Array:
    """(angular about the origin, linear), (6,), in {s}; `lean` must not be regrouped."""
    steps = [step(link, q) for link in lean.links]
    omega, v = {WORLD: zeros(3)}, {WORLD: zeros(3)}
    for i, own in enumerate(per_link(lean.model, dq)):
        p, to = lean.links[i].parent, steps[i]
        twist = subspace(lean.links[i]) @ own
        omega[i] = to.outward(omega[p]) + twist[:3]
        v[i] = to.outward(v[p] + cross(omega[p], to.p)) + twist[3:]
    f = {i: zeros(3) for i in omega}
    n = {i: zeros(3) for i in omega}
    for rotor in lean.rotors:
        n[rotor.link] = n[rotor.link] + rotor.s * (rotor.inertia * rotor.ratio * dq[rotor.dof])
    for i in reversed(range(len(lean.links))):
        p = lean.links[i].parent
        own_f, own_n = body_momentum(lean.links[i].moments, omega[i], v[i])
        carried_f, carried_n = inward(steps[i], f[i] + own_f, n[i] + own_n)
        f[p], n[p] = f[p] + carried_f, n[p] + carried_n
    return np.concatenate([n[WORLD], f[WORLD]])


def centroidal_momentum(lean: LeanModel, q: Array, dq: Array, com: Array) -> Array:
    """The same about the centre of mass `com`, in the axes of {s}."""
    total = momentum(lean, q, dq)
    return np.concatenate([total[:3] - cross(com, total[3:]), total[3:]])

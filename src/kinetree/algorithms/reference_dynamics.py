"""M ddq_r + C dq_r + g for estimated masses, and the contribution of each of their moments.

Adaptive control needs Y theta and Y^T s of the regressor Y of M ddq_r + C dq_r + g = Y theta, with
dM/dt - 2 C skew-symmetric and theta the ten moments m, h, Sigma (xx, yy, zz, xy, xz, yz) of each
link. Y itself is never formed: the recursion of inverse_dynamics.py gives Y theta, and the power of
every link's wrench along the rates s gives Y^T s.
"""

from dataclasses import replace

import numpy as np

from kinetree.algorithms.inverse_dynamics import LinkMotion, joint_wrenches, link_motions
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def moments_of(theta: Array) -> Moments:
    """Ten numbers as mass, first and second moments."""
    S = {pair: theta[4 + k] for k, pair in enumerate(PAIRS)}
    Sigma = np.array([[S[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
    return Moments(theta[0], theta[1:4], Sigma)


def numbers_of(moments: Moments) -> Array:
    """The ten numbers of a link."""
    return np.array([moments.m, *moments.h, *(moments.Sigma[pair] for pair in PAIRS)])


def reference_forces(
    tree: Tree, dq: Array, dq_r: Array, ddq_r: Array, theta: Array, s: Array
) -> tuple[Array, Array]:
    """Y theta, (n,), and Y^T s, (links, 10), for estimated moments theta, (links, 10).

    Masses, loads, friction, armature and rotors of the tree are not used.
    """
    links = [
        replace(link, body=moments_of(row), load=None)
        for link, row in zip(tree.links, theta, strict=True)
    ]
    tree = replace(tree, links=tuple(links), rotors=())
    motions = link_motions(tree, dq, ddq_r, dq_r)
    tau = tree.joint_forces(joint_wrenches(tree, motions, dq, ddq_r))
    twists = tree.twists(s)
    return tau, np.array([power(motions[i], *twists[i]) for i in range(len(links))])


def power(motion: LinkMotion, w: Array, v: Array) -> Array:
    """Contribution of each of the ten moments to v . f + w . n, (10,)."""
    a, B = motion.a, motion.B
    C = -(skew(w) @ B).T
    second = [C[i, j] if i == j else C[i, j] + C[j, i] for i, j in PAIRS]
    return np.array([v @ a, *(B.T @ v + cross(a, w)), *second])

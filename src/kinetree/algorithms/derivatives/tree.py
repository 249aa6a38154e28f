"""The robot at one position as the derivatives see it: steps, axes, mass moments and loads.

The recursions are written once and run in two sets of frames: the textbook's link frames, over any
kind of scalar, and the lean frames, from which kernels are traced.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.lean.inverse_dynamics import lean_wrench
from kinetree.algorithms.lean.model import LeanModel, Moments
from kinetree.algorithms.lean.motion import Step, step, subspace
from kinetree.base.arrays import Array
from kinetree.model import JointRotor, Model
from kinetree.model.inputs import link_pose
from kinetree.spatial import second_moment


@dataclass(frozen=True, eq=False)
class Branch:
    """One link: its parent, the way to it, its joint's axes A (6, k), its body, its load.

    `load` is the (moment, force) that the world exerts on the link, or None.
    """

    parent: int
    dofs: tuple[int, ...]
    A: Array
    to: Step
    body: Moments
    load: tuple[Array, Array] | None


@dataclass(frozen=True, eq=False)
class Tree:
    """All links, and the rotors in the frames of the links that carry them."""

    model: Model
    branches: list[Branch]
    rotors: tuple[JointRotor, ...]


def book_tree(model: Model, q: Array, F_ext: Any = None) -> Tree:
    """The tree in the link frames; q is checked, F_ext (links, 6) or None."""
    branches = []
    for i in model.links:
        T = link_pose(model, i, q)
        m, com = model.m[i], model.com[i]
        branches.append(
            Branch(
                parent=model.parent[i],
                dofs=model.joints[i].dofs,
                A=model.A[i],
                to=Step(T[:3, :3], None, T[:3, 3]),
                body=Moments(m, com * m, second_moment(model.I_com[i]) + np.outer(com, com) * m),
                load=None if F_ext is None else (F_ext[i][:3], F_ext[i][3:]),
            )
        )
    return Tree(model, branches, model.rotors)


def lean_tree(lean: LeanModel, q: Array, F_ext: Array | None = None) -> Tree:
    """The tree in lean frames; F_ext, (links, 6), is given in the textbook's."""
    branches = []
    for i, link in enumerate(lean.links):
        load = None if F_ext is None else lean_wrench(link.place.X, F_ext[i])
        branches.append(
            Branch(link.parent, link.joint.dofs, subspace(link), step(link, q), link.moments, load)
        )
    return Tree(lean.model, branches, lean.rotors)

"""The Tree in the frames of the model, where the source of the robot put them."""

from dataclasses import replace

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.tree import BaseMotion, Load, Tree, placed_tree
from kinetree.model import Model
from kinetree.model.inputs import (
    TipWrench,
    Wrenches,
    coordinates,
    link_wrenches,
    six_vector,
)
from kinetree.spatial import cross


def book_tree(model: Model, q: StateLike, F_ext: Wrenches = None, F_tip: TipWrench = None) -> Tree:
    """The robot at q, (nq,), over any kind of scalar, under wrenches onto its links.

    F_ext, F_tip: as in `inverse_dynamics`.
    """
    q = coordinates(model, q)
    tree = placed_tree(model, q)
    if F_ext is not None or F_tip is not None:
        loads = link_wrenches(model, F_ext, F_tip)
        links = [replace(x, load=Load(F)) for x, F in zip(tree.links, loads, strict=True)]
        tree = replace(tree, links=tuple(links))
    return replace(tree, springs=Springs(model, q)) if model.springs else tree


def moving_base(model: Model, V_base: ArrayLike | None, dV_base: ArrayLike | None) -> BaseMotion:
    """The base moves with a twist and its derivative, (6,) each in its own axes, under gravity."""
    V: Array = six_vector(V_base, "V_base")
    dV: Array = six_vector(dV_base, "dV_base") - model.gravity
    return BaseMotion(V[:3], dV[:3], dV[3:] + cross(V[:3], V[3:]))

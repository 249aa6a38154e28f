"""The Tree in the frames of the model, where the source of the robot put them."""

from dataclasses import replace

from kinetree.core.arrays import StateLike
from kinetree.dynamics.drives import drive_links, with_drives
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches, coordinates, link_wrenches


def book_tree(model: Model, q: StateLike, F_ext: Wrenches = None, F_tip: TipWrench = None) -> Tree:
    """The robot at q, (nq,), over any kind of scalar, under wrenches onto its links.

    F_ext, F_tip: as in `inverse_dynamics`.
    """
    q = coordinates(model, q)
    tree = placed_tree(model, q)
    links = tree.links
    if F_ext is not None or F_tip is not None:
        loads = link_wrenches(model, F_ext, F_tip)
        pairs = zip(links, loads, strict=True)
        links = tuple(replace(x, load=(F[3:], F[:3])) for x, F in pairs)
    springs = Springs(model, q) if model.springs else None
    return replace(tree, links=with_drives(links, drive_links(model)), springs=springs)

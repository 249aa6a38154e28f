"""M factored as L^T D L, with an error that names the joint that moves no inertia."""

from kinetree.core.arrays import Array
from kinetree.model import Model
from kinetree.model.joint import rate_names
from kinetree.spatial.matrices import Factor, factor


def factor_mass_matrix(model: Model, M: Array) -> Factor:
    """M = L^T D L.

    Raises:
        SingularityError: a joint moves no inertia; the message names the joint and its link.
    """
    return factor(M, mass_names(model))


def mass_names(model: Model) -> list[str]:
    """Names for messages of the rows of M."""
    return [name for i in model.links for name in inertia_names(model, i)]


def inertia_names(model: Model, i: int) -> list[str]:
    """Names for messages of the rows of M that belong to link i."""
    joint, link = model.joints[i], model.link_names[i]
    names = rate_names(joint) if joint.follows is None else []
    return [f"joint {name!r}, which moves link {link!r}," for name in names]

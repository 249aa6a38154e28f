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
    own = [(i, joint) for i, joint in enumerate(model.joints) if joint.follows is None]
    return [
        f"joint {name!r}, which moves link {model.link_names[i]!r},"
        for i, joint in own
        for name in rate_names(joint)
    ]

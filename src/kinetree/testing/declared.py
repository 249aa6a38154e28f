"""The declarations of all quantities, for suites that test every one of them."""

from kinetree.algorithms.quantities import DECLARED
from kinetree.engine.kernels.quantities import COMPOSED
from kinetree.model.quantity import Quantity


def quantities() -> dict[str, Quantity]:
    """Return the declaration of every quantity that `Robot.compile` takes, by name.

    A declaration has `inputs`, the names of the arguments; `results`, each with its letter, the
    letters of its shape (`dims`) and its unit; `choices`, the options besides the frame; `framed`:
    it is a quantity of a frame; `wrenches`: F_ext may follow; `refused`: why a robot with
    constraints does not have it, or "".

    Example:
        >>> kt.testing.quantities()["mass_matrix"].inputs
        ('q',)
    """
    return {**DECLARED, **COMPOSED}

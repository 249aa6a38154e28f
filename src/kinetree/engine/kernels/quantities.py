"""All quantities that can be compiled, by name."""

from kinetree.core.text import nearest
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.step import CONTROLLED, STEPS
from kinetree.errors import NameLookupError
from kinetree.model.quantity import Quantity

COMPOSED = STEPS | CONTROLLED  # of the graphs of several quantities


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name."""
    if name in DECLARED:
        return DECLARED[name]
    if name not in COMPOSED:
        names = [*DECLARED, *COMPOSED]
        longer = [x for x in names if x.startswith(f"{name}_") and "_with_" not in x]
        hint = f" Did you mean {', '.join(longer)}?" if longer else nearest(str(name), names)
        every = f"; choose {', '.join(names)}." if not hint else f".{hint}"
        raise NameLookupError(f"there is no quantity {name!r} to compile{every}")
    return COMPOSED[name]


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

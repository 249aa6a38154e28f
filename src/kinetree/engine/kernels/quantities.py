"""All quantities that can be compiled, by name."""

from kinetree.algorithms.quantities import DECLARED
from kinetree.base.tables import nearest
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

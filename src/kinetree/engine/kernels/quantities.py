"""All quantities that can be compiled, by name."""

from kinetree.algorithms.quantities import DECLARED
from kinetree.engine.kernels.step import CONTROLLED, STEPS
from kinetree.errors import NameLookupError
from kinetree.model.quantity import Quantity

COMPOSED = STEPS | CONTROLLED  # of the graphs of several quantities


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name."""
    if name in DECLARED:
        return DECLARED[name]
    if name not in COMPOSED:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join([*DECLARED, *COMPOSED])}."
        )
    return COMPOSED[name]

"""All quantities that can be compiled, by name."""

from kinetree.algorithms.quantities import DECLARED
from kinetree.engine.kernels.step import CONTROLLED, STEPS
from kinetree.errors import NameLookupError
from kinetree.model.quantity import Quantity

COMPILED = DECLARED | STEPS | CONTROLLED


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name."""
    if name not in COMPILED:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join(COMPILED)}."
        )
    return COMPILED[name]

"""All quantities that can be compiled, by name, and the options of a frame that they have."""

from collections.abc import Sequence
from typing import Any

from kinetree.algorithms.frame_motion import EXPRESSED, check_expressed
from kinetree.algorithms.quantities import DECLARED
from kinetree.algorithms.task_space import task_rows
from kinetree.base.tables import listing
from kinetree.errors import InputError, NameLookupError
from kinetree.kernels.step import CONTROLLED, STEPS
from kinetree.model.quantity import Quantity

COMPILED = DECLARED | STEPS | CONTROLLED


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name."""
    if name not in COMPILED:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join(COMPILED)}."
        )
    return COMPILED[name]


def frame_options(
    quantity: Quantity, *, expressed: str | None, rows: Sequence[int] | None
) -> dict[str, Any]:
    """Return the options of `make`, checked; raise InputError for one that it does not have."""
    given = {"expressed": expressed, "rows": rows}
    for key, value in given.items():
        if value is not None and key not in quantity.choices:
            having = [x for x, other in COMPILED.items() if key in other.choices]
            raise InputError(
                f"{quantity.name} has no option {key}, which was given; "
                f"{listing(having, 4)} {'has' if len(having) == 1 else 'have'} it."
            )
    found: dict[str, Any] = {}
    if "expressed" in quantity.choices:
        found["expressed"] = EXPRESSED[0] if expressed is None else expressed
        check_expressed(found["expressed"])
    if "rows" in quantity.choices:
        found["rows"] = tuple(task_rows(rows))
    return found

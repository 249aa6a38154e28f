"""What is traced for a quantity: its function on the Tree in the frames with the fewest operations.

`dynamics.lean` is imported when something is traced: a kernel from the disk does not need it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.quantity import Make, Quantity

Function = Callable[..., Any]


def maker(quantity: Quantity) -> Make:
    """What makes the function of the arguments of a quantity that is traced."""
    rates = len(quantity.inputs) - 1
    match quantity.over:
        case _ if quantity.make is not None:
            return quantity.make
        case "tree":
            return over_tree(quantity.function, rates, whole=quantity.whole)
        case "frame":
            return partial(_of_frame, quantity.function)
        case "constraints":
            return over_constraints(quantity.function, rates, quantity.name)
        case "model":
            return over_model(quantity.function)


def over_model(function: Function) -> Make:
    """Trace a function of the model and the arguments as it is written."""

    def make(model: Model, regrouped: bool, frame: str | None) -> Function:
        return lambda *state: function(model, *state)

    return make


def over_tree(function: Function, rates: int, *, whole: bool = False) -> Make:
    """Trace a function of a tree and of some rates.

    Args:
        function: takes the tree and, besides q, `rates` further arguments; F_ext may follow them.
        rates: the number of arguments besides q and F_ext.
        whole: masses stay on their own links, because the result is not only about joint forces.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Function:
        from kinetree.dynamics.lean import lean_model, lean_tree

        lean = lean_model(model, regrouped=regrouped and not whole)
        return lambda q, *rest: function(lean_tree(lean, q, *rest[rates:]), *rest[:rates])

    return make


def _of_frame(
    function: Function, model: Model, regrouped: bool, frame: str | None, **choices: Any
) -> Function:
    from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree

    lean = lean_model(model, regrouped=regrouped)
    place = lean_frame(lean, frame)
    return lambda q, *rates: function(lean_tree(lean, q), place, *choices.values(), *rates)


def over_constraints(function: Function, rates: int, name: str) -> Make:
    """Trace a function of a tree, its constraints, q and some rates.

    Args:
        function: takes the tree, the constraints, q and `rates` further arguments.
        rates: the number of arguments besides q and F_ext, which may follow them.
        name: of the quantity, for the error of a robot without constraints.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Function:
        from kinetree.dynamics.constraints.closures import lean_items
        from kinetree.dynamics.lean import lean_model, lean_tree

        constraints_of(model, name)
        lean = lean_model(model, regrouped=regrouped)
        items = lean_items(lean)

        def traced(q: Any, *rest: Any) -> Any:
            return function(lean_tree(lean, q, *rest[rates:]), items, q, *rest[:rates])

        return traced

    return make

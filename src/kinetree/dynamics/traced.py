"""What is traced for a quantity: its function on the Tree in the frames with the fewest operations.

`dynamics.lean` is imported when something is traced: a kernel from the disk does not need it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kinetree.core.arrays import Array
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.quantity import Make, Over, Quantity


def maker(quantity: Quantity) -> Make:
    """What makes the function of the arguments of a quantity that is traced."""
    if quantity.make is not None:
        return quantity.make
    rates = len(quantity.inputs) - 1
    return traced(quantity.function, quantity.over, rates, name=quantity.name, whole=quantity.whole)


def traced(
    function: Callable[..., Any], over: Over, rates: int, *, name: str = "", whole: bool = False
) -> Make:
    """Trace a function over lean frames.

    Args:
        function: takes what `over` says, see `Quantity`, and the further arguments.
        over: "tree", "frame", "constraints" or "model".
        rates: the number of arguments besides q and F_ext, which may follow them.
        name: of the quantity, for the error of a robot without constraints.
        whole: masses stay on their own links, because the result is not only about joint forces.
    """

    def make(
        model: Model, regrouped: bool, frame: str | None, **choices: Any
    ) -> Callable[..., Any]:
        if over == "model":
            return partial(function, model)
        from kinetree.dynamics.constraints.closures import lean_items
        from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree

        if over == "constraints":
            constraints_of(model, name)
        lean = lean_model(model, regrouped=regrouped and not whole)
        place = (lean_frame(lean, frame), *choices.values()) if over == "frame" else ()

        def call(q: Array, *rest: Any) -> Any:
            items = (lean_items(lean), q) if over == "constraints" else ()
            tree = lean_tree(lean, q, *rest[rates:])
            return function(tree, *place, *items, *rest[:rates])

        return call

    return make

"""Functions of a Tree as quantities that are traced, in the frames with the fewest operations.

`dynamics.lean` is imported when something is traced: a kernel from the disk does not need it.
"""

from collections.abc import Callable
from typing import Any

from kinetree.model import Model
from kinetree.model.quantity import Make


def over_tree(
    function: Callable[..., Any],
    rates: int,
    *,
    of: Callable[[Model], Model] = lambda model: model,
    whole: bool = False,
) -> Make:
    """Trace a function of a tree and of some rates, in lean frames.

    Args:
        function: takes the tree and, besides q, `rates` further arguments; F_ext may follow them.
        rates: the number of arguments besides q and F_ext.
        of: the robot whose tree it is.
        whole: masses stay on their own links, because the result is not only about joint forces.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        from kinetree.dynamics.lean import lean_model, lean_tree

        lean = lean_model(of(model), regrouped=regrouped and not whole)
        return lambda q, *rest: function(lean_tree(lean, q, *rest[rates:]), *rest[:rates])

    return make


def of_frame(function: Callable[..., Any]) -> Make:
    """Trace a function of a tree, a frame, the axes of its twist, and some rates."""

    def make(
        model: Model, regrouped: bool, frame: str | None, expressed: str
    ) -> Callable[..., Any]:
        from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree

        lean = lean_model(model, regrouped=regrouped)
        place = lean_frame(lean, frame)
        return lambda q, *motion: function(lean_tree(lean, q), place, expressed, *motion)

    return make

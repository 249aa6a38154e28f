"""The public function of each quantity: of a model and one state, over scalars of any kind.

`kinetree.dynamics.mass_matrix(model, q)` makes the Tree of the model at q, in the frames of the
model, and calls the function that is declared as `mass_matrix`.
"""

import inspect
import re
from collections.abc import Callable
from textwrap import fill
from typing import Any

import numpy as np

from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed
from kinetree.dynamics.parameters import parameter_axis
from kinetree.dynamics.quantities import DECLARED
from kinetree.dynamics.tree import placed_tree
from kinetree.model.constrain import constraints_of, without_constraints
from kinetree.model.inputs import coordinates, rates
from kinetree.model.labelled import labelled
from kinetree.model.quantity import ARGUMENTS, AT_STATE, EXPRESSED, Quantity
from kinetree.spatial.matrices import dense

Parameter = inspect.Parameter
OTHERS = {  # arguments besides those of kernels
    "model": "the robot.",
    "F_tip": "the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, "
    "N m and N; or {frame: wrench}; None: no wrench.",
    "frame": "name of a frame of the robot; None: the tool.",
    "expressed": '"body", "space" or "aligned": the axes and reference point of the twist.',
}


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of a model and one state of a quantity."""
    if name not in DECLARED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    quantity = DECLARED[name]
    by_hand = AT_STATE.get(name)

    def function(*args: Any, **options: Any) -> Any:
        model = args[0] if args else options["model"]
        if quantity.refused or quantity.instead:
            without_constraints(model, f"dynamics.{name}", quantity.instead or quantity.refused)
        return by_hand(*args, **options) if by_hand else evaluate(name, *args, **options)

    signature = inspect.signature(by_hand) if by_hand else _signature(quantity)
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__module__ = str(__package__)  # where it is found
    function.__doc__ = inspect.getdoc(by_hand) if by_hand else _docstring(quantity, signature)
    axes = [tuple(_letter(x) for x in result.axes) for result in quantity.results]
    return labelled(*(axes if len(axes) > 1 else axes[0]))(function)


def _letter(letter: str) -> Any:
    return parameter_axis if letter == "p" else letter


def evaluate(name: str, *args: Any, **options: Any) -> Any:
    """A quantity of a model at one state; arguments as `help` of its public function shows."""
    quantity = DECLARED[name]
    given = _signature(quantity).bind(*args, **options).arguments
    model, state = given["model"], [given[x] for x in quantity.inputs]
    if quantity.over == "model":
        return plain_numbers(quantity.function(model, *state))
    if quantity.over == "constraints":
        constraints_of(model, name)
    q, names = coordinates(model, state[0]), quantity.inputs[1:]
    motion = [rates(model, x, name) for x, name in zip(state[1:], names, strict=True)]
    if quantity.over == "frame":
        place = model.frame(given.get("frame"))
        choices = [given.get(x, EXPRESSED[0]) for x in quantity.choices]
        return plain_numbers(quantity.function(placed_tree(model, q), place, *choices, *motion))
    tree = book_tree(model, q, given.get("F_ext"), given.get("F_tip"))
    items = (placed(model), q) if quantity.over == "constraints" else ()
    return plain_numbers(quantity.function(tree, *items, *motion))


def plain_numbers(result: Any) -> Any:
    """Results without arrays of objects where numbers would do."""
    if isinstance(result, tuple):
        parts: list[Any] = [plain_numbers(x) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    is_mixed = isinstance(result, np.ndarray) and result.dtype == object
    return dense(result) if is_mixed else result


def _signature(quantity: Quantity) -> inspect.Signature:
    """Parameters of the function of a model and one state."""
    names = ["model", *quantity.inputs]
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    if quantity.wrenches:
        parameters.append(Parameter("F_ext", Parameter.POSITIONAL_OR_KEYWORD, default=None))
        parameters.append(Parameter("F_tip", Parameter.KEYWORD_ONLY, default=None))
    if quantity.framed:
        parameters.append(Parameter("frame", Parameter.POSITIONAL_OR_KEYWORD, default=None))
        parameters += [
            Parameter(x, Parameter.KEYWORD_ONLY, default=EXPRESSED[0]) for x in quantity.choices
        ]
    return inspect.Signature(parameters)


def _docstring(quantity: Quantity, signature: inspect.Signature) -> str:
    known = OTHERS | {name: x.text for name, x in ARGUMENTS.items()}
    sections = {
        "Args": [f"{name}: {known[name]}" for name in signature.parameters],
        "Returns": [result.text for result in quantity.results],
    }
    parts = [quantity.title, *quantity.remarks]
    for head, entries in sections.items():
        one_state = (re.sub(r"\(\.\.\., (\w+)\)", r"(\1,)", x) for x in entries)
        plain_text = (x.replace("(..., ", "(").replace("(...)", "()") for x in one_state)
        texts = (fill(f"    {x}", 96, subsequent_indent=" " * 8) for x in plain_text)
        parts.append("\n".join([f"{head}:", *texts]))
    return "\n\n".join(parts)

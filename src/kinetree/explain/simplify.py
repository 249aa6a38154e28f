"""A symbolic explanation in exact numbers, every expression in its shortest form."""

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array, is_numeric

if TYPE_CHECKING:
    from kinetree.explain.record import Explanation

SNAP = 1e-10  # as `kinetree.symbolic` takes rotations of files


def simplified(explanation: "Explanation") -> "Explanation":
    """The same, computed anew on the exact robot and written by the means of closed forms.

    Numbers stay as they are where nothing is symbolic.
    """
    if not any(_symbols(x) for x in explanation.arguments.values()) and _is_plain(explanation):
        return explanation
    from kinetree.explain.explain import explain
    from kinetree.symbols.angles import register_angles
    from kinetree.symbols.model import exact_model
    from kinetree.symbols.names import weights
    from kinetree.symbols.present import Presenter
    from kinetree.symbols.read import Reader

    model, _ = exact_model(explanation.model, SNAP)
    given = {name: _exact(x) for name, x in explanation.arguments.items()}
    found = explain(model, **given, formulation=explanation.formulation)
    reader = Reader()
    register_angles(reader, model, given["q"])
    rates = [x for name in ("dq", "ddq") for x in given[name] if _symbols(x)]
    for rate in rates:
        reader.read(rate)
    found = found.map(reader.read)  # every angle is known before the first result is written
    presenter = Presenter(reader, [x for x in rates if x in reader.ring.index], weights(model))
    return found.map(presenter.present)


def _is_plain(explanation: "Explanation") -> bool:
    """Whether the robot itself has no symbols."""
    model = explanation.model
    data = (model.M_pi, model.m, model.com, model.I_com, model.gravity)
    return all(is_numeric(np.asarray(x)) for x in data) and is_numeric(explanation.tau)


def _exact(x: Any) -> Any:
    """Arrays, and wrenches by the name of their frame, in exact numbers; None stays."""
    from kinetree.symbols.exact import exact_array

    if isinstance(x, dict):
        return {name: _exact(value) for name, value in x.items()}
    return None if x is None else exact_array(np.asarray(x))


def _symbols(x: Any) -> bool:
    values = x.values() if isinstance(x, dict) else [x]
    return any(_has_symbols(np.asarray(value)) for value in values if value is not None)


def _has_symbols(x: Array) -> bool:
    return any(getattr(entry, "free_symbols", None) for entry in x.ravel())

"""What cannot be compiled, refused in words before the work begins."""

import numpy as np

from kinetree.arrays import is_numeric
from kinetree.errors import InputError, ModelError
from kinetree.model import Model
from kinetree.model.numbers import numbers_of, strangest


def check_model(model: Model) -> None:
    """A kernel is made of numbers, for joints that move."""
    if model.n == 0:
        raise ModelError(
            f"{model.name!r} has no joint that moves, so no kernel can be made for it; "
            "kinetree.algorithms has every quantity of it. If the whole robot floats, "
            "kt.load(path, floating=True) gives it a free joint, on the command line --floating."
        )
    for name, x in numbers_of(model):
        if not is_numeric(np.asarray(x)):
            entry = strangest(x)
            raise ModelError(
                f"{name} of {model.name!r} holds {entry} ({type(entry).__name__}), but kernels are "
                "compiled for float64 numbers. Run kinetree.algorithms on symbols and mpmath "
                "numbers, or convert the model with model.astype(float)."
            )


def check_options(
    model: Model, name: str, *, framed: bool, loaded: bool, frame: str | None, wrenches: bool
) -> None:
    """Options that a quantity does not have; `framed`, `loaded`: those that it has."""
    if framed:
        model.frame(frame)  # an unknown frame names the known ones
    elif frame is not None:
        raise InputError(
            f"{name} belongs to no frame, but frame={frame!r} was given; poses and Jacobians do."
        )
    if wrenches and not loaded:
        raise InputError(
            f"{name} does not depend on external wrenches, but wrenches=True was given; "
            "inverse_dynamics, forward_dynamics and bias_forces do."
        )

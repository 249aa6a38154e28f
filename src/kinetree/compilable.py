"""What cannot be compiled, refused in words before the work begins."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.arrays import is_numeric
from kinetree.errors import InputError, ModelError
from kinetree.model import Model

NUMBERS = (int, float, np.number)
BODY = ("m", "com", "I_com")


def check_model(model: Model) -> None:
    """A kernel is made of numbers, for joints that move."""
    if model.n == 0:
        raise ModelError(
            f"{model.name!r} has no joint that moves, so no kernel can be made for it; "
            "kinetree.algorithms has every quantity of it. If the whole robot floats, "
            "kt.load(path, floating=True) gives it a free joint, on the command line --floating."
        )
    for name, x in _data(model):
        if not is_numeric(np.asarray(x)):
            entry = max(np.ravel(x).tolist(), key=_strangeness)
            raise ModelError(
                f"{name} of {model.name!r} holds {entry} ({type(entry).__name__}), but kernels are "
                "compiled for float64 numbers. Run kinetree.algorithms on symbols and mpmath "
                "numbers, or convert the model with model.astype(float)."
            )


def _strangeness(entry: Any) -> tuple[bool, int]:
    """What to show of an array of objects: a symbol rather than a number, a long one rather."""
    return not isinstance(entry, NUMBERS), len(str(entry))


def _data(model: Model) -> Iterator[tuple[str, Any]]:
    """Everything in a model that is a number, by name."""
    yield from ((key, getattr(model, key)) for key in ("M_pi", *BODY, "gravity"))
    yield from ((f"{key} of the base", x) for key, x in zip(BODY, model.base, strict=True))
    for x in model.joints:
        yield f"axis of joint {x.name!r}", () if x.screw is None else x.screw
        yield f"drive of joint {x.name!r}", (x.scale, x.offset, x.armature)
        yield f"friction of joint {x.name!r}", (*x.friction.viscous, *x.friction.coulomb)
    for rotor in model.rotors:
        name = model.joints[rotor.joint].name
        yield f"rotor of joint {name!r}", (rotor.inertia, rotor.ratio, *rotor.s)
    yield from ((f"pose of frame {name!r}", frame.T_if) for name, frame in model.frames.items())


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

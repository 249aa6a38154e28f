"""Stateful: a law with a declared memory, which is simulated and compiled with it.

A law that keeps an integral in an attribute is not a function of the state: an integrator calls it
at trial states, several times a step, and for every rollout of a batch. Declared as z, with the
rate

    dz/dt = law(t, q, dq, z)[1]

the memory is integrated together with the robot, for each rollout by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.core.options import numbers
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.simulate.controller import ByFunction, Reference, SignalValues, as_forces
from kinetree.simulate.functions import call, check_real, label


@dataclass(frozen=True, eq=False)
class Stateful(ByFunction):
    """A function tau, dz = law(t, q, dq, z) as a controller; the state z is simulated.

    The motion has z in `meta["controller_state"]`, (T, ..., m); its last entry, given as `initial`,
    continues a run that has ended.

    Args:
        function: returns tau, (n,), N m or N, and the rate of z, (m,); with a reference it is
            called as law(t, q, dq, z, *values).
        initial: z at the beginning, shape (..., m), in the units of z; leading axes are a batch of
            rollouts.
        reference: positions, shape (nq,), rad or m: an array, a function of t, s, that
            returns an array or a tuple of arrays, or a Trajectory; None: no reference.
    """

    function: Callable[..., tuple[ArrayLike, ArrayLike]]
    initial: ArrayLike
    reference: Reference | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", read_state(self.initial))
        super().__post_init__()

    def start(self, model: Model) -> Array:
        """Return the state at the beginning, (..., m).

        Args:
            model: the robot.
        """
        return np.asarray(self.initial)

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        law, name = self.function, label(self.function)
        result = call(name, law, t, q, dq, z, *given.get("reference", ()))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise InputError(
                f"{name} returned {type(result).__name__}; expected a pair: tau, one force for "
                f"each of {', '.join(model.dof_names)}, and dz, the rate of its state."
            )
        tau, dz = as_forces(result[0], model, f"{name}, as tau,"), np.array(result[1])
        refuse_labels(result[1], f"the rate dz of {name}")
        check_real(dz, f"{name}, as dz,")
        size = self.start(model).shape[-1]
        if dz.shape != (size,):
            raise ShapeError(
                f"{name} returned dz of shape {dz.shape}; expected ({size},): the rate of its "
                "state z."
            )
        return tau, dz


def read_state(value: ArrayLike) -> Array:
    """Read finite numbers (..., m), as a read-only copy."""
    name = "the initial state of a Stateful law"
    refuse_labels(value, name)
    x = np.array(numbers(value, name, "numbers (..., m)"))
    if x.ndim == 0:
        raise ShapeError(
            f"{name} is {float(x):g}; expected an array (..., m), "
            f"such as [{float(x):g}] for a single number."
        )
    if not np.isfinite(x).all():
        raise InputError(f"{name} is {x.tolist()}; expected finite numbers.")
    x.flags.writeable = False
    return x

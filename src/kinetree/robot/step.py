"""Robot.step: one step of simulate as a function that costs little more than its kernel."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.backends.kernel import Kernel
from kinetree.errors import InputError
from kinetree.kernels.memo import kernel
from kinetree.kernels.step import step_name
from kinetree.model import Model


def make_step(model: Model, like: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that `Robot.step` is; `like` has its documentation.

    Control loops call it a million times, so that the plain call comes first, and everything that
    it needs is at hand.
    """
    kernels: dict[str, Kernel] = {}  # by method
    longest = float("inf")

    def compiled(method: str) -> Kernel:
        return kernels.setdefault(method, kernel(model, step_name(method)))

    def step(
        q: object,
        dq: object,
        tau: object,
        dt: object,
        F_ext: object = None,
        *,
        method: str = "semi_implicit_euler",
        kp: Any = None,
        kd: Any = None,
        out: object = None,
    ) -> Any:
        try:
            found = kernels[method]
        except (KeyError, TypeError):  # the first time, or not a method
            found = compiled(method)
        if type(dt) is float and 0.0 < dt < longest and F_ext is out is kp is kd is None:
            return found(q, dq, tau, dt)
        given = [q, dq, tau, checked_length(dt)]
        if kp is not None or kd is not None:
            found = kernel(model, step_name(method, gains=True))
            like = kd if kp is None else kp
            zeros = like * 0 if hasattr(like, "dtype") else np.zeros(model.n)
            given += [zeros if kp is None else kp, zeros if kd is None else kd]
        given += [] if F_ext is None else [F_ext]
        return found(*given) if out is None else found(*given, out=out)

    step.__doc__, step.__qualname__, step.__module__ = like.__doc__, "Robot.step", like.__module__
    vars(step)["__signature__"] = inspect.signature(like)
    return step


def checked_length(dt: object) -> object:
    """Return dt, as a float if it is a number; raise InputError unless it is positive and finite.

    Arrays of NumPy, lists and numbers are looked at. Tensors are not: their values may be on
    another device, or not yet known.
    """
    if isinstance(dt, bool | str) or dt is None:
        raise InputError(f"dt is {dt!r}; expected the length of a step in seconds, such as 0.001.")
    if not isinstance(dt, complex | float | int | list | tuple | np.ndarray | np.generic):
        return dt
    values = np.asarray(dt)
    if values.dtype.kind not in "fiu":
        raise InputError(f"dt has values of type {values.dtype}; expected seconds as numbers.")
    bad = ~((values > 0) & np.isfinite(values))
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0]) if values.ndim else ()
        where = f"dt{list(at)}" if at else "dt"
        raise InputError(
            f"{where} is {float(values[at]):g}; expected the length of a step in seconds, positive "
            "and finite."
        )
    return float(values) if isinstance(dt, int | float | np.integer) else dt

"""The positions that a controller follows, sampled, as the result of a simulation keeps them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.containers import has_labels
from kinetree.model.inputs import coordinate_axis
from kinetree.motion.trajectory import Trajectory
from kinetree.present.charts import spread
from kinetree.simulate.core.setup import Setup

MAX_REFERENCE = 256  # samples; a reference that is a function is called once for each


def followed_positions(setup: Setup, t: Array) -> dict[str, Array] | None:
    """Times t (K,) of the motion and positions q (K, nq) of the reference at these times.

    None without a controller that follows joint positions, for rollouts, and for robots with
    constraints, of whose reference only the independent entries count.
    """
    controller = setup.acting.controller
    axes = getattr(type(controller), "named_fields", None) or {}
    reference = getattr(controller, "reference", None)
    if axes.get("reference") is not coordinate_axis or reference is None or setup.batch:
        return None
    if setup.model.constraints is not None or has_labels(reference):
        return None
    at = t[spread(len(t), MAX_REFERENCE)]
    if isinstance(reference, Trajectory):
        q = reference.curve(np.clip(at, reference.t[0], reference.t[-1]))[0]
    elif isinstance(reference, Callable):
        values = [reference(float(x)) for x in at]
        if any(map(has_labels, values)):
            return None
        q = np.array([positions(x) for x in values])
    else:
        q = np.broadcast_to(np.asarray(reference, float), (len(at), *np.shape(reference)))
    return {"t": at, "q": q} if q.shape == (len(at), setup.model.nq) else None


def positions(value: Any) -> Array:
    """The positions of a value of a reference, which may have rates and accelerations too."""
    return np.asarray(value[0] if isinstance(value, tuple) else value, float)

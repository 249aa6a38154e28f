"""A number that is made of a motion, J = final + sum of h running, and its slopes by the states."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinetree.algorithms.derivatives import tangent_map
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.derivatives import jacobian
from kinetree.compiler.graph import Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.trajectory import Trajectory


def cost_slopes(
    model: Model,
    motion: Trajectory,
    final: Callable[..., Any] | None,
    running: Callable[..., Any] | None,
) -> tuple[Array, Array]:
    """J, (...), and d J/d(q, dq) at each time, (T, ..., 2n), along tangent vectors."""
    if final is None and running is None:
        raise InputError("the cost has no parts; give final(q, dq), running(t, q, dq), or both.")
    n, lead = model.n, motion.batch_shape
    value, slopes = np.zeros(lead), np.zeros((len(motion), *lead, 2 * n))
    if final is not None:
        J, dJ = evaluated(model, final, "final", motion.q[-1], motion.dq[-1])
        value, slopes[-1] = value + J, dJ
    if running is not None:
        h = np.diff(motion.t).reshape(-1, *(1 for _ in lead))
        t = motion.t[:-1].reshape(h.shape)
        J, dJ = evaluated(model, running, "running", motion.q[:-1], motion.dq[:-1], t)
        value = value + (h * J).sum(0)
        slopes[:-1] += h[..., None] * dJ
    return value, slopes


def evaluated(
    model: Model, function: Callable[..., Any], name: str, q: Array, dq: Array, *t: Array
) -> tuple[Array, Array]:
    """The function and its slopes by (q, dq), at states of any leading shape."""
    ports = [Port("q", (model.nq,)), Port("dq", (model.n,))]
    ports = [Port("t", ()), *ports] if t else ports
    try:
        graph = trace(function, ports)
    except Exception as problem:
        raise InputError(
            f"{name} cannot be differentiated, because it cannot be traced: {problem}"
        ) from problem
    if [port.shape for port in graph.outputs] != [()]:
        shapes = ", ".join(str(port.shape) for port in graph.outputs)
        raise InputError(f"{name} returned arrays of shape {shapes}; expected one number.")
    along = {"q": partial(tangent_map, model)}
    slope = Kernel(optimise(jacobian(graph, ["q", "dq"], along=along)), name, dtypes=("float64",))
    by_q, by_dq = slope(*t, q, dq)
    return Kernel(optimise(graph), name, dtypes=("float64",))(*t, q, dq), np.concatenate(
        np.broadcast_arrays(by_q, by_dq), -1
    )

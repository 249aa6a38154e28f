"""Controllers step by step, for a loop of one's own: hardware, another simulator, a lesson."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.backends.kernel import Kernel
from kinetree.compilable import check_model
from kinetree.compiler.graph import Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.controllers.dynamics import model_of
from kinetree.model import Model
from kinetree.simulate.controller import as_controller
from kinetree.simulate.feed import Feed
from kinetree.simulate.inputs import make_feed
from kinetree.simulate.sources import time_source
from kinetree.simulate.system import Actors


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A controller, compiled for one robot: tau, dz = law(t, q, dq, z), over leading axes.

    It holds no state: z begins as `start` and is carried on by the caller, z = z + dz * dt. `note`
    says why it could not be compiled, where it could not.
    """

    start: Array
    note: str | None
    _model: Model
    _actors: Actors
    _feed: Feed
    _kernel: Kernel | None

    def __call__(self, t: float, q: Any, dq: Any, z: Any = None) -> tuple[Array, Array]:
        """tau, (..., n), and dz, (..., m), at time t."""
        q, dq = np.asarray(q, float), np.asarray(dq, float)
        z = self.start if z is None else np.asarray(z, float)
        times = np.array([t], float)
        s = self._feed.table(times, np.array([False]), ())[0, 0]
        p = self._feed.params(())[0]
        if self._kernel is None:
            given = self._feed.given(p, s)
            tau, dz = self._actors.forces(self._model, float(t), q, dq, z, given)
            return np.asarray(tau, float), np.asarray(dz, float)
        padded = np.concatenate([z, np.zeros((*z.shape[:-1], 1))], -1)
        tau, dz = self._kernel(float(t), q, dq, padded, p, s)
        return tau, dz[..., : self.start.shape[-1]]


def step_by_step(controller: Any, robot: Any) -> Stepwise:
    """A controller or law made ready for a loop of one's own.

    Args:
        controller: one of `kinetree.controllers`, or a function law(t, q, dq).
        robot: the robot that is controlled, or its model.
    """
    model = model_of(robot)
    assert model is not None
    check_model(model)
    acting = as_controller(controller)
    signals = {name: time_source(value, name) for name, value in acting.signals.items()}
    actors = Actors(acting, signals, None, None)
    feed = make_feed(model, actors, {})
    start = np.asarray(acting.start(model), float)

    def law(t: Any, q: Array, dq: Array, z: Array, p: Array, s: Array) -> tuple[Array, Array]:
        tau, dz = actors.forces(model, t, q, dq, z[:-1], feed.given(p, s))
        return tau, np.array([*dz, 0])  # no array of a kernel is empty

    sizes = {"q": model.nq, "dq": model.n, "z": len(start) + 1}
    sizes |= {"p": feed.params_size, "s": feed.table_size}
    ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
    try:
        graph = optimise(trace(law, ports, [("tau", ()), ("dz", ())]))
    except Exception as problem:
        note = f"runs in Python: {type(problem).__name__}: {str(problem).splitlines()[0]}"
        return Stepwise(start, note, model, actors, feed, None)
    return Stepwise(start, None, model, actors, feed, Kernel(graph, "law", dtypes=("float64",)))

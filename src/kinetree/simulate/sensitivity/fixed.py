"""Derivatives of fixed steps: the states are known, so many steps are differentiated at once.

Rates are differentiated through their graph (products.py): impulses of contacts have the
derivatives of the equations that they solve, in the mode that each contact has in a step.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.methods import Method
from kinetree.dynamics.state import StateSpace
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.step import stage_graph
from kinetree.simulate.core.fixed_steps import FixedSteps, step_inputs
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.checks import check_repeated, without_slope
from kinetree.simulate.sensitivity.inputs import Directions, Input
from kinetree.simulate.sensitivity.products import RateProducts, TangentMaps
from kinetree.simulate.tuning import DERIVATIVE_BLOCK

DOUBLE = ("float64",)


class FixedDerivatives:
    """The steps of a compiled loop with the kernels of their derivatives."""

    def __init__(
        self, steps: FixedSteps, setup: Setup, inputs: tuple[Input, ...], *, stops: bool
    ) -> None:
        self.steps, self.space, self.method = steps, steps.space, steps.method
        self.directions = Directions(self.space.rates, inputs, len(self.method.stages))
        external = step_inputs(setup, self.space, self.method)
        equations = EquationsOfMotion(self.space, setup.acting, external, self.method, stops)
        self.rates = RateProducts(equations, self.directions)
        self.changes = StageChanges(self.space, self.method)

    def all(self, x: Array, setup: Setup, times: Array) -> tuple[Array, dict[str, Array]]:
        """A, (E, B, N, N), of all steps, and for each input that enters a step (E, B, N, S, size).

        x: states, (E + 1, B, x). S is the number of stages for a signal, else 1.
        """
        E, B, N = len(x) - 1, x.shape[1], self.space.rates
        h, columns = np.diff(times), self.directions.count
        external = step_inputs(setup, self.space, self.method, times=times)
        params = np.broadcast_to(external.params(setup.batch), (B, external.params_size))
        stages = times[:-1, None] + h[:, None] * np.array(self.method.times)
        table = self.steps.table(external, stages, setup.batch)
        table = np.broadcast_to(table, (*table.shape[:2], B, table.shape[-1]))
        changes = np.empty((E, B, columns, N))
        block = max(1, DERIVATIVE_BLOCK // (B * N * (columns + N) * (len(self.method.stages) + 2)))
        for begin in range(0, E, block):
            part = slice(begin, min(begin + block, E))
            changes[part], reached = self._block(
                x[part], params, table[part], stages[part], h[part]
            )
            check_repeated(reached, x[part.start + 1 : part.stop + 1], times[part], setup.batch)
        return self.directions.split(changes)

    def _block(
        self, x: Array, params: Array, table: Array, stages: Array, h: Array
    ) -> tuple[Array, Array]:
        """Changes after some steps, (E, B, columns, N), and the states reached, (E, B, x)."""
        E, B, N = *x.shape[:2], self.space.rates
        x, h = x.reshape(E * B, -1), np.repeat(h, B)
        p = np.broadcast_to(params, (E, *params.shape)).reshape(E * B, -1)
        dx = np.zeros((E * B, self.directions.count, N))
        dx[:, np.arange(N), np.arange(N)] = 1
        reached, changed, ks, dks = x, dx, list[Array](), list[Array]()
        for i in range(len(self.method.stages)):
            t, s = np.repeat(stages[:, i], B), table[:, i].reshape(E * B, -1)
            k, _ = self.steps.system.rate(t, reached, p, s)
            ks.append(k)
            dks.append(self._rate_change(i, (t, reached, p, s), changed))
            reached = self.changes.reach(i, h, x, ks)
            changed = self.changes.move(i, h, x, ks, dx, dks, reached)
        return changed.reshape(E, B, -1, N), reached.reshape(E, B, -1)

    def _rate_change(self, i: int, at: tuple[Array, ...], dx: Array) -> Array:
        """Changes of the rates at stage i, (S, columns, N), for changes dx of its states.

        at: t (S,), x (S, x), p (S, p) and s (S, s).
        """
        directions, (t, x, p, s) = self.directions, at
        here = np.arange(directions.values) == i  # each stage has its own values of signals
        weights = np.repeat(here[None, :, None], len(directions.signals), -1)
        by_x, by_samples = self.changes.maps.along(x, dx), self.rates.by_samples(weights)
        dk = self.rates.changes(t, x, p, s, by_x, by_samples)
        _, dq, _ = self.space.split(x)
        constants = dk[:, directions.of_constants].swapaxes(-1, -2)
        marked = without_slope(self.space.model, dq, constants, directions.constants)
        dk[:, directions.of_constants] = marked.swapaxes(-1, -2)
        return dk


class StageChanges:
    """The stages of a method with their derivatives: they carry states and changes.

    Joints turn, contacts move bodies straight, and the end of a step is moved onto the constraints.
    """

    def __init__(self, space: StateSpace, method: Method) -> None:
        self.maps = TangentMaps(space)
        self.stages: list[tuple[Kernel, Kernel]] = []
        for i in range(len(method.stages)):
            graph = stage_graph(space, method, i)
            product = optimise(jvp(graph, [port.name for port in graph.inputs[1:]]))
            made = (Kernel(graph, "stage", dtypes=DOUBLE), Kernel(product, "move", dtypes=DOUBLE))
            self.stages.append(made)

    def reach(self, i: int, h: Array, x: Array, k: Sequence[Array]) -> Array:
        """States after stage i, (S, x)."""
        return self.stages[i][0](h, x, *k)

    def move(
        self,
        i: int,
        h: Array,
        x: Array,
        k: Sequence[Array],
        dx: Array,
        dk: Sequence[Array],
        reached: Array,
    ) -> Array:
        """Changes after stage i, from those of the state at the beginning of the step.

        Args:
            i: number of the stage.
            h: (S,); x: (S, x); k: each (S, N), of S steps.
            dx: changes of x, (S, c, N), c directions side by side; dk: of k, the same.
            reached: states after the stage, (S, x).
        """
        at = (h[:, None], *(y[:, None] for y in (x, *k)))
        changed = self.stages[i][1](*at, self.maps.along(x, dx), *dk)
        return self.maps.back(reached, changed)

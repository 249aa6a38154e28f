"""Derivatives of fixed steps: the states are known, so many steps are differentiated at once.

A stage leads from x along v(h, x, k_1, ...) to exp_x(v). v is differentiated through its graph. For
a joint that turns, with the tangents of q multiplied from the right,

    d(q exp(v)) = exp(-ad v) dq + phi(-ad v) dv,    phi(X) = (exp(X) - 1) / X

and both are blocks of one matrix exponential; the coordinates of other joints add.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from kinetree.algorithms.derivatives.forward_dynamics import discretize, turning
from kinetree.algorithms.state import StateSpace
from kinetree.algorithms.steps import Method, Stage
from kinetree.base.arrays import Array
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.model import Model
from kinetree.motion.curve.between import curved
from kinetree.scalars import Scalar
from kinetree.simulate.core.fixed_steps import FixedSteps, step_inputs
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.checks import (
    check_repeated,
    check_sliding,
    coulomb_joints,
    without_slope,
)
from kinetree.simulate.sensitivity.inputs import Directions, Input
from kinetree.simulate.sensitivity.rates import RateChanges, StageStates
from kinetree.simulate.tuning import DERIVATIVE_BLOCK


class FixedDerivatives:
    """The steps of a compiled loop with the kernels of their derivatives."""

    def __init__(self, steps: FixedSteps, setup: Setup, inputs: tuple[Input, ...]) -> None:
        self.steps, self.space, self.method = steps, steps.space, steps.method
        self.directions = Directions(self.space.rates, inputs, len(self.method.stages))
        external = step_inputs(setup, self.space, self.method)
        equations = EquationsOfMotion(self.space, setup.acting, external, self.method)
        self.rates = RateChanges(equations, self.directions)
        self.changes = StageChanges(self.space, self.method, steps.stepping.stages)

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
            at = StageStates(t, reached, p, s)
            k, tau = self.steps.system.rate(at.t, at.x, at.p, at.s)
            ks.append(k)
            dks.append(self._rate_change(at, k, tau, changed, i))
            changed = self.changes.move(i, h, x, ks, dx, dks)
            reached = self.changes.reach(i, h, x, ks)
        return changed.reshape(E, B, -1, N), reached.reshape(E, B, -1)

    def _rate_change(self, at: StageStates, k: Array, tau: Array, dx: Array, i: int) -> Array:
        """Changes of the rates k at stage i, (S, columns, N), for changes dx of the states."""
        model, directions = self.rates.model, self.directions
        _, dq, _ = self.space.split(at.x)
        if self.space.dry:
            data = dict(zip(self.rates.free, self.rates.data(at.p), strict=True))
            smooth = self.rates.joint_forces(at, k)
            dry = coulomb_joints(model, data.get("friction"))
            check_sliding(model, dry, at.t, dq, self.rates.acting_forces(at, k, tau), smooth)
        slopes = self.rates.slopes(at, k)
        constants = without_slope(model, dq, slopes.constants, directions.constants)
        dk = dx @ slopes.x.swapaxes(-1, -2)
        dk[:, directions.of_constants] += constants.swapaxes(-1, -2)
        here = directions.of_constants.stop + i * directions.width
        dk[:, here : here + directions.width] += slopes.samples.swapaxes(-1, -2)
        return dk


class StageChanges:
    """A method on a space, ready to carry states and changes through its stages.

    graphs: of the states that stages lead to.
    """

    def __init__(self, space: StateSpace, method: Method, graphs: Sequence[Graph]) -> None:
        self.space = space
        self.vectors = [StageVector(space, stage, i) for i, stage in enumerate(method.stages)]
        turns = graphs if curved(space.model) else ()
        self.stages = [Kernel(graph, "stage", dtypes=("float64",)) for graph in turns]

    def reach(self, i: int, h: Array, x: Array, k: Sequence[Array]) -> Array:
        """States after stage i, (S, x)."""
        if self.stages:
            return self.stages[i](h, x, *k)
        return x + self.vectors[i].value(h, x[:, self.space.model.nq :], *k)

    def move(
        self, i: int, h: Array, x: Array, k: Sequence[Array], dx: Array, dk: Sequence[Array]
    ) -> Array:
        """Changes after stage i, from those of the state at the beginning of the step.

        Args:
            i: number of the stage.
            h: (S,); x: (S, x); k: each (S, N), of S steps.
            dx: changes of x, (S, c, N), c directions side by side; dk: of k, the same.
        """
        model, vector = self.space.model, self.vectors[i]
        n, r = model.n, x[:, model.nq :]
        v = vector.change(h, (r, *k), (dx[..., n:], *dk))
        turned = _moved(model, vector.value(h, r, *k)[:, :n], dx[..., :n], v[..., :n])
        return np.concatenate([turned, dx[..., n:] + v[..., n:]], -1)


def _moved(model: Model, v: Array, dq: Array, dv: Array) -> Array:
    """Change of q exp(v), tangent there, (S, c, n), of changes dq and dv; v: (S, n)."""
    moved = dq + dv
    for joint in model.joints:
        dofs = list(joint.dofs)
        if len(dofs) > 1:
            bracket = turning(model, v)[(..., *np.ix_(dofs, dofs))]
            E, phi = discretize(-bracket, np.broadcast_to(np.eye(len(dofs)), bracket.shape), 1.0)
            along = dq[..., dofs] @ E.swapaxes(-1, -2), dv[..., dofs] @ phi.swapaxes(-1, -2)
            moved[..., dofs] = along[0] + along[1]
    return moved


class StageVector:
    """The tangent vector of one stage, v(h, r, k_1, ...) with r = (dq, z), and its changes.

    If no joint turns, v is linear in r and k, and the stage runs on arrays of steps as it is.
    """

    def __init__(self, space: StateSpace, stage: Stage, i: int) -> None:
        self.space, self.stage = space, stage
        self.unmoved = cast(StateSpace, _UnmovedSpace(space))
        self.adds = not curved(space.model)
        if self.adds:
            self.value = self._added
            return
        after_q = space.size - space.model.nq
        ports = [Port("h", ()), Port("r", (after_q,))]
        ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
        graph = optimise(trace(self._vector, ports, [("v", ())]))
        self.value = Kernel(graph, "v", dtypes=("float64",))
        names = [port.name for port in ports[1:]]
        self.slope = Kernel(optimise(jvp(graph, names)), "dv", dtypes=("float64",))

    def change(self, h: Array, at: Sequence[Array], along: Sequence[Array]) -> Array:
        """Changes of v, (S, c, N), at (r, k_1, ...), each (S, N), along changes, each (S, c, N)."""
        if self.adds:
            return self._added(h[:, None], *along)
        return self.slope(h[:, None], *(y[:, None] for y in at), *along)

    def _vector(self, h: Scalar, r: Array, *k: Array) -> Array:
        """v, its entries along the first axis; it does not depend on q."""
        q = np.zeros((self.space.model.nq, *r.shape[1:]), int)
        return self.stage(self.unmoved, h, np.concatenate([q, r]), k)

    def _added(self, h: Array, r: Array, *k: Array) -> Array:
        """v of many steps, (S, ..., N)."""
        return np.moveaxis(self._vector(h, *(np.moveaxis(y, -1, 0) for y in (r, *k))), 0, -1)


class _UnmovedSpace:
    """A stand-in for StateSpace in which `plus` returns the tangent vector itself.

    A stage that runs on it returns v in the place of the state that v leads to.
    """

    def __init__(self, space: StateSpace) -> None:
        self.model = space.model
        self.inverse_rate = space.inverse_rate if curved(space.model) else _unturned

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """q, dq and z, along the first axis."""
        a, b = self.model.nq, self.model.nq + self.model.n
        return x[:a], x[a:b], x[b:]

    def plus(self, x: Array, v: Array) -> Array:
        """The tangent vector."""
        return v

    def settle(self, before: Array, after: Array) -> Array:
        """The rates as they are: joints that come to rest were refused before."""
        return after


def _unturned(u: Array, k: Array) -> Array:
    return k

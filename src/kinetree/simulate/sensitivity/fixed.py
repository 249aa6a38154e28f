"""Many steps at once: the states are known, so every step is differentiated by itself."""

# TODO merge docstring of kinetree.simulate.sensitivity.fixed:
# How small changes go through one step of a method, along tangent vectors.
#
# A stage leads from x along v(h, x, k_1, ...) to exp_x(v). v is differentiated through its graph. For
# a joint that turns, with the tangents of q multiplied from the right,
#
#     d(q exp(v)) = exp(-ad v) dq + phi(-ad v) dv,    phi(X) = (exp(X) - 1) / X
#
# and both are blocks of one matrix exponential; other joints add.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.linearize import discretize, turning
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.derivatives import jvp
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.core.fixed_steps import FixedSteps, Method, with_stop
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.state import StateSpace, plain
from kinetree.simulate.sensitivity.checks import check_sliding, rough, without_slope
from kinetree.simulate.sensitivity.inputs import STATE, Input
from kinetree.simulate.sensitivity.rates import RateChanges

LOST = 1e-6  # a step is repeated to rounding, or it is not the same
SCRATCH = 2**22  # numbers that a block of steps may take


class Way:
    """The tangent vector of one stage, v(h, r, k_1, ...) with r = (dq, z), and its changes.

    Where every joint adds, v is linear in r and k, and the stage runs on arrays of steps as it is.
    """

    def __init__(self, space: StateSpace, stage: Callable[..., Array], i: int) -> None:
        self.space, self.stage = space, stage
        self.stays = _Stays(space)
        self.adds = plain(space.model)
        if self.adds:
            self.value = self.added
            return
        rest = space.size - space.model.nq
        ports = [Port("h", ()), Port("r", (rest,))]
        ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
        graph = optimise(trace(self.vector, ports, [("v", ())]))
        self.value = Kernel(graph, "v", dtypes=("float64",))
        names = [port.name for port in ports[1:]]
        self.slope = Kernel(optimise(jvp(graph, names)), "dv", dtypes=("float64",))

    def change(self, h: Array, at: Sequence[Array], along: Sequence[Array]) -> Array:
        """Changes of v, (S, c, N), at (r, k_1, ...), each (S, N), along changes, each (S, c, N)."""
        if self.adds:
            return self.added(h[:, None], *along)
        return self.slope(h[:, None], *(y[:, None] for y in at), *along)

    def vector(self, h: Any, r: Array, *k: Array) -> Array:
        """V, its entries along the first axis; it does not look at q."""
        q = np.zeros((self.space.model.nq, *r.shape[1:]), int)
        return self.stage(self.stays, h, np.concatenate([q, r]), k)

    def added(self, h: Array, r: Array, *k: Array) -> Array:
        """V of many steps, (S, ..., N)."""
        return np.moveaxis(self.vector(h, *(np.moveaxis(y, -1, 0) for y in (r, *k))), 0, -1)


class _Stays:
    """A space in which a stage ends where it began: `plus` is the tangent vector itself."""

    def __init__(self, space: StateSpace) -> None:
        self.model = space.model
        self.inverse_rate = _unturned if plain(space.model) else space.inverse_rate

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """q, dq and z, along the first axis."""
        a, b = self.model.nq, self.model.nq + self.model.n
        return x[:a], x[a:b], x[b:]

    def plus(self, x: Array, v: Array) -> Array:
        """Where to, seen from x."""
        return v

    def settle(self, before: Array, after: Array) -> Array:
        """Joints that come to rest are refused before."""
        return after


def _unturned(u: Array, k: Array) -> Array:
    return k


class StepChanges:
    """A method on a space, ready to carry states and changes through its stages.

    graphs: of the states that stages lead to.
    """

    def __init__(self, space: StateSpace, method: Method, graphs: Sequence[Graph]) -> None:
        self.space = space
        self.ways = [Way(space, stage, i) for i, stage in enumerate(method.stages)]
        turns = () if plain(space.model) else graphs
        self.stages = [Kernel(graph, "stage", dtypes=("float64",)) for graph in turns]

    def reach(self, i: int, h: Array, x: Array, k: Sequence[Array]) -> Array:
        """States after stage i, (S, x)."""
        if self.stages:
            return self.stages[i](h, x, *k)
        return x + self.ways[i].value(h, x[:, self.space.model.nq :], *k)

    def move(
        self, i: int, h: Array, x: Array, k: Sequence[Array], dx: Array, dk: Sequence[Array]
    ) -> Array:
        """Changes after stage i of those of the state that the step began with.

        Args:
            i: number of the stage.
            h: (S,); x: (S, x); k: each (S, N), of S steps.
            dx: changes of x, (S, c, N), c directions side by side; dk: of k, the same.
        """
        model, way = self.space.model, self.ways[i]
        n, r = model.n, x[:, model.nq :]
        v = way.change(h, (r, *k), (dx[..., n:], *dk))
        turned = moved(model, way.value(h, r, *k)[:, :n], dx[..., :n], v[..., :n])
        return np.concatenate([turned, dx[..., n:] + v[..., n:]], -1)


def moved(model: Model, v: Array, dq: Array, dv: Array) -> Array:
    """Change of q exp(v), tangent there, (S, c, n), of changes dq and dv; v: (S, n)."""
    found = dq + dv
    for joint in model.joints:
        own = list(joint.dofs)
        if len(own) > 1:
            bracket = turning(model, v)[(..., *np.ix_(own, own))]
            E, phi = discretize(-bracket, np.broadcast_to(np.eye(len(own)), bracket.shape), 1.0)
            along = dq[..., own] @ E.swapaxes(-1, -2), dv[..., own] @ phi.swapaxes(-1, -2)
            found[..., own] = along[0] + along[1]
    return found


class StepRun:
    """The steps of a compiled loop with the kernels of their derivatives."""

    def __init__(self, steps: FixedSteps, setup: Setup, inputs: Sequence[Input]) -> None:
        self.steps, self.space, self.method = steps, steps.space, steps.method
        external = with_stop(setup.external, self.space)
        self.rates = RateChanges(self.space, setup.actors, external, inputs)
        self.changes = StepChanges(self.space, self.method, steps.stepping.stages)

    def all(
        self, x: Array, setup: Setup, times: Array, inputs: Sequence[Input]
    ) -> tuple[Array, dict[str, Array]]:
        """A, (E, *batch, N, N), and for each input that enters a step (E, *batch, N, ...).

        x: states, (E + 1, B, x). The slopes by a signal have a further axis of stages before its
        own: (E, *batch, N, S, ...).
        """
        E, B, N = len(x) - 1, x.shape[1], self.space.rates
        h = np.diff(times)
        external = with_stop(setup.external, self.space, self.method.braking / float(h[0]))
        params = np.broadcast_to(external.params(setup.batch), (B, external.params_size))
        stages = times[:-1, None] + h[:, None] * np.array(self.method.times)
        table = self.steps.table(external, stages, setup.batch)
        table = np.broadcast_to(table, (*table.shape[:2], B, table.shape[-1]))
        found = np.empty((E, B, self.columns, N))
        block = max(1, SCRATCH // (B * N * (self.columns + N) * (len(self.method.stages) + 2)))
        for begin in range(0, E, block):
            part = slice(begin, min(begin + block, E))
            found[part], reached = self.block(x[part], params, table[part], stages[part], h[part])
            check_reached(reached, x[part.start + 1 : part.stop + 1], times[part], setup.batch)
        found = found.swapaxes(-1, -2).reshape(E, *setup.batch, N, self.columns)
        return found[..., :N], self.split(found, inputs)

    @property
    def columns(self) -> int:
        """Directions of a step: its state, constants, and samples at each of its stages."""
        constants = sum(x.size for x in self.rates.constants)
        samples = sum(x.size for x in self.rates.samples)
        return self.space.rates + constants + samples * len(self.method.stages)

    def block(
        self, x: Array, params: Array, table: Array, stages: Array, h: Array
    ) -> tuple[Array, Array]:
        """Changes after some steps, (E, B, columns, N), and the states reached, (E, B, x)."""
        E, B, N = *x.shape[:2], self.space.rates
        x, h = x.reshape(E * B, -1), np.repeat(h, B)
        p = np.broadcast_to(params, (E, *params.shape)).reshape(E * B, -1)
        dx = np.zeros((E * B, self.columns, N))
        dx[:, np.arange(N), np.arange(N)] = 1
        begun, dbegun, ks, dks = x, dx, [], []
        for i in range(len(self.method.stages)):
            t, s = np.repeat(stages[:, i], B), table[:, i].reshape(E * B, -1)
            k, tau = self.steps.system.rate(t, begun, p, s)
            ks.append(k)
            dks.append(self.rate_change(t, begun, p, s, k, tau, dbegun, i))
            dbegun = self.changes.move(i, h, x, ks, dx, dks)
            begun = self.changes.reach(i, h, x, ks)
        return dbegun.reshape(E, B, self.columns, N), begun.reshape(E, B, -1)

    def rate_change(
        self, t: Array, x: Array, p: Array, s: Array, k: Array, tau: Array, dx: Array, i: int
    ) -> Array:
        """Changes of the rates at stage i, (S, columns, N)."""
        n, model = self.space.model.n, self.space.model
        _, dq, _ = self.space.split(x)
        if self.space.dry:
            data = dict(zip(self.rates.free, self.rates.data_of(p), strict=True))
            smooth = self.rates.joint_forces(t, x, p, s, k)
            dry = rough(model, data.get("friction"))
            check_sliding(model, dry, t, dq, tau[:, :n], smooth)
        slopes = self.rates.slopes(t, x, p, s, k)
        constants = without_slope(model, dq, slopes.constants, self.rates.constants)
        dk = dx @ slopes.x.swapaxes(-1, -2)
        N, c, m = self.space.rates, constants.shape[-1], slopes.samples.shape[-1]
        dk[:, N : N + c] += constants.swapaxes(-1, -2)
        here = N + c + i * m
        dk[:, here : here + m] += slopes.samples.swapaxes(-1, -2)
        return dk

    def split(self, found: Array, inputs: Sequence[Input]) -> dict[str, Array]:
        """The columns after the state by name."""
        at, by, lead = self.space.rates, {}, found.shape[:-1]
        for x in self.rates.constants:
            by[x.name] = found[..., at : at + x.size].reshape(*lead, *x.shape)
            at += x.size
        width = sum(x.size for x in self.rates.samples)
        rest = found[..., at:].reshape(*lead, len(self.method.stages), width)
        at = 0
        for x in self.rates.samples:
            part = rest[..., at : at + x.size]
            by[x.name] = part.reshape(*lead, len(self.method.stages), *x.shape)
            at += x.size
        return {x.name: by[x.name] for x in inputs if x.name not in STATE}


def check_reached(reached: Array, simulated: Array, times: Array, batch: tuple[int, ...]) -> None:
    """Refuse rollouts that ran away, which a simulation of a batch lets stand still instead."""
    size = 1 + np.abs(simulated)
    wrong = ~(np.abs(reached - simulated) <= LOST * size).all(-1)
    if wrong.any():
        step, b = (int(k) for k in np.argwhere(wrong)[0])
        where = [int(k) for k in np.unravel_index(b, batch)] if batch else []
        raise InputError(
            f"rollout {where} is not finite after t = {times[step]:.6g} s, where the simulation "
            "lets it stand still; a motion that ran away has no derivatives. Take a smaller dt, or "
            "leave the rollout out."
        )

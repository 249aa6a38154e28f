"""Derivatives of adaptive steps: the motion and its changes take each step together.

A Runge-Kutta method applied to dx/dt = f(x, u) and to its linearisation

    d(dx)/dt = f_x dx + f_u du

with the lengths of its steps as they were gives exactly the derivatives of its own steps, and of
the results between their ends. Within a step the coordinates move on straight lines, so that
quaternions leave length 1: there f is differentiated by all coordinates, not along tangent vectors.
At the beginning and at the end of a step changes are tangent vectors.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kinetree.algorithms import with_parameters
from kinetree.algorithms.state import StateSpace, quaternions, tangents
from kinetree.algorithms.stiction import dry_dofs
from kinetree.base.arrays import Array
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.model import Model
from kinetree.motion.curve.between import curved
from kinetree.scalars import Scalar, where
from kinetree.simulate.core.adaptive import AdaptiveSteps
from kinetree.simulate.core.dop853 import Slope, dense_output, take_step
from kinetree.simulate.core.external import NamedParts
from kinetree.simulate.core.integration import AcceptedSteps
from kinetree.simulate.core.rollouts import Rollouts
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.checks import without_slope
from kinetree.simulate.sensitivity.inputs import (
    PARAMETERS,
    Directions,
    Input,
    Numbers,
    Weights,
    sample_numbers,
)
from kinetree.simulate.sensitivity.rates import checked_parameters, traced_forces
from kinetree.simulate.sensitivity.result import ResultsInSteps
from kinetree.simulate.tuning import DERIVATIVE_BLOCK, STEP_ARRAYS

SIDES = 2  # values of a signal that enter a step: of the samples before and after it


class AdaptiveDerivatives:
    """An adaptive loop with the kernel of its changes."""

    def __init__(self, steps: AdaptiveSteps, setup: Setup, inputs: tuple[Input, ...]) -> None:
        self.steps, self.space = steps, steps.space
        self.directions = Directions(self.space.rates, inputs, SIDES)
        external = steps.with_modes(setup).external
        equations = EquationsOfMotion(self.space, setup.acting, external, None)
        self.products = RateProducts(equations, self.directions)
        self.maps = TangentMaps(self.space)

    def all(
        self,
        steps: AcceptedSteps,
        run: Run,
        setup: Setup,
        inputs: Sequence[Input],
        times: Array,
    ) -> tuple[Array, dict[str, Array], ResultsInSteps, dict[str, Weights]]:
        """A, (K, B, N, N), B by name, the results inside the steps, and weights by name.

        Rollouts with fewer steps than K, the most, stand still: A is 1 and B is 0.
        """
        count, N, C = len(setup.x0), self.space.rates, self.directions.count
        rollouts, K = self.steps.rollouts(setup), int(steps.number.max()) + 1
        # the loop may have been made for signals with other samples: those of `inputs` count
        signals = [x for x in inputs if x.weights is not None]
        numbers = [sample_numbers(getattr(run, x.name)) for x in signals]
        pairs = list(zip(signals, numbers, strict=True))
        first = [_first_sample(x, at, steps) for x, at in pairs]
        at_ends, inside = np.zeros((K, count, C, N)), np.zeros((len(times), count, C, N))
        at_ends[..., :N, :] = inside[0, :, :N] = np.eye(N)
        step = np.zeros((len(times), count), int)
        block = max(1, DERIVATIVE_BLOCK // (STEP_ARRAYS * self.space.size * (C + 1)))
        for begin in range(0, len(steps.t), block):
            part = np.arange(begin, min(begin + block, len(steps.t)))
            rows, (which, result) = steps.rollout[part], steps.results(part, len(times))
            places = [(at, before[part]) for at, before in zip(numbers, first, strict=True)]
            slope = self._slope(rollouts, rows, steps.modes[part], places)
            ends, between = self._block(steps, part, slope, which, times[result])
            at_ends[steps.number[part], rows], inside[result, rows[which]] = ends, between
            step[result, rows[which]] = steps.number[part][which]
        A, B = self.directions.split(at_ends)
        P, Q = self.directions.split(inside)
        weights = {
            x.name: _sides(x, before, steps, (K, count))
            for x, before in zip(signals, first, strict=True)
        }
        return A, B, ResultsInSteps(step, P, Q), weights

    def _slope(
        self,
        rollouts: Rollouts,
        rows: Array,
        modes: Array,
        signals: Sequence[tuple[Numbers, Array]],
    ) -> Slope:
        """Rates of states x with those of their changes behind them, (S, x + columns x).

        signals: for each, the number of the sample at a time, and that of the one before a step.
        """
        p, size = rollouts.params[rows], self.space.size
        p[:, rollouts.at_end] = modes

        def slope(t: Array, z: Array, ends: bool) -> Array:
            x, dx = z[:, :size], z[:, size:].reshape(len(z), -1, size)
            s = rollouts.signals(t, ends, rows)
            late = np.full(len(t), ends)
            ds = self.products.by_samples([at(t, late) - first for at, first in signals])
            k, _ = rollouts.system.rate(t, x, p, s)
            dk = self.products.changes(t, x, p, s, dx, ds)
            return np.concatenate([k, dk.reshape(len(z), -1)], -1)

        return slope

    def _block(
        self, steps: AcceptedSteps, part: Array, slope: Slope, which: Array, times: Array
    ) -> tuple[Array, Array]:
        """Tangents at the ends of some steps, (S, columns, N), and at results in them."""
        t, h, x = steps.t[part], steps.h[part], steps.x[part]
        dx = np.zeros((len(x), self.directions.count, self.space.size))
        dx[:, : self.space.rates] = self.maps.out(x).swapaxes(-1, -2)
        z = np.concatenate([x, dx.reshape(len(x), -1)], -1)
        step = take_step(slope, t, h, z, slope(t, z, False), steps.until[part])
        ends = self._tangents(step.end, x)
        if not len(which):
            return ends, np.zeros((0, *ends.shape[1:]))
        share = np.clip((times - t[which]) / h[which], 0, 1)
        between = dense_output(slope, step).at(which, share)
        return ends, self._tangents(between, x[which])

    def _tangents(self, z: Array, begun: Array) -> Array:
        """Changes behind states as tangent vectors, (S, columns, N); begun: where steps began."""
        size, (model, at) = self.space.size, (self.space.model, self.directions.of_constants)
        changes = self.maps.back(z[:, :size], z[:, size:].reshape(len(z), -1, size))
        _, dq, _ = self.space.split(begun)
        constants = changes[:, at].swapaxes(-1, -2)
        constants = without_slope(model, dq, constants, self.directions.constants)
        changes[:, at] = constants.swapaxes(-1, -2)
        return changes


def _first_sample(signal: Input, numbers: Numbers, steps: AcceptedSteps) -> Array:
    """The number of the sample before each step, (S,): steps end at the times of samples."""
    middle = numbers(steps.t + steps.h / 2, np.zeros(len(steps.t), bool))
    return np.clip(np.floor(middle).astype(int), 0, max(0, signal.samples - 2))


def _sides(signal: Input, first: Array, steps: AcceptedSteps, shape: tuple[int, int]) -> Weights:
    """The samples on either side of every step of every rollout."""
    assert signal.weights is not None
    before = np.zeros(shape, int)
    before[steps.number, steps.rollout] = first
    share = np.broadcast_to(np.array([0.0, 1.0])[:, None], (shape[0], SIDES, shape[1]))
    return replace(signal.weights, first=np.stack([before, before], 1), share=share)


class RateProducts:
    """The kernel of d f for changes of x, of constants p, of samples s, and of pi."""

    def __init__(self, equations: EquationsOfMotion, directions: Directions) -> None:
        self.directions, self.external = directions, equations.external
        constants = directions.constants
        by_pi = any(x.name == PARAMETERS for x in constants)
        self.pi = [checked_parameters(equations.space.model)] if by_pi else []
        graph = _rate_graph(equations, self.pi)
        self.wrt = ["x"]
        self.wrt += ["p"] if any(x.place is not None for x in constants) else []
        self.wrt += ["s"] if directions.signals else []
        self.wrt += ["pi"] if by_pi else []
        self.change = Kernel(optimise(jvp(graph, self.wrt)), "changes", dtypes=("float64",))

    def by_constants(self) -> dict[str, Array]:
        """Changes of p and of pi in every direction, (columns, size)."""
        sizes = {"p": self.external.params_size, "pi": len(self.pi[0]) if self.pi else 0}
        columns, at = self.directions.count, self.directions.states
        changes = {name: np.zeros((columns, size)) for name, size in sizes.items()}
        for constant in self.directions.constants:
            entries = np.arange(constant.size)
            first = 0 if constant.place is None else constant.place.start
            changes["pi" if constant.name == PARAMETERS else "p"][at + entries, first + entries] = 1
            at += constant.size
        return changes

    def by_samples(self, shares: Sequence[Array]) -> Array:
        """Changes of s, (S, columns, s), if signals are at shares (S,) between two samples."""
        count, directions = len(shares[0]) if shares else 1, self.directions
        changes = np.zeros((count, directions.count, self.external.table_size))
        at = directions.of_constants.stop
        for side in range(SIDES):
            for signal, share in zip(directions.signals, shares, strict=True):
                assert signal.place is not None
                entries, weight = np.arange(signal.size), share if side else 1 - share
                changes[:, at + entries, signal.place.start + entries] = weight[:, None]
                at += signal.size
        return changes

    def changes(self, t: Array, x: Array, p: Array, s: Array, dx: Array, ds: Array) -> Array:
        """d f, (S, columns, x), of dx, (S, columns, x); t (S,), x (S, x), p (S, p), s (S, s)."""
        by = self.by_constants() | {"x": dx, "s": ds}
        state = (t[:, None], *(y[:, None] for y in (x, p, s)))
        return self.change(*state, *self.pi, *(by[name] for name in self.wrt))


def _rate_graph(equations: EquationsOfMotion, pi: Sequence[Array]) -> Graph:
    """The graph of f(t, x, p, s), and of pi if it is differentiated by."""
    space = equations.space

    def rate(t: Scalar, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        def changed(model: Model, inputs: NamedParts, dq: Array) -> tuple[Model, NamedParts]:
            if not pi:
                return model, inputs
            return with_parameters(model, pi[0]), {**inputs, **_all_sliding(space, inputs, dq)}

        loads = equations.loads(t, x, p, s, changed)
        moving, ddq, _ = equations.motion(loads, traced=bool(pi))
        return np.concatenate([moving, ddq, loads.dz])

    return traced_forces(equations, rate, "k", pi)


def _all_sliding(space: StateSpace, inputs: NamedParts, dq: Array) -> NamedParts:
    """The direction in which every joint slides: pi holds the Coulomb friction of all of them."""
    if "mode" not in inputs:
        return {}
    known = dict(zip(dry_dofs(space.model), inputs["mode"][0], strict=True))
    sticking = dry_dofs(space.model, ["friction"])
    order = dict.fromkeys(d for joint in space.model.joints for d in joint.dofs if d in sticking)
    way = [known[d] if d in known else where(dq[d], 1, -1) for d in order]
    return {"mode": (np.array(way),)}


class TangentMaps:
    """Between tangent vectors of states and changes of their coordinates, for many states."""

    def __init__(self, space: StateSpace) -> None:
        self.space, ports = space, [Port("x", (space.size,))]
        self.graph = trace(partial(tangents, space), ports) if curved(space.model) else None

    def out(self, x: Array) -> Array:
        """Changes of the coordinates for unit tangent vectors, (S, x, N)."""
        if self.graph is None:
            return np.broadcast_to(np.eye(self.space.size), (len(x), self.space.size, x.shape[-1]))
        return interpret(self.graph, x)[0]

    def back(self, x: Array, dx: Array) -> Array:
        """Tangent vectors at the state with unit quaternions, (S, c, N), of dx, (S, c, x)."""
        if self.graph is None:
            return dx
        length = np.ones_like(x)  # of the quaternion that an entry belongs to, else 1
        for entries in quaternions(self.space.model):
            length[:, entries] = np.linalg.norm(x[:, entries], axis=-1, keepdims=True)
        N = self.out(x / length)
        return (dx / length[:, None]) @ N / (N * N).sum(-2)[:, None]  # columns are orthogonal

"""Derivatives of adaptive steps: the motion and its changes take each step together.

A Runge-Kutta method applied to dx/dt = f(x, u) and to its linearisation

    d(dx)/dt = f_x dx + f_u du

with the lengths of its steps as they were gives exactly the derivatives of its own steps, and of
the results between their ends. Within a step the coordinates move on straight lines, so that
quaternions leave length 1 and loops open: there f is differentiated by all coordinates, not along
tangent vectors. At the beginning and at the end of a step, after the state was made normal, changes
are tangent vectors.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.kernel import Kernel
from kinetree.simulate.core.adaptive import AdaptiveSteps
from kinetree.simulate.core.dop853 import Slope, dense_output, take_step
from kinetree.simulate.core.integration import AcceptedSteps
from kinetree.simulate.core.rollouts import Rollouts
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.checks import without_slope
from kinetree.simulate.sensitivity.inputs import (
    Directions,
    Input,
    Numbers,
    Weights,
    sample_numbers,
)
from kinetree.simulate.sensitivity.products import RateProducts, TangentMaps
from kinetree.simulate.sensitivity.rates import DOUBLE
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
        self.maps, self.normal = TangentMaps(self.space), steps.normal
        if self.normal is not None:
            product = optimise(jvp(self.normal.graph, ["x"]))
            self.normal_product = Kernel(product, "move", dtypes=DOUBLE)

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
            shares = np.array([at(t, late) - first for at, first in signals])
            shares = shares.reshape(len(signals), len(t)).T
            ds = self.products.by_samples(np.stack([1 - shares, shares], 1))
            k, _ = rollouts.system.rate(t, x, p, s)
            dk = self.products.changes(t, x, p, s, dx, ds)
            return np.concatenate([k, dk.reshape(len(z), -1)], -1)

        return slope

    def _block(
        self, steps: AcceptedSteps, part: Array, slope: Slope, which: Array, times: Array
    ) -> tuple[Array, Array]:
        """Tangents at the ends of some steps, (S, columns, N), and at results in them."""
        t, h, x = steps.t[part], steps.h[part], steps.x[part]
        unit = np.eye(self.directions.count, self.space.rates)
        dx = self.maps.along(x, np.broadcast_to(unit, (len(x), *unit.shape)))
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
        x, changes = z[:, :size], z[:, size:].reshape(len(z), -1, size)
        if self.normal is not None:
            x, changes = self.normal(x), self.normal_product(x[:, None], changes)
        changes = self.maps.back(x, changes)
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

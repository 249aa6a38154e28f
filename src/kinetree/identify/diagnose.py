"""Causes: what may be wrong with a recording, each tested by one rule.

A cause either adds columns E to the equations y = W beta (an offset, a tilted base), or changes
their rows (a sign, a unit, the order of the joints). It is accepted if

- it is significant: E has factors phi whose Wald statistic phi^T Cov(phi)^-1 phi, with the
  autocorrelated noise of the fit, exceeds the chi^2 quantile of 1 % over the number of causes
  (Bonferroni); for changed rows, twice the gain of the log-likelihood does; and
- it lowers the root mean square error of some joint on held-out rows by at least 10 %.

The accepted cause with the largest decrease is reported with its effect in N m or N. Joints that
stick, forces at a limit and forces unlike those of the description are seen without a fit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.identify.band import rows_of
from kinetree.identify.checks import least_motion, named
from kinetree.identify.loops import motor_dofs
from kinetree.identify.noise import padded, pieces, summed_covariance
from kinetree.identify.recording import Recording
from kinetree.identify.rows import Rows, make_rows
from kinetree.identify.solve import Solved
from kinetree.identify.unknowns import OFFSET, Unknowns
from kinetree.model import Model
from kinetree.model.bounds import bounds_of

FALSE_ALARMS = 0.01  # of all causes together
LEAST_GAIN = 0.1  # of the held-out error of a joint
NEGLIGIBLE = 1e-3  # of a joint's force: smaller errors do not matter
STICKING_SHARE = 0.1  # of the recording in which a joint rests while others move
SATURATED_SHARE = 0.01  # of the samples, at the largest force


@dataclass(frozen=True)
class Cause:
    """Why measured joint forces differ from those of the model.

    Args:
        kind: "sign", "unit", "order", "gravity direction", "compensated gravity", "offset",
            "coupled joint", "encoder zero", "sticking", "saturation" or "compensated friction".
        joints: names of the degrees of freedom concerned; empty: all.
        text: what is wrong and what to do: a sentence without its full stop.
        effect: decrease of the held-out error of the joint that gains most, N m or N; 0: seen in
            the recording without a fit.
    """

    kind: str
    joints: tuple[str, ...]
    text: str
    effect: float = 0.0

    def __str__(self) -> str:
        seen = f" (held-out error {self.effect:.2g} N m or N smaller)" if self.effect else ""
        return f"{self.text}{seen}"


@dataclass(frozen=True, eq=False)
class Side:
    """Equations of the fit, or of the held-out samples.

    data: samples. rows: equations. W: linear columns of the fit, (rows, n, r). y: (rows, n).
    """

    data: Recording
    rows: Rows
    W: Array

    @property
    def y(self) -> Array:
        """Joint forces less known ones, (rows, n)."""
        return self.rows.y

    def filtered(self, samples: Array) -> Array:
        """Rows of samples, (T, ...)."""
        return rows_of(self.rows.bands, samples)


@dataclass(frozen=True, eq=False)
class Extra:
    """A cause that adds columns: E of the fit and of the held-out rows, (rows, n, k) each.

    text: of the cause, with places for the factors phi. accepts: whether they make sense.
    """

    kind: str
    dofs: tuple[int, ...]
    E: tuple[Array, Array]
    text: str
    accepts: Callable[[Array], bool] = lambda phi: True


def find_cause(
    solved: Solved, data: tuple[Recording, Recording], cutoff: float | None
) -> list[Cause]:
    """The cause that explains most of the held-out error, if one is accepted; and those seen."""
    tests = _Tests(solved, data, cutoff)
    seen = [
        *_seen(solved.params.robot.model, data[0]),
        *_unlike_description(tests),
        *_driving_friction(tests, solved),
    ]
    found = [*tests.of_rows(), *tests.of_columns()]
    accepted = sorted(found, key=lambda pair: -pair[0])
    return [cause for _, cause in accepted[:1]] + seen


class _Tests:
    """Least squares of a result and what changes of it give."""

    def __init__(
        self, solved: Solved, data: tuple[Recording, Recording], cutoff: float | None
    ) -> None:
        self.params: Unknowns = solved.params
        self.names = self.params.robot.model.dof_names
        self.kept = [k for k in solved.base.kept if k < self.params.p]
        others = [solved.rows, make_rows(self.params, data[1], cutoff)]
        self.train, self.test = (
            Side(x, rows, rows.columns(self.kept)) for x, rows in zip(data, others, strict=True)
        )
        self.fit = solved.fit
        self.sigma = np.maximum(np.sqrt((solved.fit.residual**2).mean(axis=0)), solved.fit.sigma)
        W, y = self.train.W / self.sigma[:, None], self.train.y / self.sigma
        self.length = np.maximum(np.linalg.norm(W, axis=(0, 1)), 1e-300)
        W = W / self.length
        r = W.shape[-1]
        self.A = np.einsum("tjr,tjs->jrs", W, W, optimize=True)
        self.b = np.einsum("tir,tj->ijr", W, y, optimize=True)  # rows of i, forces of j
        self.squares = (y**2).sum(axis=0)
        self.Q, self.R = np.linalg.qr(W.reshape(-1, r))
        self.beta = np.linalg.solve(self.R, self.Q.T @ y.ravel())
        self.residual = y - W @ self.beta
        size = np.sqrt((self.test.y**2).mean(axis=0))
        self.before = self.errors(self.beta)
        self.least = NEGLIGIBLE * size
        self.motors = motor_dofs(self.params.robot.model)
        pairs = len(self.motors) * (len(self.motors) - 1)
        self.count = 6 * len(self.motors) + 2 * pairs + 2  # of causes, about

    def errors(self, beta: Array, y: Array | None = None, factor: Array | float = 1.0) -> Array:
        """Root mean square errors on held-out rows, (n,)."""
        y = self.test.y if y is None else y
        predicted = factor * (self.test.W @ (beta / self.length))
        return np.sqrt(((y - predicted) ** 2).mean(axis=0))

    def gain(self, after: Array, before: Array | None = None) -> tuple[float, float, int]:
        """Decrease of all squared errors, and the decrease at the joint that gains most; or 0."""
        before = self.before if before is None else before
        better = (before - after >= LEAST_GAIN * before) & (before > self.least)
        if not better.any():
            return 0.0, 0.0, 0
        k = int(np.argmax(np.where(better, (before - after) / self.sigma, 0)))
        total = float((((before**2) - (after**2)) / self.sigma**2).sum())
        return total, float(before[k] - after[k]), k

    # changed rows

    def of_rows(self) -> Iterator[tuple[float, Cause]]:
        """Signs, units and the order of joint forces."""
        from scipy import optimize

        n = len(self.sigma)
        order = np.arange(n)
        for j in self.motors:
            one = np.eye(n)[j]
            name = self.names[j]
            text = f"tau of {name!r} fits with the other sign: reverse it in the file"
            yield from self._changed("sign", (j,), order, 1 - 2 * one, text)

            def cost(x: float, one: Array = one) -> float:
                return self._refit(order, np.exp(x * one))[1]

            grid = np.linspace(-7, 7, 15)  # milli and kilo
            x = float(grid[int(np.argmin([cost(x) for x in grid]))])
            bounds = (x - 1, x + 1)
            best: Any = optimize.minimize_scalar(cost, bounds=bounds, method="bounded")
            x = float(best.x)
            if abs(x) > np.log(1.25):  # less is an error of a sensor, not a unit
                text = (
                    f"tau of {name!r} is {np.exp(x):.3g} times what the other joints say: check "
                    "its unit, gear ratio and torque constant"
                )
                yield from self._changed("unit", (j,), order, np.exp(x * one), text)
        for i, j in combinations(self.motors, 2):
            swapped = order.copy()
            swapped[[i, j]] = j, i
            text = (
                f"tau of {self.names[i]!r} fits {self.names[j]!r} and the other way round: check "
                "the order of the columns"
            )
            yield from self._changed("order", (i, j), swapped, np.ones(n), text)

    def _refit(self, order: Array, factor: Array) -> tuple[Array, float]:
        """beta and the weighted squares of y[order] = factor W beta."""
        n = np.arange(len(order))
        A = np.einsum("j,jrs->rs", factor**2, self.A)
        b = factor @ self.b[n, order] if (order == n).all() else self._swapped(order)
        beta = np.linalg.lstsq(A, b, rcond=1e-11)[0]
        return beta, float(self.squares.sum() - b @ beta)

    def _swapped(self, order: Array) -> Array:
        """W^T y with forces in another order, in units of the noise of the rows."""
        n = np.arange(len(order))
        unit = self.sigma[order] / self.sigma
        return unit @ self.b[n, order]

    def _changed(
        self, kind: str, dofs: tuple[int, ...], order: Array, factor: Array, text: str
    ) -> Iterator[tuple[float, Cause]]:
        from scipy import stats

        beta, _ = self._refit(order, factor)
        W = self.train.W / self.length
        left = self.train.y[:, order] - factor * (W @ beta)
        after = np.sqrt((left**2).mean(axis=0))
        before = np.sqrt(((self.residual * self.sigma) ** 2).mean(axis=0))
        independent = len(left) * np.clip(np.diag(self.fit.noise.innovations), 0.01, 1)
        gain = 2 * float(
            (independent * np.log(np.maximum(before, 1e-300) / np.maximum(after, 1e-300))).sum()
        )
        limit = float(stats.chi2.isf(FALSE_ALARMS / self.count, 2))
        total, effect, _ = self.gain(self.errors(beta, self.test.y[:, order], factor))
        if gain > limit and total > 0:
            yield total, Cause(kind, tuple(self.names[d] for d in dofs), text, effect)

    # added columns

    def of_columns(self) -> Iterator[tuple[float, Cause]]:
        """Causes whose columns are tested beside those of the fit."""
        limit = FALSE_ALARMS / self.count
        for extra in _extras(self):
            phi, chance, beta, columns = self._added(extra.E[0])
            if not chance < limit:
                continue
            y = self.test.y - extra.E[1][..., columns] @ phi
            total, effect, _ = self.gain(self.errors(beta, y))
            whole = np.zeros(extra.E[0].shape[-1])
            whole[columns] = phi
            if total > 0 and extra.accepts(whole):
                joints = tuple(self.names[d] for d in extra.dofs)
                text = extra.text.format(*whole, phi=", ".join(f"{x:.3g}" for x in whole))
                yield total, Cause(extra.kind, joints, text, effect)

    def _added(self, E: Array) -> tuple[Array, float, Array, list[int]]:
        """phi, its probability by chance, beta beside it, and the columns that have an effect."""
        from scipy import stats

        X = (E / self.sigma[:, None]).reshape(-1, E.shape[-1])
        length = np.linalg.norm(X, axis=0)
        beside = X - self.Q @ (self.Q.T @ X)
        own = np.flatnonzero(np.linalg.norm(beside, axis=0) > 1e-3 * length).tolist()
        if not own:
            return np.zeros(0), 1.0, self.beta, own
        B = beside[:, own] / length[own]
        inverse = np.linalg.pinv(B.T @ B, rcond=1e-9)
        phi = inverse @ B.T @ self.residual.ravel()
        breaks, shape = self.train.rows.breaks, (*self.residual.shape, len(own))
        size = padded(max(breaks))
        unit = self.sigma / self.fit.sigma  # the noise is in units of that of the fit
        parts = pieces(B.reshape(shape) / unit[:, None], breaks)
        V = inverse @ summed_covariance(parts, self.fit.noise, size) @ inverse
        statistic = float(phi @ np.linalg.pinv(V, rcond=1e-9, hermitian=True) @ phi)
        phi = phi / length[own]
        beta = self.beta - np.linalg.solve(self.R, self.Q.T @ (X[:, own] @ phi))
        return phi, float(stats.chi2.sf(statistic, len(own))), beta, own


def _extras(tests: _Tests) -> Iterator[Extra]:
    """Offsets, coupled joints, encoder zeros, the direction of gravity, and its compensation."""
    params, sides = tests.params, (tests.train, tests.test)
    names = [x.replace("{", "{{").replace("}", "}}") for x in tests.names]  # for `format`
    n = len(names)

    def at(j: int, columns: Sequence[Array]) -> Array:
        E = np.zeros((len(columns[0]), n, len(columns)))
        E[:, j] = np.stack(columns, axis=-1)
        return E

    def pair(of_side: "Sequence[Array]") -> tuple[Array, Array]:
        first, second = of_side
        return first, second

    model = params.robot.model
    for j in tests.motors:
        name = names[j]
        own = tests.names[j]
        if not {f"{OFFSET}[{own}]", f"coulomb-[{own}]"} & set(params.names):
            E = pair([at(j, [np.ones(len(x.y))]) for x in sides])
            text = f"tau of {name!r} has an offset of {{0:.3g}} N m or N: offsets=True finds it"
            yield Extra("offset", (j,), E, text)
        beyond = pair([_beyond_limit(tests, x, j) for x in sides])
        text = (
            f"tau of {name!r} is smaller than predicted where it is largest: the drive or sensor "
            "was saturated; record a slower motion"
        )
        yield Extra("saturation", (j,), beyond, text, lambda phi: phi[0] > 0.3)
        for k in tests.motors:
            if k != j and abs(k - j) <= 2:  # a transmission couples neighbours
                E = pair([at(j, [x.filtered(f(x.data.dq[:, k])) for f in (np.positive, np.sign)])
                          for x in sides])  # fmt: skip
                text = (
                    f"tau of {name!r} follows the rate of {names[k]!r}: convert the forces of "
                    "coupled motors to joint forces"
                )
                yield Extra("coupled joint", (j, k), E, text)
    if model.n != model.nq or model.constraints is not None:
        return
    step = 1e-4  # rad, or lengths: of central differences
    units = natural_units(model)
    x = np.zeros(len(params.names))
    x[tests.kept] = tests.beta / tests.length
    for j in range(n):
        own = step * np.eye(n)[j] * (units.length if units.sliding[j] else 1.0)

        def slopes(side: Side, own: Array = own, x: Array = x) -> Array:
            q, dq, ddq = side.data.q, side.data.dq, side.data.ddq
            high, low = (params.linear_forces(q + d, dq, ddq, x) for d in (own, -own))
            return side.filtered((high - low) / (2 * own.max()))[..., None]

        text = f"the zero of {names[j]!r} is off: add {{0:.3g}} rad or m to its q"
        yield Extra("encoder zero", (j,), pair([slopes(x) for x in sides]), text)
    g = np.asarray(model.gravity[3:], float)
    if not g.any():
        return

    def turned(phi: Array) -> bool:
        """Whether gravity is turned more than scaled: a scale would be masses or compensation."""
        along = float(phi @ g) / float(g @ g)
        return bool(np.linalg.norm(phi - along * g) > 0.5 * np.linalg.norm(along * g))

    weights = [_gravity_columns(tests, side) for side in sides]
    text = f"gravity has another direction than described, by ({{phi}}) m/s^2 beside ({g[0]:.3g}, "
    text += f"{g[1]:.3g}, {g[2]:.3g}): describe how the base is mounted"
    yield Extra("gravity direction", (), pair(weights), text, turned)
    text = "tau lacks {0:.0%} of gravity as described: the drive compensates it; record the whole "
    E = pair([-(x @ g)[..., None] for x in weights])
    yield Extra("compensated gravity", (), E, text + "torque", lambda phi: 0.3 < phi[0] < 2)


def _beyond_limit(tests: _Tests, side: Side, j: int) -> Array:
    """Predicted force of joint j beyond the largest measured ones, with the other sign."""
    limit = np.quantile(np.abs(tests.train.y[:, j]), 0.97)
    predicted = side.W[:, j] @ (tests.beta / tests.length)
    E = np.zeros((len(predicted), side.W.shape[1], 1))
    E[:, j, 0] = -np.sign(predicted) * np.maximum(np.abs(predicted) - limit, 0)
    return E


def _gravity_columns(tests: _Tests, side: Side) -> Array:
    """Derivatives of the joint forces by the gravity vector, (rows, n, 3), of bodies as described.

    With c_i the centre of mass of link i in {s}, tau = -sum of m_i (dc_i/dq)^T g.
    """
    robot, q = tests.params.robot, side.data.q
    model = robot.model
    m, com = np.asarray(model.m, float), np.asarray(model.com, float)
    units = natural_units(model)
    steps = 1e-4 * np.where(units.sliding, units.length, 1)

    def moment(q: Array) -> Array:
        T = np.asarray(robot.link_poses(q))
        centres = np.einsum("tiab,ib->tia", T[..., :3, :3], com) + T[..., :3, 3]
        return np.einsum("i,tia->ta", m, centres)

    slopes = [(moment(q + h * one) - moment(q - h * one)) / (2 * h)
              for h, one in zip(steps, np.eye(model.n), strict=True)]  # fmt: skip
    return -side.filtered(np.stack(slopes, axis=1))


def _driving_friction(tests: _Tests, solved: Solved) -> Iterator[Cause]:
    """Friction that is negative by more than four standard errors: it would drive the motion."""
    error, names = solved.fit.standard_error, solved.params.names
    joints = [
        names[k].partition("[")[2][:-1]
        for i, k in enumerate(tests.kept)
        if names[k].startswith(("viscous", "coulomb")) and solved.fit.beta[i] < -4 * error[i]
    ]
    if joints := tuple(dict.fromkeys(joints)):
        text = (
            f"friction of {named(joints)} would drive the motion: the drive compensates it, or tau "
            "has the other sign; record the whole torque"
        )
        yield Cause("compensated friction", joints, text)


# what the recording shows by itself


def still_joints(model: Model, data: Recording) -> Array:
    """Which samples of each degree of freedom lie in a window without its motion, (T, n).

    The window is about 0.3 s for an arm; a joint stands still in it if its range there is below a
    thousandth of a radian (or of the robot's length) and a tenth of its longest one. Joints that
    never move count as still.
    """
    from scipy import ndimage

    still = np.zeros(data.dq.shape, bool)
    units = natural_units(model)
    if model.n != model.nq or not data.dq.any():  # positions held still, one after the other
        return still
    least = least_motion(units)
    moves = np.ptp(data.q, axis=0) > least
    size = max(8, round(max(units.time, 0.5 / (data.cutoff or np.inf)) / data.dt))
    if len(data) <= 2 * size or not moves.any():
        return still
    ranges = ndimage.maximum_filter1d(data.q, size, axis=0)
    ranges -= ndimage.minimum_filter1d(data.q, size, axis=0)
    quiet = ranges < np.minimum(least, 0.1 * ranges.max(axis=0))
    return np.where(moves, ndimage.maximum_filter1d(quiet, size, axis=0), True)


def without_rest(model: Model, data: Recording) -> Recording:
    """The recording without the rows in which no joint moves.

    There the friction of a joint is any force up to its static friction, and the sign of the
    measured rate is noise.
    """
    rest = still_joints(model, data).all(axis=1)
    if not rest.any() or rest.mean() > 0.8:  # nearly all of it: not a motion with pauses
        return data
    note = (
        f"the robot stands still in {rest.mean():.0%} of the recording: these samples are left "
        "out, for friction at rest has no known direction"
    )
    return data.part(np.flatnonzero(~rest)).noted(note)


def _seen(model: Model, data: Recording) -> Iterator[Cause]:
    """Joints that stick while others move, and forces that stay at their largest value."""
    bounds, names, motors = bounds_of(model), model.dof_names, motor_dofs(model)
    still = still_joints(model, data)
    alone = (still & ~still.all(axis=1, keepdims=True)).mean(axis=0) * ~still.all(axis=0)
    if sticking := [k for k in motors if alone[k] > STICKING_SHARE]:
        text = (
            f"{named(names[k] for k in sticking)} stand still in up to {alone[sticking].max():.0%} "
            "of the recording while other joints move: friction at rest has any value; record a "
            "motion in which every joint keeps moving"
        )
        yield Cause("sticking", tuple(names[k] for k in sticking), text)
    x = np.abs(data.tau)
    moving = np.abs(data.dq) > 0.01 * np.abs(data.dq).max(axis=0)
    changes = np.ptp(data.tau, axis=0) > 0
    share = ((x == x.max(axis=0)) & moving).mean(axis=0) * changes
    if data.model is not None:
        near = np.abs(x / np.where(bounds.effort > 0, bounds.effort, np.inf) - 1) < 0.005
        share = np.maximum(share, (near & moving).mean(axis=0))
    if at_limit := [k for k in motors if share[k] > SATURATED_SHARE]:
        text = (
            f"tau of {named(names[k] for k in at_limit)} stays at its largest value in up to "
            f"{share[at_limit].max():.1%} of the samples: if the drive was saturated, record a "
            "slower motion"
        )
        yield Cause("saturation", tuple(names[k] for k in at_limit), text)


def _unlike_description(tests: _Tests) -> Iterator[Cause]:
    """A sign or unit of all joints, which the fit absorbs: forces unlike those of the description.

    A description is wrong by a third, seldom more; friction is left out of the comparison.
    """
    side, robot, motors = tests.train, tests.params.robot, tests.motors
    data = side.data
    own = _without_friction(tests)
    described = side.filtered(robot.inverse_dynamics(data.q, data.dq, data.ddq)
                              - robot.friction_forces(data.dq))  # fmt: skip
    d, y = described[:, motors], own[:, motors]
    common = (d * y).sum(axis=0)
    factor = common / np.maximum((d * d).sum(axis=0), 1e-300)
    alike = np.abs(common) / np.maximum(np.sqrt((d * d).sum(0) * (y * y).sum(0)), 1e-300) > 0.7
    if not alike.any():
        return
    names = tuple(tests.names[k] for k, x in zip(motors, alike, strict=True) if x)
    typical = float(np.median(factor[alike]))
    if typical < 0 and (factor[alike] < 0).all():
        text = f"tau of {named(names)} has the other sign than the description: reverse it"
        yield Cause("sign", names, text)
    elif not 0.1 < abs(typical) < 10:
        text = f"tau of {named(names)} is {typical:.3g} times that of the description: is it in N m"
        yield Cause("unit", names, f"{text} (N), and the description in kg and m?")


def _without_friction(tests: _Tests) -> Array:
    """Rows of the measured forces less the friction that was found, (rows, n)."""
    words = ("viscous", "coulomb", "static", "size", OFFSET)
    rubbing = [i for i, k in enumerate(tests.kept)
               if tests.params.names[k].partition("[")[0].rstrip("+-") in words]  # fmt: skip
    beta = (tests.beta / tests.length)[rubbing]
    return tests.train.y - tests.train.W[..., rubbing] @ beta

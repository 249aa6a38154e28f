"""identify: from a recording to base parameters with errors, and to a robot that exists."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any
from warnings import warn

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import table
from kinetree.errors import InputError, KinetreeWarning
from kinetree.identify.base import Base, find_base, told, told_apart
from kinetree.identify.consistent import Estimate, consistent
from kinetree.identify.filtering import check_cutoff, low_pass, whole_above
from kinetree.identify.findings import check_motion, odd_errors, poorly_told
from kinetree.identify.least_squares import METHODS, Fit, fit
from kinetree.identify.readings import check_readings
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.robot import Robot

CHECKED = 50  # samples at which a result is computed once more
AGREE = 1e-9  # of the terms of joint forces: what is the same differs by rounding


@dataclass(frozen=True, eq=False)
class Identification:
    """What a recording tells about a robot.

    robot: one that exists and explains the data. base, fit: combinations of the unknowns and their
    estimate, with errors. estimate: the single unknowns of `robot`, from data and prior.
    train, test: the samples used and those held out. folds: root mean square errors of each joint,
    (k, n), in k stretches of `train`, each predicted from the others. notes: what to know.
    untold: base parameters of the robot that this recording does not tell from the others.
    """

    robot: Robot
    prior: Robot
    sought: Unknowns
    base: Base
    fit: Fit
    estimate: Estimate
    method: str
    train: Recording
    test: Recording
    folds: Array
    notes: tuple[str, ...]
    untold: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> Array:
        """Confidence interval of each base parameter, (r, 2)."""
        if not 0 < level < 1:
            raise InputError(f"level is {level}; expected a probability, such as 0.95.")
        z = NormalDist().inv_cdf(0.5 + level / 2) * self.fit.standard_error
        return np.stack([self.fit.beta - z, self.fit.beta + z], axis=1)

    def predict(self, data: Recording, *, physical: bool = True) -> Array:
        """Joint forces, (T, n), of the found robot, or of the base parameters alone."""
        if physical:
            return self.robot.inverse_dynamics(data.q, data.dq, data.ddq)
        state = data.q, data.dq, data.ddq
        Y = self.sought.regressor(*state)[..., list(self.base.kept)]
        return Y @ self.fit.beta + self.sought.known(*state)

    def error(self, data: Recording | None = None, *, physical: bool = True) -> Array:
        """Root mean square error of each joint, (n,), on what was held out unless others are given.

        Measured joint forces as they are: the noise of their sensors is part of the error.
        """
        data = self.test if data is None else data
        return np.sqrt(((data.tau - self.predict(data, physical=physical)) ** 2).mean(axis=0))

    def __repr__(self) -> str:
        error = ", ".join(f"{x:.3g}" for x in self.error())
        return (
            f"Identification({self.robot.name!r}, {len(self.fit.beta)} base parameters from "
            f"{len(self.train.q)} samples; error on held-out motion {error} N m or N)"
        )

    def _repr_html_(self) -> str:
        test, now = self.test, self.error()
        before = test.tau - self.prior.inverse_dynamics(test.q, test.dq, test.ddq)
        measured, described = ((x**2).mean(axis=0) ** 0.5 for x in (test.tau, before))
        names = self.robot.model.dof_names
        rows = zip(names, measured, described, now, self.fit.sigma, strict=True)
        head = ("joint", "rms", "error as described", "error now", "noise of the fit")
        title = f"{self.robot.name}: joint forces on held-out motion, N m or N"
        return table(title, head, rows, notes=self.notes)

    def summary(self) -> str:
        """The findings as text; see `kinetree.identify.report`."""
        from kinetree.identify.report import summary

        return summary(self)

    def save_report(self, folder: Any) -> Any:
        """Write report.md with its plots into a folder; see `kinetree.identify.report`."""
        from kinetree.identify.report import save_report

        return save_report(self, folder)


def identify(
    robot: Robot,
    data: Recording,
    *,
    test: Recording | None = None,
    hold_out: float = 0.25,
    method: str = "weighted",
    friction: str = "symmetric",
    armature: bool = True,
    prior: float = 1.0,
    folds: int = 5,
    torque_cutoff: float | None = None,
    watch: Callable[[str], None] | None = None,
) -> Identification:
    """Find the parameters of a robot in a recording.

    Args:
        robot: as described; its geometry is trusted, its parameters are a prior.
        data: from `read_recording` or `make_recording`.
        test: another recording to try the result on; None holds out the end of `data`.
        hold_out: share of `data` held out then, 0 to 0.8.
        method: "ordinary", "weighted" (each joint by its noise) or "robust" (outliers as well).
        friction, armature: what is unknown about the drives; see `unknowns`.
        prior: how far off the description may be, relative; 1 lets bodies double or vanish.
        folds: stretches of the cross-validation.
        torque_cutoff: low-pass measured and predicted joint forces alike at this frequency, Hz,
            before they are compared: for sensors whose noise hides the dynamics.
        watch: is told what is being done.
    """
    _check(method, hold_out, prior, folds)
    tell = watch or (lambda text: None)
    sought = unknowns(robot, friction, armature)
    tell(f"base parameters of {len(sought.names)} unknowns")
    whole = find_base(sought)
    train, test = _split(data, test, hold_out)
    check_motion(robot.model, train)
    tell(f"least squares of {whole.r} base parameters on {len(train)} samples")
    Y, tau, step = _equations(sought, train, torque_cutoff)
    lag = row_memory(train, step, torque_cutoff)
    base, forces = told_apart(whole, Y[..., list(whole.kept)], sought), sought.natural.forces
    kept = list(base.kept)
    found = fit(Y[..., kept], tau, method, lag=lag, forces=forces)
    errors = _cross_validate(Y[..., kept], tau, method, folds, sought, kept, tell)
    weights = found.weights
    if method == "ordinary":  # the prior needs the size of the noise
        noise = np.mean((found.sigma / forces) ** 2)
        weights = np.broadcast_to(1 / (noise * forces**2), tau.shape)
    estimate = consistent(
        sought, Y, tau, weights / max(1.0, _inflation(found, Y[..., kept])), prior=prior,
        watch=lambda k, cost: tell(f"the robot that exists, round {k}"),
    )  # fmt: skip
    model = sought.model(estimate.x)
    untold = tuple(sought.names[k] for k in whole.kept if k not in base.kept)
    doubts = check_readings(robot, train) or odd_errors(robot.model, found, method)
    notes = (*data.notes, *doubts, *poorly_told(whole, base, found))
    result = Identification(
        Robot(model), robot, sought, base, found, estimate, method, train, test, errors, notes,
        untold,
    )  # fmt: skip
    return check_result(result, filtered=torque_cutoff is not None)


def check_result(found: Identification, *, filtered: bool = False) -> Identification:
    """The result, with a note and a warning where its parts do not agree.

    Measured less predicted forces of the base parameters are the residual of the fit (where forces
    were not `filtered`), and the robot that was found has the joint forces of the unknowns that
    were estimated: at some samples, computed anew from the recording and by the robot's own kernel.
    """
    train, forces = found.train, found.sought.natural.forces
    chosen = np.unique(np.linspace(0, len(train) - 1, CHECKED).round().astype(int))
    some = train.part(chosen)
    state = some.q, some.dq, some.ddq
    Y, known = found.sought.regressor(*state), found.sought.known(*state)
    terms = np.abs(Y) @ np.abs(found.estimate.x) + np.abs(known) + np.abs(some.tau)
    size = float((terms / forces).max(initial=0)) or 1.0
    own = found.robot.inverse_dynamics(*state) - (Y @ found.estimate.x + known)
    off = {"the robot that was found and the unknowns estimated give joint forces": own}
    if not filtered:
        Y[..., found.sought.at_rest(train.q)] = 0
        rest = some.tau - known - Y[..., list(found.base.kept)] @ found.fit.beta
        off["the base parameters and the fit's residual"] = rest - found.fit.residual[chosen]
    notes = []
    for what, difference in off.items():
        share = float(np.abs(difference / forces).max(initial=0)) / size
        if not share <= AGREE:
            notes.append(
                f"{what} that differ by {share:.2g} of their terms; expected {AGREE:g} at most. "
                "Do not use this result: please report it with the recording"
            )
            warn(notes[-1] + ".", KinetreeWarning, stacklevel=3)
    return replace(found, notes=(*found.notes, *notes)) if notes else found


def _check(method: str, hold_out: float, prior: float, folds: int) -> None:
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    if not 0 <= hold_out <= 0.8:
        raise InputError(f"hold_out is {hold_out}; expected a share from 0 to 0.8.")
    if not prior > 0:
        raise InputError(f"prior is {prior}; expected a number above 0, 1 by default.")
    if folds < 2:
        raise InputError(f"folds is {folds}; expected 2 stretches at least.")


def _split(data: Recording, test: Recording | None, share: float) -> tuple[Recording, Recording]:
    if test is not None:
        return data, test
    if share == 0:
        return data, data
    at = round(len(data) * (1 - share))
    return data.part(slice(0, at)), data.part(slice(at, None))


def _equations(sought: Unknowns, data: Recording, cutoff: float | None) -> tuple[Array, Array, int]:
    """Y, tau less what is known, and how many samples apart their rows are.

    A low-passed signal has little to say between samples 1 / (4 cutoff) apart.
    """
    state = data.q, data.dq, data.ddq
    Y, tau = sought.regressor(*state), data.tau - sought.known(*state)
    Y[..., sought.at_rest(data.q)] = 0
    if cutoff is None:
        return Y, tau, 1
    check_cutoff(cutoff, data.dt)
    step = max(1, int(0.25 / (cutoff * data.dt) * (1 + 1e-9)))  # 4 but for rounding is 4
    return (
        low_pass(Y, data.dt, cutoff)[::step],
        low_pass(tau, data.dt, cutoff)[::step],
        step,
    )


def row_memory(data: Recording, step: int, cutoff: float | None) -> int:
    """Rows that may share their errors: by rule of thumb, and as long as filters remember."""
    memory = [4 * (len(data) / step / 100) ** (2 / 9)]
    memory += [1 / (f * data.dt * step) for f in (data.cutoff, cutoff) if f is not None]
    return min(whole_above(max(memory)), len(data) // (4 * step))


def _inflation(found: Fit, W: Array) -> float:
    """How much larger variances are than those of independent errors: the median ratio."""
    root = np.sqrt(found.weights)[..., None]
    rows = (W * root).reshape(-1, W.shape[-1])
    scale = float(np.mean(found.residual**2 * found.weights))
    plain = np.diag(np.linalg.inv(rows.T @ rows)) * scale
    return float(np.median(np.diag(found.covariance) / plain))


def _cross_validate(
    W: Array,
    y: Array,
    method: str,
    folds: int,
    sought: Unknowns,
    own: list[int],
    tell: Callable[[str], None],
) -> Array:
    """Errors, (folds, n), of stretches; what the rest does not tell apart is left together."""
    edges = np.linspace(0, len(y), folds + 1).round().astype(int)
    errors = []
    for k, (a, b) in enumerate(pairwise(edges)):
        tell(f"cross-validation, stretch {k + 1} of {folds}")
        rest = np.concatenate([np.arange(a), np.arange(b, len(y))])
        kept = told(W[rest], sought.natural.forces, sought.scale[own])[0]
        beta = fit(W[rest][..., kept], y[rest], method, forces=sought.natural.forces).beta
        errors.append(np.sqrt(((y[a:b] - W[a:b][..., kept] @ beta) ** 2).mean(axis=0)))
    return np.array(errors)

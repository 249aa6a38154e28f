"""identify: from a recording to base parameters with errors, and to a physically possible robot."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from warnings import warn

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, KinetreeWarning
from kinetree.identify.base import find_base, separable, separated
from kinetree.identify.filtering import check_cutoff, low_pass, whole_above
from kinetree.identify.identification import Identification
from kinetree.identify.least_squares import METHODS, Fit, Method, fit
from kinetree.identify.notes import check_motion, check_readings, odd_errors, poorly_excited
from kinetree.identify.physical import consistent
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import FrictionChoice, Unknowns, unknowns
from kinetree.robot import Robot

CHECKED = 50  # samples at which a result is computed again
AGREE = 1e-9  # share of the terms of joint forces by which equal results differ: rounding


def identify(
    robot: Robot,
    data: Recording,
    *,
    test: Recording | None = None,
    hold_out: float = 0.25,
    method: Method = "weighted",
    friction: FrictionChoice = "symmetric",
    armature: bool = True,
    springs: bool = True,
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
        hold_out: share of `data` held out then, dimensionless, 0 to 0.8.
        method: "ordinary", "weighted" (each joint by its noise) or "robust" (outliers as well).
        friction, armature, springs: unknowns of drives and springs; see `unknowns`.
        prior: relative error of the description, dimensionless; 1 lets bodies double or vanish.
        folds: stretches of the cross-validation.
        torque_cutoff: low-pass measured and predicted joint forces alike at this frequency, Hz,
            before they are compared: for sensors whose noise hides the dynamics.
        watch: is called with the name of each stage.
    """
    _check(method, hold_out, prior, folds)
    report = watch or (lambda text: None)
    sought = unknowns(robot, friction, armature, springs)
    report(f"base parameters of {len(sought.names)} unknowns")
    whole = find_base(sought)
    train, test = _split(data, test, hold_out)
    check_motion(robot.model, train)
    report(f"least squares of {whole.r} base parameters on {len(train)} samples")
    Y, tau, step = _equations(sought, train, torque_cutoff)
    lag = row_memory(train, step, torque_cutoff)
    base, forces = separated(whole, Y[..., list(whole.kept)], sought), sought.natural.forces
    kept = list(base.kept)
    found = fit(Y[..., kept], tau, method, lag=lag, forces=forces)
    errors = _cross_validate(Y[..., kept], tau, method, folds, sought, kept, report)
    weights = found.weights
    if method == "ordinary":  # the prior needs the size of the noise
        noise = np.mean((found.sigma / forces) ** 2)
        weights = np.broadcast_to(1 / (noise * forces**2), tau.shape)
    estimate = consistent(
        sought, Y, tau, weights / max(1.0, _inflation(found, Y[..., kept])), prior=prior,
        watch=lambda k, cost: report(f"physically possible robot, round {k}"),
    )  # fmt: skip
    model = sought.model(estimate.x)
    untold = tuple(sought.names[k] for k in whole.kept if k not in base.kept)
    doubts = check_readings(robot, train) or odd_errors(robot.model, found, method)
    notes = (*data.notes, *doubts, *poorly_excited(whole, base, found))
    result = Identification(
        Robot(model), robot, sought, base, found, estimate, method, train, test, errors, notes,
        untold,
    )  # fmt: skip
    return check_result(result, filtered=torque_cutoff is not None)


def check_result(found: Identification, *, filtered: bool = False) -> Identification:
    """The result, with a note and a warning if its parts do not agree.

    At some samples two things are computed again, from the recording and by the robot's own kernel:
    measured less predicted forces of the base parameters are the residual of the fit (unless forces
    were `filtered`), and the robot that was found has the joint forces of the estimated unknowns.
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
    notes: list[str] = []
    for what, difference in off.items():
        share = float(np.abs(difference / forces).max(initial=0)) / size
        if not share <= AGREE:
            notes.append(
                f"{what} that differ by {share:.2g} of their terms; expected {AGREE:g} at most. "
                "Do not use this result: please report it with the recording"
            )
            warn(notes[-1] + ".", KinetreeWarning, stacklevel=3)
    return replace(found, notes=(*found.notes, *notes)) if notes else found


def _check(method: Method, hold_out: float, prior: float, folds: int) -> None:
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
    """Y, tau less its known part, and the number of samples from one row to the next.

    A low-passed signal has little information between samples 1 / (4 cutoff) apart.
    """
    state = data.q, data.dq, data.ddq
    Y, tau = sought.regressor(*state), data.tau - sought.known(*state)
    Y[..., sought.at_rest(data.q)] = 0
    if cutoff is None:
        return Y, tau, 1
    check_cutoff(cutoff, data.dt)
    step = max(1, int(0.25 / (cutoff * data.dt) * (1 + 1e-9)))  # 3.9999999999 counts as 4
    return (
        low_pass(Y, data.dt, cutoff)[::step],
        low_pass(tau, data.dt, cutoff)[::step],
        step,
    )


def row_memory(data: Recording, step: int, cutoff: float | None) -> int:
    """Rows over which errors may be correlated: a rule of thumb, or the length of the filters."""
    memory = [4 * (len(data) / step / 100) ** (2 / 9)]
    memory += [1 / (f * data.dt * step) for f in (data.cutoff, cutoff) if f is not None]
    return min(whole_above(max(memory)), len(data) // (4 * step))


def _inflation(found: Fit, W: Array) -> float:
    """Median ratio of the variances to those of independent errors."""
    root = np.sqrt(found.weights)[..., None]
    rows = (W * root).reshape(-1, W.shape[-1])
    scale = float(np.mean(found.residual**2 * found.weights))
    plain = np.diag(np.linalg.inv(rows.T @ rows)) * scale
    return float(np.median(np.diag(found.covariance) / plain))


def _cross_validate(
    W: Array,
    y: Array,
    method: Method,
    folds: int,
    sought: Unknowns,
    own: list[int],
    report: Callable[[str], None],
) -> Array:
    """Root mean square errors, (folds, n), of stretches predicted from the rest of the rows.

    Parameters that the rest does not separate stay combined. `own`: unknowns of the columns of W.
    """
    edges = np.linspace(0, len(y), folds + 1).round().astype(int)
    errors: list[Array] = []
    for k, (a, b) in enumerate(pairwise(edges)):
        report(f"cross-validation, stretch {k + 1} of {folds}")
        rest = np.concatenate([np.arange(a), np.arange(b, len(y))])
        kept = separable(W[rest], sought.natural.forces, sought.scale[own])[0]
        beta = fit(W[rest][..., kept], y[rest], method, forces=sought.natural.forces).beta
        errors.append(np.sqrt(((y[a:b] - W[a:b][..., kept] @ beta) ** 2).mean(axis=0)))
    return np.array(errors)

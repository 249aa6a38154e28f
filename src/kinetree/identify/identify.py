"""identify: from a recording to base parameters with errors, and to a physically possible robot."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from warnings import warn

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, KinetreeWarning
from kinetree.identify.base import Base, find_base, separable
from kinetree.identify.equations import Equations, make_equations, separated_with_shapes
from kinetree.identify.filtering import whole_above
from kinetree.identify.identification import Identification
from kinetree.identify.laws import FrictionChoices, Law, chosen_laws, described_shapes, doubt
from kinetree.identify.least_squares import METHODS, Fit, Method, fit
from kinetree.identify.notes import (
    check_motion,
    check_readings,
    kept_laws,
    odd_errors,
    poorly_excited,
)
from kinetree.identify.physical import Estimate, consistent
from kinetree.identify.recording import Recording
from kinetree.identify.shapes import find_shapes, plain_errors
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.model.constrain import without_constraints
from kinetree.robot import Robot

CHECKED = 50  # samples at which a result is computed again
TURNS = 20  # fits with other directions of loads
AGREE = 1e-9  # share of the terms of joint forces by which equal results differ: rounding


def identify(
    robot: Robot,
    data: Recording,
    *,
    test: Recording | None = None,
    hold_out: float = 0.25,
    method: Method = "weighted",
    friction: FrictionChoices = "symmetric",
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
    without_constraints(robot.model, "identify")
    _check(method, hold_out, prior, folds)
    report = watch or (lambda text: None)
    choices = chosen_laws(robot.model, friction)
    train, test = _split(data, test, hold_out)
    check_motion(robot.model, train)
    notes: list[str] = []
    open_laws: list[Law] = []
    while True:  # again without the laws that the recording does not determine
        sought = unknowns(robot, choices, armature, springs)
        report(f"base parameters of {len(sought.names)} unknowns")
        solved = solve(sought, train, method, torque_cutoff, report)
        if not solved.doubts:
            break
        for law, text in solved.doubts:
            choices[law.joint] = "symmetric"
            bare = described_shapes(law, robot.model.joints[law.index].friction) is None
            notes.append(text + ". It gets viscous and Coulomb friction" * bare)
        open_laws += [law for law, _ in solved.doubts]
    sought, found, W, base = solved.sought, solved.fit, solved.W, solved.base
    errors = _cross_validate(W, solved.y, method, folds, sought, list(base.kept), report)
    weights = found.weights
    if method == "ordinary":  # the prior needs the size of the noise
        forces = sought.natural.forces
        noise = np.mean((found.sigma / forces) ** 2)
        weights = np.broadcast_to(1 / (noise * forces**2), solved.y.shape)
    estimate = consistent(
        sought, solved.Y, solved.y, weights / max(1.0, _inflation(found, W)), prior=prior,
        watch=lambda k, cost: report(f"physically possible robot, round {k}"),
        tangent=W[..., base.r - len(sought.shapes) :] if sought.laws else None,
    )  # fmt: skip
    estimate = _with_shapes(estimate, sought, found)
    untold = tuple(sought.names[k] for k in solved.whole.kept if k not in base.kept)
    untold += tuple(name for law in open_laws for name, _ in law.shapes)
    notes = [*data.notes, *notes, *kept_laws(robot.model, choices)]
    notes += check_readings(robot, train) or odd_errors(robot.model, found, method)
    notes += poorly_excited(solved.whole, base, found)
    result = Identification(
        Robot(sought.model(estimate.x)), robot, sought, base, found, estimate, method, train, test,
        errors, tuple(notes), untold,
    )  # fmt: skip
    return check_result(result, filtered=torque_cutoff is not None)


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares of a recording at the best shapes of friction laws.

    sought: unknowns at these shapes. whole, base: base parameters of all motions, and those that
    the recording separates, then the shapes. Y, W: columns of all linear unknowns, and of `base`,
    (rows, n, ...); those of shapes are derivatives. y: other side. fit: of base parameters and
    shapes. doubts: laws that the recording does not determine, and why.
    """

    sought: Unknowns
    whole: Base
    base: Base
    Y: Array
    W: Array
    y: Array
    fit: Fit
    doubts: list[tuple[Law, str]]


def solve(
    sought: Unknowns,
    data: Recording,
    method: Method = "weighted",
    cutoff: float | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Solved:
    """Base parameters and shapes of friction laws of a recording, with their covariance.

    It makes no robot and compiles nothing but the regressor, so several laws are compared quickly.

    Args:
        sought: the unknowns, with any shapes.
        data: the recording.
        method: kind of least squares.
        cutoff: as torque_cutoff of `identify`, Hz.
        report: is called with the name of each stage.
    """
    whole = find_base(sought)
    report(f"least squares of {whole.r} base parameters on {len(data)} samples")
    equations = make_equations(sought, data, cutoff)
    if sought.laws or equations.has_load:
        equations = find_shapes(equations, whole, method, report)
    sought, forces = equations.sought, sought.natural.forces
    lag = row_memory(data, equations.step, cutoff)
    base, Y, y, found = _fitted(equations, whole, method, 0 if sought.laws else lag)
    for _ in range(TURNS if equations.has_load else 0):
        # loads near zero may change their direction for ever, where it hardly matters
        kept = list(base.kept[: base.r - len(sought.shapes)])
        turned = equations.turned(kept, found.beta)
        if np.array_equal(turned.signs, equations.signs):
            break
        equations = turned
        base, Y, y, found = _fitted(equations, whole, method, 0 if sought.laws else lag)
    kept = list(base.kept[: base.r - len(sought.shapes)])
    W = Y[..., kept]
    if equations.has_load:
        rows, other = equations.turned(kept, found.beta).sides(kept)
        found = replace(found, residual=other - rows @ found.beta)
    if not sought.laws:
        return Solved(sought, whole, base, Y, W, y, found, [])
    D = equations.tangent(
        [x for x, _ in equations.sizes(kept, found.beta)], equations.load(kept, found.beta)
    )
    W = np.concatenate([W, D], axis=-1)
    doubts = _doubts(equations, kept, found.beta, plain_errors(W, found), data)
    if doubts:
        return Solved(sought, whole, base, Y, W, y, found, doubts)
    both = fit(W, y, method, lag=lag, forces=forces)
    doubts = _doubts(equations, kept, found.beta, both.covariance, data)
    beta = np.concatenate([found.beta, sought.shapes])
    found = replace(found, beta=beta, covariance=both.covariance, sigma=both.sigma,
                    condition=both.condition)  # fmt: skip
    return Solved(sought, whole, base, Y, W, y, found, doubts)


def _fitted(
    equations: Equations, whole: Base, method: Method, lag: int
) -> tuple[Base, Array, Array, Fit]:
    """Base with shapes, columns of linear unknowns, the other side, and the fit of linear ones."""
    sought = equations.sought
    Y, y = equations.sides(range(sought.p))
    base = separated_with_shapes(whole, Y[..., list(whole.kept)], sought)
    kept = list(base.kept[: base.r - len(sought.shapes)])
    return base, Y, y, fit(Y[..., kept], y, method, lag=lag, forces=sought.natural.forces)


def _doubts(
    equations: Equations, kept: list[int], beta: Array, covariance: Array, data: Recording
) -> list[tuple[Law, str]]:
    """Laws that the recording does not determine, each with a sentence."""
    sought = equations.sought
    still = set(sought.at_rest(data.q).tolist())
    found: list[tuple[Law, str]] = []
    for k, (law, (size, slope)) in enumerate(
        zip(sought.laws, equations.sizes(kept, beta), strict=True)
    ):
        at = len(kept) + sought.places[k] - sought.p
        shapes, errors = equations.own(k), np.sqrt(np.diag(covariance)[at])
        error = float(np.sqrt(slope @ covariance[: len(kept), : len(kept)] @ slope))
        if law.kind == "load":
            size, error = float(shapes[0]), float(errors[0])
        rests = sought.names.index(f"viscous[{law.joint}]") in still
        text = doubt(law, equations.rates(law), shapes, errors, size, error, rests)
        if text:
            found.append((law, text))
    return found


def _with_shapes(estimate: Estimate, sought: Unknowns, found: Fit) -> Estimate:
    """The estimate of linear unknowns, and the shapes, which have no prior."""
    count = len(sought.shapes)
    if not count:
        return estimate
    return replace(
        estimate,
        x=np.concatenate([estimate.x, sought.shapes]),
        deviation=np.concatenate([estimate.deviation, found.standard_error[-count:]]),
        learned=np.concatenate([estimate.learned, np.ones(count)]),
    )


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
    sought, x = found.sought, found.estimate.x
    known = np.abs(sought.known(*state))
    terms = np.abs(sought.regressor(*state)) @ np.abs(x) + known + np.abs(some.tau)
    size = float((terms / forces).max(initial=0)) or 1.0
    own = found.robot.inverse_dynamics(*state) - sought.forces(*state, x)
    off = {"the robot that was found and the unknowns estimated give joint forces": own}
    if not filtered:
        rest = some.tau - sought.forces(*state, found.fit.beta, found.base.kept)
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

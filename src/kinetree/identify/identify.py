"""identify: from recordings to base parameters with errors, and to a physically possible robot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from warnings import warn

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.blas import one_blas_thread
from kinetree.base.options import typed
from kinetree.base.tables import counted
from kinetree.errors import InputError, KinetreeWarning
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, in_band, rows_of
from kinetree.identify.base import Base, find_base, separable
from kinetree.identify.calibration import calibrated
from kinetree.identify.equations import (
    Equations,
    Parts,
    Sides,
    has_load,
    parts_of,
    separated_with_shapes,
)
from kinetree.identify.findings import Finding, Verdict
from kinetree.identify.gains import GainChoice, Gains, in_forces
from kinetree.identify.identification import Identification
from kinetree.identify.lag import Lag, find_lag, without_lag
from kinetree.identify.laws import (
    AutoChoices,
    FrictionChoice,
    Law,
    chosen_laws,
    described_shapes,
    doubt,
)
from kinetree.identify.least_squares import (
    METHODS,
    Fit,
    Method,
    fit_blocks,
    from_triangles,
    residuals,
    stacked,
    triangles,
)
from kinetree.identify.loads import Body, check_load_friction
from kinetree.identify.notes import (
    check_joints,
    check_motion,
    check_readings,
    kept_laws,
)
from kinetree.identify.physical import Estimate, consistent
from kinetree.identify.recording import Recording, joined_recordings
from kinetree.identify.rest import without_rest
from kinetree.identify.select import Choice, choose_friction, make_stretches
from kinetree.identify.shapes import find_shapes, plain_errors
from kinetree.identify.spikes import without_spikes
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.identify.verdict import judge
from kinetree.model.constrain import without_constraints
from kinetree.robot import Robot


@typed
@one_blas_thread()
def identify(
    robot: Robot,
    data: Recording | Sequence[Recording],
    *,
    test: Recording | None = None,
    hold_out: float = 1 / 3,
    method: Method = "robust",
    friction: AutoChoices = "auto",
    armature: bool = True,
    springs: bool = True,
    offsets: bool | Mapping[str, bool] | None = None,
    payloads: Sequence[Body | None] | None = None,
    gains: GainChoice = False,
    prior: float = 1.0,
    folds: int = 5,
    torque_cutoff: float | None = None,
    lag: float | None = None,
    watch: Callable[[str], None] | None = None,
) -> Identification:
    """Find the parameters of a robot in a recording.

    Args:
        robot: as described; its geometry is trusted, its parameters are a prior.
        data: from `read_recording` or `make_recording`, one or several of the same robot.
        test: another recording to try the result on; None holds out the end of `data`.
        hold_out: share of `data` held out then, dimensionless, 0 to 0.8.
        method: "ordinary", "weighted" (each joint by its noise) or "robust" (outliers as well).
        friction: friction of every joint to find, or {joint: choice}; see `unknowns`. "auto"
            chooses the law of each joint by its error on rows that the fit has not seen.
        armature, springs: unknowns of drives and springs; see `unknowns`.
        offsets: whether measured joint forces have constant offsets, for all joints or
            {joint: bool}; None: chosen with the friction where that is "auto", else no.
        payloads: the known body that the robot carries in each recording, or None; None: no
            payload in any recording.
        gains: True if tau has signals of drives (currents, say) with a gain of each joint to find,
            which needs a recording with a known payload; "description": gains that fit the masses
            as described; or known gains {joint: value}, in units of tau per N m or N.
        prior: relative error of the description, dimensionless; 1 lets bodies double or vanish.
        folds: stretches of the cross-validation.
        torque_cutoff: frequency of the low-pass through which measured and predicted joint forces
            pass alike before they are compared, Hz; None: five times that of the recording's
            rates, or no filter if those were recorded.
        lag: time by which measured joint forces are later than the motion, s; None: found.
        watch: is called with the name of each stage.
    """
    without_constraints(robot.model, "identify")
    _check(method, hold_out, prior, folds)
    report = watch or (lambda text: None)
    want = Wanted(friction, armature, springs, offsets, method, torque_cutoff)
    samples = _prepared(robot, data, test, hold_out, payloads, gains, want, report)
    known = None if lag is None else Lag(lag, 0.0)
    settled = _settled(robot, samples.train, want, known, report)
    train = without_lag(samples.train, settled.late)
    test = train if samples.test is samples.train else without_lag(samples.test, settled.late)
    report("errors of simulated twins")
    solved = _with_errors(settled.solved, samples.drive, method)
    sought, found, base = solved.sought, solved.fit, solved.base
    report(f"cross-validation in {folds} stretches")
    errors = _cross_validate(solved, folds)
    estimate = consistent(
        sought, base, found, solved.R, len(found.residual), prior=prior,
        watch=lambda k, cost: report(f"physically possible robot, round {k}"),
    )  # fmt: skip
    estimate = _with_shapes(estimate, sought, found)
    report("verdict")
    result = Identification(
        Robot(sought.model(estimate.x)), robot, sought, base, found, estimate, method, train, test,
        errors,
        (*train.notes, *samples.notes, *(text for _, text in settled.dropped),
         *kept_laws(robot.model, solved.choices)),
        settled.untold, torque_cutoff, settled.lag, settled.reasons, samples.drive,
        tuple(x for x in settled.chosen.values() if x.reason),
    )  # fmt: skip
    readings = check_readings(robot, train, torque_cutoff)
    return check_result(judge(result, solved.whole, readings))


@dataclass(frozen=True)
class Wanted:
    """Options of `identify` on which the unknowns depend."""

    friction: AutoChoices
    armature: bool
    springs: bool
    offsets: bool | Mapping[str, bool] | None
    method: Method
    cutoff: float | None


@dataclass(frozen=True)
class _Samples:
    """Joint forces and motion to use and to hold out (the same object: none), without outliers."""

    train: Recording
    test: Recording
    notes: list[str]
    drive: Gains | None


def _prepared(
    robot: Robot,
    data: Recording | Sequence[Recording],
    test: Recording | None,
    hold_out: float,
    payloads: Sequence[Body | None] | None,
    gains: GainChoice,
    want: Wanted,
    report: Callable[[str], None],
) -> _Samples:
    """Samples in units of force, of moving joints, split and without outliers."""
    records = _listed(data)
    for x in records:
        check_joints(robot.model, x)
    if want.friction != "known":
        records = [without_rest(robot.model, x) for x in records]
        test = None if test is None else without_rest(robot.model, test)
    drive = None
    if gains is not False or payloads is not None:
        check_load_friction(robot.model, want.friction)
        report("payloads and gains of drives")
        records, drive = in_forces(
            robot, records, payloads, gains, lambda x: _soft(x, want.cutoff),
            armature=want.armature, springs=want.springs, method=want.method,
        )  # fmt: skip
        test = test if test is None or drive is None else drive.forces(test)
    train, held = _split(records, test, hold_out)
    check_motion(robot.model, train)
    clean, notes = without_spikes(train, want.cutoff)
    if held is train:
        return _Samples(clean, clean, list(notes), drive)
    held, more = without_spikes(held, want.cutoff)
    return _Samples(clean, held, [*notes, *(f"held-out motion: {x}" for x in more)], drive)


@dataclass(frozen=True, eq=False)
class _Settled:
    """Friction and lag that fit together.

    solved: the fit. chosen, reasons: friction of each joint, and why. dropped: laws that the
    recording does not determine, and why. lag: as found; None: not visible. late: the lag that was
    removed, s.
    """

    solved: "Solved"
    chosen: dict[str, Choice]
    reasons: tuple[str, ...]
    dropped: list[tuple[Law, str]]
    lag: Lag | None
    late: float

    @property
    def untold(self) -> tuple[str, ...]:
        """Names of base parameters and shapes that the recording does not determine."""
        solved = self.solved
        missing = [solved.sought.names[k] for k in solved.whole.kept if k not in solved.base.kept]
        return (*missing, *(name for law, _ in self.dropped for name, _ in law.shapes))


def _settled(
    robot: Robot, train: Recording, want: Wanted, known: Lag | None, report: Callable[[str], None]
) -> _Settled:
    """Lag, friction laws and base parameters; friction that fits makes the lag more accurate."""
    lag = known
    if lag is None:
        report("lag of joint forces behind the motion")
        plain = unknowns(robot, "symmetric", want.armature, want.springs, offsets=True)
        lag = find_lag(plain, train, want.cutoff)
    late = lag.value if lag is not None and lag.sure else 0.0
    moved = without_lag(train, late)
    chosen, reasons = choose(robot, moved, want, report)
    solved, dropped = _determined(robot, moved, chosen, want, report)
    more = (
        find_lag(solved.sought, moved, want.cutoff) if known is None and lag is not None else None
    )
    if more is not None:
        lag = Lag(late + more.value, more.error, more.least)
        if lag.sure and abs(more.value) > more.error:
            late = lag.value
            moved = without_lag(train, late)
            solved, dropped = _determined(robot, moved, chosen, want, report)
    return _Settled(solved, chosen, reasons, dropped, lag, late)


def _with_errors(solved: "Solved", drive: Gains | None, method: Method) -> "Solved":
    """The fit with intervals that cover (`calibration`), and with the errors of gains."""
    found = calibrated(solved.blocks, solved.fit, method)
    if drive is not None:
        W, y = (np.concatenate(x) for x in zip(*solved.blocks, strict=True))
        spread = drive.spread(W, y, found.weights)
        found = replace(found, covariance=found.covariance + spread)
    return replace(solved, fit=found)


def choose(
    robot: Robot, data: Recording, want: Wanted, report: Callable[[str], None]
) -> tuple[dict[str, Choice], tuple[str, ...]]:
    """Friction and offset of every joint, and sentences on those that were chosen.

    Args:
        robot: as described.
        data: the recording.
        want: options of `identify`.
        report: is called with the name of each stage.
    """
    given = chosen_laws(robot.model, want.friction)
    own = want.offsets if isinstance(want.offsets, Mapping) else {}
    offset = bool(want.offsets) if not isinstance(want.offsets, Mapping) else False
    found = {
        name: Choice(name, x, own.get(name, offset), "symmetric", own.get(name, offset), {}, "")
        for name, x in given.items()
        if x != "auto"
    }
    open_joints = [name for name in given if name not in found]
    if not open_joints:
        return found, ()
    report(f"friction of {counted(len(open_joints), 'joint')}")
    rows = make_stretches(
        robot, [data], lambda x: _soft(x, want.cutoff), armature=want.armature,
        springs=want.springs,
    )  # fmt: skip
    chosen = choose_friction(robot, rows, joints=open_joints, offsets=want.offsets)
    found |= {x.joint: x for x in chosen}
    return found, tuple(x.reason for x in chosen if x.reason)


def _soft(data: Recording, cutoff: float | None) -> Callable[[Array], Array]:
    """The low-pass of a recording, from samples (T, ...) to rows."""
    return partial(rows_of, bands_of(data, cutoff))


def _determined(
    robot: Robot,
    data: Recording,
    chosen: Mapping[str, Choice],
    want: Wanted,
    report: Callable[[str], None],
) -> tuple["Solved", list[tuple[Law, str]]]:
    """Least squares without the laws that the recording does not determine, and those laws."""
    chosen, dropped = dict(chosen), list[tuple[Law, str]]()
    auto = chosen_laws(robot.model, want.friction)
    while True:
        choices: dict[str, FrictionChoice] = {name: x.friction for name, x in chosen.items()}
        offsets = {name: True for name, x in chosen.items() if x.offset}
        sought = unknowns(robot, choices, want.armature, want.springs, offsets=offsets)
        report(f"base parameters of {len(sought.names)} unknowns")
        solved = solve(sought, data, want.method, want.cutoff, report)
        if not solved.doubts:
            return replace(solved, choices=choices), dropped
        for law, text in solved.doubts:
            x = chosen[law.joint]
            chosen[law.joint] = replace(x, friction=x.linear, offset=x.linear_offset)
            bare = described_shapes(law, robot.model.joints[law.index].friction) is None
            if auto[law.joint] != "auto":
                text += ". It gets viscous and Coulomb friction" * bare
            dropped.append((law, text))


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares of a recording at the best shapes of friction laws.

    sought: unknowns at these shapes. whole, base: base parameters of all motions, and those that
    the recording separates, then the shapes. R: triangle of each joint's rows of all linear
    unknowns and the other side, (n, p + 1, p + 1). blocks: rows of `base`; those of shapes are
    derivatives. fit: of base parameters and shapes. doubts: laws that the recording does not
    determine, and why. choices: friction of every joint.
    """

    sought: Unknowns
    whole: Base
    base: Base
    R: Array
    blocks: Sides
    fit: Fit
    doubts: list[tuple[Law, str]]
    choices: Mapping[str, FrictionChoice] = field(default_factory=dict[str, FrictionChoice])


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
    parts = parts_of(sought, [data], cutoff)
    if sought.laws or has_load(sought):
        shaped = find_shapes(parts.some(), whole, method, report)
        sought, parts = shaped.sought, parts.at(shaped.sought.shapes)
        if has_load(sought):  # with the directions of the loads; all in memory
            parts = replace(parts, kept=[shaped])
    R, base, kept, found = _fitted(parts, whole, method)
    for _ in range(const.LOAD_TURNS if has_load(sought) else 0):
        # loads near zero may change their direction for ever, where it hardly matters
        turned = [x.turned(kept, found.beta) for x in parts]
        if all(np.array_equal(x.signs, y.signs) for x, y in zip(turned, parts, strict=True)):
            break
        parts = replace(parts, kept=turned)
        R, base, kept, found = _fitted(parts, whole, method)
    if has_load(sought):
        parts = replace(parts, kept=[x.turned(kept, found.beta) for x in parts])
        rest, _ = residuals(Sides(parts, kept), found.beta)
        found = replace(found, residual=rest)
    if not sought.laws:
        return Solved(sought, whole, base, R, Sides(parts, kept), found, [])
    some = parts.some()
    sizes = [x for x, _ in some.sizes(kept, found.beta)]
    blocks = Sides(parts, kept, sizes, found.beta)
    doubts = _doubts(some, kept, found.beta, plain_errors(blocks, found), data)
    if doubts:
        return Solved(sought, whole, base, R, blocks, found, doubts)
    both = fit_blocks(blocks, method, sought.natural.forces)
    doubts = _doubts(some, kept, found.beta, both.covariance, data)
    beta = np.concatenate([found.beta, sought.shapes])
    found = replace(found, beta=beta, covariance=both.covariance, sigma=both.sigma,
                    condition=both.condition, noise=both.noise)  # fmt: skip
    return Solved(sought, whole, base, R, blocks, found, doubts)


def _fitted(parts: Parts, whole: Base, method: Method) -> tuple[Array, Base, list[int], Fit]:
    """Triangles of all linear unknowns, base with shapes, its linear part, and the fit of that."""
    sought = parts.sought
    R, _ = triangles(Sides(parts, range(sought.p)))
    rows = R[..., list(whole.kept)].transpose(1, 0, 2)
    base = separated_with_shapes(whole, rows, sought)
    K = base.K.copy()
    K[:, [k for k in parts.silent if k not in base.kept]] = 0  # unknowns of joints at rest
    base = replace(base, K=K)
    kept = list(base.kept[: base.r - len(sought.shapes)])
    return R, base, kept, fit_blocks(Sides(parts, kept), method, sought.natural.forces)


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


def check_result(found: Identification) -> Identification:
    """The result, with a warning if its parts do not agree.

    At some rows two things are computed again, from the recording and by the robot's own kernel:
    measured less predicted forces of the base parameters are the residual of the fit, and the robot
    that was found has the joint forces of the estimated unknowns.
    """
    train, forces = found.train, found.sought.natural.forces
    chosen = np.unique(np.linspace(0, len(train) - 1, const.CHECKED_SAMPLES).round().astype(int))
    some = train.part(chosen)
    state = some.q, some.dq, some.ddq
    sought, x = found.sought, found.estimate.x
    known = np.abs(sought.known(*state))
    terms = np.abs(sought.regressor(*state)) @ np.abs(x) + known + np.abs(some.tau)
    size = float((terms / forces).max(initial=0)) or 1.0
    own = found.robot.inverse_dynamics(*state) + sought.sensor_offsets(x) - sought.forces(*state, x)
    off = {"the robot that was found and the unknowns estimated give joint forces": own}
    if len(found.fit.residual) == len(in_band(train, train.tau, found.cutoff)):
        # filters of long recordings are cut at the ends of pieces
        off["the base parameters and the fit's residual"] = _recomputed(found)
    texts: list[str] = []
    for what, difference in off.items():
        share = float(np.abs(difference / forces).max(initial=0)) / size
        if not share <= const.AGREEMENT:
            texts.append(
                f"{what} that differ by {share:.2g} of their terms; expected at most "
                f"{const.AGREEMENT:g}. Do not use this result: please report it with the recording"
            )
            warn(texts[-1] + ".", KinetreeWarning, stacklevel=3)
    if not texts:
        return found
    failed = tuple(Finding("check", (), text) for text in texts)
    verdict = Verdict("not usable", "", (*failed, *found.verdict.reasons), found.verdict.undecided)
    return replace(
        found, verdict=verdict, warnings=(*failed, *found.warnings),
        withheld=tuple(range(found.base.r)),
    )  # fmt: skip


def _recomputed(found: Identification) -> Array:
    """Residuals of some rows, computed sample by sample, less those of the fit, (k, n)."""
    train = found.train
    bands = bands_of(train, found.cutoff)
    starts = np.cumsum([0, *(band.rows for band in bands)])
    rows = np.unique(np.linspace(0, starts[-1] - 1, const.CHECKED_ROWS).round().astype(int))
    off: list[Array] = []
    for row in rows:
        which = int(np.searchsorted(starts, row, side="right")) - 1
        band, k = bands[which], int(row - starts[which])
        own = train.part(slice(*band.window(k, k + 1)))
        forces = found.sought.forces(own.q, own.dq, own.ddq, found.fit.beta, found.base.kept)
        weights = band.weights(k, k + 1)[0] if band.reach else np.ones(1)
        off.append(weights @ (own.tau - forces) - found.fit.residual[row])
    return np.array(off)


def _check(method: Method, hold_out: float, prior: float, folds: int) -> None:
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    if not 0 <= hold_out <= 0.8:
        raise InputError(f"hold_out is {hold_out}; expected a share from 0 to 0.8.")
    if not prior > 0:
        raise InputError(f"prior is {prior}; expected a number above 0, 1 by default.")
    if folds < 2:
        raise InputError(f"folds is {folds}; expected 2 stretches at least.")


def _listed(data: Recording | Sequence[Recording]) -> list[Recording]:
    """Recordings as a list."""
    found = [data] if isinstance(data, Recording) else list(data)
    if not found:
        raise InputError("no recording was given; expected one at least.")
    return found


def _split(
    data: Sequence[Recording], test: Recording | None, share: float
) -> tuple[Recording, Recording]:
    """Samples to use and to hold out: the end of every recording, or another recording."""
    if test is not None:
        return joined_recordings(data), test
    if share == 0:
        whole = joined_recordings(data)
        return whole, whole
    at = [round(len(x) * (1 - share)) for x in data]
    return (
        joined_recordings([x.part(slice(0, k)) for x, k in zip(data, at, strict=True)]),
        joined_recordings([x.part(slice(k, None)) for x, k in zip(data, at, strict=True)]),
    )


def _cross_validate(solved: Solved, folds: int) -> Array:
    """Root mean square errors, (folds, n), of stretches predicted from the rest of the rows.

    Parameters that the rest does not separate stay combined.
    """
    sought, forces = solved.sought, solved.sought.natural.forces
    T = len(solved.fit.residual)
    edges = np.linspace(0, T, folds + 1).round().astype(int)
    parts = _folded(solved.blocks, edges)
    own = sought.scale[list(solved.base.kept)]
    errors: list[Array] = []
    for k, (a, b) in enumerate(pairwise(edges.tolist())):
        rest = stacked(np.concatenate([x for j, x in enumerate(parts) if j != k], axis=1))
        kept = separable(rest[..., :-1].transpose(1, 0, 2), forces, own)[0]
        rest = rest[..., [*kept, -1]] / forces[:, None, None]
        beta, _ = from_triangles(rest, T - (b - a), "weighted")
        left = parts[k][..., kept] @ beta - parts[k][..., -1]
        errors.append(np.sqrt((left**2).sum(axis=1) / (b - a)))
    return np.array(errors)


def _folded(blocks: Sides, edges: Array) -> list[Array]:
    """Triangles of the rows between edges, each (n, r + 1, r + 1)."""
    found: list[list[tuple[Array, Array]]] = [[] for _ in edges[1:]]
    done: list[Array] = []
    at = 0
    for W, y in blocks:
        for k, (a, b) in enumerate(pairwise(edges.tolist())):
            own = slice(max(a - at, 0), max(b - at, 0))
            if len(y[own]):
                found[k].append((W[own], y[own]))
        at += len(y)
        while len(done) < len(found) and edges[len(done) + 1] <= at:
            done.append(triangles(found[len(done)])[0])
            found[len(done) - 1] = []
    return done

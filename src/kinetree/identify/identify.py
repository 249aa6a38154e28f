"""identify: from recordings to base parameters with errors, and to a physically possible robot.

The stages, each a function of values: samples are prepared (`prepared_samples`), lag and friction
are settled with the fit (`settled_friction`), intervals calibrated (`with_intervals`), the fit is
tried on stretches that it has not seen (`cross_validated`), a physically possible robot is found
(`possible_robot`), the result judged (`judge`), and its parts compared (`check_result`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.blas import one_blas_thread
from kinetree.core.options import typed
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of
from kinetree.identify.calibration import calibrated
from kinetree.identify.gains import GainChoice, Gains, in_forces
from kinetree.identify.identification import Identification
from kinetree.identify.lag import Lag, error_size, find_lag, find_time_constant, without_lag
from kinetree.identify.laws import (
    AutoChoices,
    FrictionChoice,
    Law,
    chosen_laws,
    described_shapes,
)
from kinetree.identify.least_squares import METHODS, Method
from kinetree.identify.loads import Body
from kinetree.identify.loops import check_closed
from kinetree.identify.notes import check_joints, check_motion, check_readings, kept_laws
from kinetree.identify.physical import Estimate, consistent
from kinetree.identify.plain import better_band
from kinetree.identify.recording import Recording, joined_recordings
from kinetree.identify.rest import without_rest
from kinetree.identify.select import Choice, choose_friction, make_stretches
from kinetree.identify.self_check import check_result
from kinetree.identify.solve import Solved, cross_validated, solve
from kinetree.identify.spikes import without_spikes
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.identify.verdict import judge
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
    options = Options(
        friction, armature, springs, offsets, method, torque_cutoff, hold_out, prior, folds, lag,
        watch or (lambda text: None),
    )  # fmt: skip
    samples = prepared_samples(robot, data, test, payloads, gains, options)
    settled = settled_friction(robot, samples.train, options)
    samples = samples.without_lag(settled.late, settled.constant)
    solved = with_intervals(settled.solved, samples.drive, options)
    options.report(f"cross-validation in {folds} stretches")
    folded = cross_validated(solved, folds)
    estimate = possible_robot(_with_directions(solved, settled.solved.fit.covariance), options)
    result = Identification(
        Robot(solved.sought.model(estimate.x)), robot, solved.sought, solved.base, solved.fit,
        estimate, method, samples.train, samples.test, folded,
        (*samples.train.notes, *samples.notes, *settled.notes,
         *kept_laws(robot.model, solved.choices)),
        settled.untold, torque_cutoff, settled.lag, settled.reasons, samples.drive,
        tuple(x for x in settled.chosen.values() if x.reason),
    )  # fmt: skip
    options.report("verdict")
    readings = check_readings(robot, samples.train, torque_cutoff)
    stated = robot.model.dof_names if isinstance(offsets, bool) else tuple(offsets or ())
    return check_result(judge(result, solved.whole, readings, stated))


@dataclass(frozen=True)
class Options:
    """Options of `identify` that several stages use, checked; report: `watch`, or nothing."""

    friction: AutoChoices
    armature: bool
    springs: bool
    offsets: bool | Mapping[str, bool] | None
    method: Method
    cutoff: float | None
    hold_out: float = 1 / 3
    prior: float = 1.0
    folds: int = 5
    lag: float | None = None
    report: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method is {self.method!r}; expected one of {', '.join(METHODS)}.")
        if not 0 <= self.hold_out <= 0.8:
            raise InputError(f"hold_out is {self.hold_out}; expected a share from 0 to 0.8.")
        if not self.prior > 0:
            raise InputError(f"prior is {self.prior}; expected a number above 0, 1 by default.")
        if self.folds < 2:
            raise InputError(f"folds is {self.folds}; expected 2 stretches at least.")


@dataclass(frozen=True)
class Samples:
    """Joint forces and motion to use and to hold out (the same object: none), without outliers."""

    train: Recording
    test: Recording
    notes: list[str]
    drive: Gains | None

    def without_lag(self, late: float, constant: float) -> "Samples":
        """The samples with joint forces before a low-pass and moved by a time, both in s."""
        train = without_lag(self.train, late, constant)
        test = train if self.test is self.train else without_lag(self.test, late, constant)
        return replace(self, train=train, test=test)


def prepared_samples(
    robot: Robot,
    data: Recording | Sequence[Recording],
    test: Recording | None,
    payloads: Sequence[Body | None] | None,
    gains: GainChoice,
    options: Options,
) -> Samples:
    """Samples in units of force, of moving joints, split and without outliers."""
    records = [data] if isinstance(data, Recording) else list(data)
    if not records:
        raise InputError("no recording was given; expected one at least.")
    for x in records:
        check_joints(robot.model, x)
        check_closed(robot, x.t, x.q)
    if gains is False and payloads is None and robot.model.constraints is None:
        options.report("band of plain least squares")
        plain = unknowns(robot, "symmetric", options.armature, options.springs, offsets=True)
        records, test = better_band(plain, records, test)
    if options.friction != "known":
        records = [without_rest(robot.model, x) for x in records]
        test = None if test is None else without_rest(robot.model, test)
    drive = None
    if gains is not False or payloads is not None:
        options.report("payloads and gains of drives")
        records, drive = in_forces(
            robot, records, payloads, gains, options.cutoff,
            armature=options.armature, springs=options.springs, method=options.method,
        )  # fmt: skip
        test = test if test is None or drive is None else drive.forces(test)
    train, held = _split(records, test, options.hold_out)
    check_motion(robot.model, train)
    clean, notes = without_spikes(train, options.cutoff)
    if held is train:
        return Samples(clean, clean, list(notes), drive)
    held, more = without_spikes(held, options.cutoff)
    return Samples(clean, held, [*notes, *(f"held-out motion: {x}" for x in more)], drive)


@dataclass(frozen=True, eq=False)
class Settled:
    """Friction and lag that fit together.

    solved: the fit. chosen, reasons: friction of each joint, and why. dropped: laws that the
    recording does not determine, and why. lag: as found; None: not visible. late, constant:
    the lag and the time constant that were removed, s.
    """

    solved: Solved
    chosen: dict[str, Choice]
    reasons: tuple[str, ...]
    dropped: list[tuple[Law, str]]
    lag: Lag | None
    late: float
    constant: float = 0.0

    @property
    def untold(self) -> tuple[str, ...]:
        """Names of base parameters and shapes that the recording does not determine."""
        solved = self.solved
        missing = [solved.sought.names[k] for k in solved.whole.kept if k not in solved.base.kept]
        return (*missing, *(name for law, _ in self.dropped for name, _ in law.shapes))

    @property
    def notes(self) -> tuple[str, ...]:
        """Why laws were dropped."""
        return tuple(text for _, text in self.dropped)


def settled_friction(robot: Robot, train: Recording, options: Options) -> Settled:
    """Lag, friction laws and base parameters, with a low-pass of joint forces where that fits.

    A low-pass of joint forces looks like a lag with friction of another shape. So friction is
    chosen with and without it, and the residuals decide, with a price for each unknown.
    """
    plain = unknowns(robot, "symmetric", options.armature, options.springs, offsets=True)
    lagging = _settled(robot, plain, train, options)
    if options.lag is not None or not lagging.late > 0:
        return lagging
    smooth, models, constant = lagging, [plain, lagging.solved.sought], 0.0
    for _ in range(2):  # the second time with the friction that was chosen
        options.report("time constant of joint forces")
        constants = (find_time_constant(x, train, options.cutoff, lagging.late) for x in models)
        before, constant = constant, next((x for x in constants if x > 0), 0.0)
        if constant == 0:
            return lagging
        if abs(constant - before) < const.SAME_CONSTANT * constant:
            break
        smooth = _settled(robot, plain, without_lag(train, 0.0, constant), options)
        lag = smooth.lag or Lag(0.0, np.inf)
        smooth = replace(smooth, constant=constant, lag=replace(lag, constant=constant))
        models = [smooth.solved.sought]
    rows = len(lagging.solved.fit.residual)
    step = max(x.step for x in bands_of(train, options.cutoff))
    costs = [
        rows * error_size(x.solved.fit.residual, x.constant / train.dt, step)
        + np.log(rows * robot.n) * x.solved.base.r
        for x in (lagging, smooth)
    ]
    return smooth if costs[1] < costs[0] - const.LEAST_GAIN else lagging


def _settled(robot: Robot, plain: Unknowns, train: Recording, options: Options) -> Settled:
    """Lag, friction laws and base parameters; friction that fits makes the lag more accurate."""
    lag = None if options.lag is None else Lag(options.lag, 0.0)
    if lag is None:
        options.report("lag of joint forces behind the motion")
        lag = find_lag(plain, train, options.cutoff)
    late = lag.value if lag is not None and lag.sure else 0.0
    moved = without_lag(train, late)
    chosen, reasons = chosen_friction(robot, moved, options)
    solved, dropped = _determined(robot, moved, chosen, options)
    sought_again = options.lag is None and lag is not None
    more = find_lag(solved.sought, moved, options.cutoff) if sought_again else None
    if more is not None:
        lag = Lag(late + more.value, more.error, more.least)
        if lag.sure and abs(more.value) > more.error:
            late = lag.value
            moved = without_lag(train, late)
            solved, dropped = _determined(robot, moved, chosen, options)
    return Settled(solved, chosen, reasons, dropped, lag, late)


def with_intervals(solved: Solved, drive: Gains | None, options: Options) -> Solved:
    """The fit with intervals that cover (`calibration`), and with the errors of gains."""
    options.report("errors of simulated twins")
    fit = calibrated(solved.blocks, solved.fit, options.method)
    if drive is not None:
        W, y = (np.concatenate(x) for x in zip(*solved.blocks, strict=True))
        fit = replace(fit, covariance=fit.covariance + drive.spread(W, y, fit.weights))
    return replace(solved, fit=fit)


def chosen_friction(
    robot: Robot, data: Recording, options: Options
) -> tuple[dict[str, Choice], tuple[str, ...]]:
    """Friction and offset of every joint, and sentences on those that were chosen."""
    laws = chosen_laws(robot.model, options.friction)
    choices = dict[str, Choice]()
    for name, law in laws.items():
        if law != "auto":
            offset = options.offsets
            has = bool(offset.get(name) if isinstance(offset, Mapping) else offset)
            choices[name] = Choice(name, law, has, "symmetric", has, {}, "")
    open_joints = [name for name in laws if name not in choices]
    if not open_joints:
        return choices, ()
    options.report(f"friction of {counted(len(open_joints), 'joint')}")
    rows = make_stretches(
        robot, [data], options.cutoff, armature=options.armature, springs=options.springs
    )
    chosen = choose_friction(robot, rows, joints=open_joints, offsets=options.offsets)
    choices |= {x.joint: x for x in chosen}
    return choices, tuple(x.reason for x in chosen if x.reason)


def _determined(
    robot: Robot,
    data: Recording,
    chosen: Mapping[str, Choice],
    options: Options,
) -> tuple[Solved, list[tuple[Law, str]]]:
    """Least squares without the laws that the recording does not determine, and those laws."""
    chosen, dropped = dict(chosen), list[tuple[Law, str]]()
    auto = chosen_laws(robot.model, options.friction)
    while True:
        choices: dict[str, FrictionChoice] = {name: x.friction for name, x in chosen.items()}
        offsets = {name: True for name, x in chosen.items() if x.offset}
        sought = unknowns(robot, choices, options.armature, options.springs, offsets=offsets)
        options.report(f"base parameters of {len(sought.names)} unknowns")
        solved = solve(sought, data, options.method, options.cutoff, options.report)
        if not solved.doubts:
            return replace(solved, choices=choices), dropped
        for law, text in solved.doubts:
            x = chosen[law.joint]
            chosen[law.joint] = replace(x, friction=x.linear, offset=x.linear_offset)
            bare = described_shapes(law, robot.model.joints[law.index].friction) is None
            if auto[law.joint] != "auto":
                text += ". It gets viscous and Coulomb friction" * bare
            dropped.append((law, text))


def _with_directions(solved: Solved, covariance: Array) -> Solved:
    """The fit with the directions of its covariance before calibration, if they matter.

    Calibration scales parameters one by one. Where they nearly depend on each other, as those of
    mechanisms, this turns the directions that are known well, and the robot would leave them.
    """
    if solved.fit.condition < const.POOR_CONDITION:
        return solved
    wider = np.diag(solved.fit.covariance) / np.diag(covariance)
    return replace(solved, fit=replace(solved.fit, covariance=covariance * wider.mean()))


def possible_robot(solved: Solved, options: Options) -> Estimate:
    """The unknowns of a physically possible robot; shapes, which have no prior, are those found."""
    sought, found = solved.sought, solved.fit
    estimate = consistent(
        sought, solved.base, found, solved.R, len(found.residual), prior=options.prior,
        watch=lambda k, cost: options.report(f"physically possible robot, round {k}"),
    )  # fmt: skip
    count = len(sought.shapes)
    if not count:
        return estimate
    return replace(
        estimate,
        x=np.concatenate([estimate.x, sought.shapes]),
        deviation=np.concatenate([estimate.deviation, found.standard_error[-count:]]),
        learned=np.concatenate([estimate.learned, np.ones(count)]),
    )


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

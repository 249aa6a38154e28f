"""identify: from recordings to base parameters with errors, and to a physically possible robot.

The stages: samples are checked and split; cutoff, lag and friction are chosen by cross-validation
(`select`); base parameters and shapes are fitted (`solve`); a physically possible robot is found
(`physical`); causes of errors are tested (`diagnose`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.blas import one_blas_thread
from kinetree.core.options import typed
from kinetree.dynamics.natural_units import natural_units
from kinetree.errors import InputError, SingularityError
from kinetree.identify.band import in_band
from kinetree.identify.checks import STILL_RANGE
from kinetree.identify.diagnose import find_cause
from kinetree.identify.gains import GainChoice, in_forces
from kinetree.identify.identification import WORSE, Identification
from kinetree.identify.lag import choose_lag, without_lag
from kinetree.identify.laws import AutoChoices, FrictionChoice, chosen_laws
from kinetree.identify.least_squares import Method
from kinetree.identify.loads import Body
from kinetree.identify.loops import check_closed
from kinetree.identify.physical import possible_robot
from kinetree.identify.recording import Recording, joined_recordings
from kinetree.identify.rest import without_rest
from kinetree.identify.rows import make_rows
from kinetree.identify.select import (
    Choice,
    choose_cutoff,
    choose_friction,
    matched,
    plain_fit,
    plain_unknowns,
)
from kinetree.identify.solve import Solved, solve
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.model import Model
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
    torque_cutoff: float | None = None,
    lag: float | None = None,
) -> Identification:
    """Find the parameters of a robot in a recording.

    Args:
        robot: as described; its geometry is trusted, its parameters are a prior.
        data: from `read_recording` or `make_recording`, one or several of the same robot.
        test: another recording to try the result on; None holds out the end of `data`.
        hold_out: share of `data` held out then, dimensionless, 0 to 0.8.
        method: "ordinary", "weighted" (each joint by its noise) or "robust" (outliers as well).
        friction: friction of every joint to find, or {joint: choice}; see `unknowns`. "auto"
            chooses the law of each joint by cross-validation.
        armature, springs: unknowns of drives and springs; see `unknowns`.
        offsets: whether measured joint forces have constant offsets, for all joints or
            {joint: bool}; None: chosen with the friction where that is "auto", else no.
        payloads: the known body that the robot carries in each recording, or None; None: no
            payload in any recording.
        gains: True if tau has signals of drives (currents, say) with a gain of each joint to find,
            which needs a recording with a known payload; "description": gains that fit the masses
            as described; or known gains {joint: value}, in units of tau per N m or N.
        prior: relative error of the description, dimensionless; 1 lets bodies double or vanish.
        torque_cutoff: frequency of the low-pass through which measured and predicted joint forces
            pass alike before they are compared, Hz; None: five times that of the recording's
            rates, or no filter if those were recorded.
        lag: time by which measured joint forces are later than the motion, s; None: chosen.
    """
    if not 0 <= hold_out <= 0.8:
        raise InputError(f"hold_out is {hold_out}; expected a share from 0 to 0.8.")
    if not prior > 0:
        raise InputError(f"prior is {prior}; expected a number above 0, 1 by default.")
    records = [data] if isinstance(data, Recording) else list(data)
    _check(robot, records if test is None else [*records, test], len(records))
    simple, drive = plain_unknowns(robot, armature, springs), None
    if gains is not False or payloads is not None:
        records, drive = in_forces(
            robot, records, payloads, gains, torque_cutoff,
            armature=armature, springs=springs, method=method,
        )  # fmt: skip
        test = test if test is None or drive is None else drive.forces(test)
    elif robot.model.constraints is None:
        records, test = _best_cutoff(simple, records, test, hold_out)
    if friction != "known":
        records = [without_rest(robot.model, x) for x in records]
        test = None if test is None else without_rest(robot.model, test)
    train, held = (_thinned(x, simple, torque_cutoff) for x in _split(records, test, hold_out))
    plain = plain_fit(simple, train, torque_cutoff)
    rows = make_rows(simple, held, torque_cutoff)
    left = rows.y - rows.columns(plain.kept) @ plain.beta
    if lag is None:
        lag = choose_lag(plain, train, torque_cutoff)
    train, held = without_lag(train, lag), without_lag(held, lag)
    held = train if hold_out == 0 and test is None else held
    laws = chosen_laws(robot.model, friction)
    choices = choose_friction(
        robot, train, laws, offsets, armature, springs, torque_cutoff, plain.sigma
    )
    solved, choices, notes = _determined(
        choices, train, method, torque_cutoff,
        lambda laws, offsets: unknowns(robot, laws, armature, springs, offsets),
    )  # fmt: skip
    if drive is not None:
        spread = drive.spread(solved.W, solved.rows.y, solved.fit.weights)
        fit = replace(solved.fit, covariance=solved.fit.covariance + spread)
        solved = replace(solved, fit=fit)
    estimate = possible_robot(solved, prior)
    causes = find_cause(solved, held, torque_cutoff)
    result = Identification(
        Robot(solved.params.model(estimate.x)), robot, solved.params, solved.base, solved.fit,
        estimate, method, train, held, np.sqrt((left**2).mean(axis=0)), True,
        tuple(x for x in choices.values() if x.errors), tuple(causes), solved.unidentified,
        torque_cutoff, lag, drive, (*train.notes, *notes),
    )  # fmt: skip
    return replace(result, physical=_robot_predicts(result, solved))


def _best_cutoff(
    simple: Unknowns, records: list[Recording], test: Recording | None, share: float
) -> tuple[list[Recording], Recording | None]:
    """Recordings with rates at the cutoff that predicts joint forces best."""
    used = records
    if test is None:  # the choice sees no held-out sample
        used = [x.part(slice(0, round(len(x) * (1 - share)))) for x in records]
    cutoff = choose_cutoff(simple, used)
    if cutoff is None:
        return records, test
    note = f"rates at {cutoff:.3g} Hz predict joint forces better than those at {{:.3g}} Hz"
    better = [matched(x, cutoff)[1].noted(note.format(x.cutoff)) for x in records]
    if test is not None and test.again is not None:
        test = matched(test, cutoff)[1]
    return better, test


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


def _thinned(data: Recording, simple: Unknowns, cutoff: float | None) -> Recording:
    """Eight stretches of a recording whose columns would not fit into memory."""
    rows = len(in_band(data, data.t[:, None], cutoff))
    most = 25_000_000 // (simple.robot.n * simple.p)  # numbers of a fit: 200 MB
    if rows <= most:
        return data
    length = most * len(data) // rows // 8
    starts = np.linspace(0, len(data) - length, 8).round().astype(int)
    chosen = np.unique(np.add.outer(starts, np.arange(length)))
    return data.part(chosen).noted(f"{len(chosen):,} of {len(data):,} samples are used")


def check_joints(model: Model, data: Recording) -> None:
    """Refuse recordings that were made for a robot with other joints, or in another order."""
    if data.model is not None and data.model.dof_names != model.dof_names:
        raise InputError(
            f"the recording has {', '.join(data.model.dof_names)}; {model.name!r} has "
            f"{', '.join(model.dof_names)}. Make or read the recording with this robot."
        )


def _check(robot: Robot, recordings: Sequence[Recording], used: int) -> None:
    """Refuse recordings of other robots, open loops, and nothing that moves or changes."""
    if not used:
        raise InputError("no recording was given; expected one at least.")
    for x in recordings:
        check_joints(robot.model, x)
        check_closed(robot, x.t, x.q)
    data, units = joined_recordings(recordings[:used]), natural_units(robot.model)
    reach = np.ptp(data.q, axis=0) / np.where(units.positions, units.length, 1)
    if reach.max(initial=0) < STILL_RANGE:
        raise SingularityError(
            f"no joint moves by more than {STILL_RANGE:g} rad or {STILL_RANGE * units.length:.3g} "
            "m in the recording; expected a motion of all joints or motors. "
            "`kinetree.identify.excite` plans one."
        )
    if not np.any(np.ptp(data.tau, axis=0)):
        raise InputError(
            "tau never changes in the recording; expected the measured forces of all joints."
        )


def _determined(
    choices: dict[str, Choice],
    data: Recording,
    method: Method,
    cutoff: float | None,
    sought: Callable[[dict[str, FrictionChoice], dict[str, bool]], Unknowns],
) -> tuple[Solved, dict[str, Choice], list[str]]:
    """Least squares without the laws whose shapes the recording does not determine."""
    notes = list[str]()
    while True:
        params = sought(
            {name: x.friction for name, x in choices.items()},
            {name: True for name, x in choices.items() if x.offset},
        )
        shapes = [x for law in params.laws for x in choices[law.joint].shapes]
        solved = solve(params.at(np.array(shapes)), data, method, cutoff)
        if not solved.open_laws:
            return solved, choices, notes
        for law in solved.open_laws:
            own = replace(choices[law.joint], friction="symmetric", shapes=())
            choices = choices | {law.joint: own}
            notes.append(
                f"the recording does not determine the {law.kind} friction of {law.joint!r}: it "
                "gets viscous and Coulomb friction. Record slow and fast motions with reversals"
            )


def _robot_predicts(result: Identification, solved: Solved) -> bool:
    """Whether the possible robot explains samples of the fit as well as the base parameters do."""
    least = 1e-9 * result.params.natural.forces  # without noise, both errors are rounding
    base = np.sqrt((solved.fit.residual**2).mean(axis=0)) + least
    robot = result.error(result.train, physical=True) + least
    return bool(np.mean(robot / base) <= WORSE)

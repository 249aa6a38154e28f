"""Which friction a joint needs, chosen by the error on rows that a fit has not seen.

Candidates for each joint, from simple to complex:

    symmetric                    viscous dq + coulomb sign(dq)
    symmetric with an offset     and an offset of the sensor
    directional                  other coefficients for dq < 0; an offset is part of them
    stribeck, sigmoid            see `laws`; each with or without an offset

Cross-validation is by folds of consecutive rows, because errors of neighbouring rows are alike. The
choice is the simplest candidate that is not significantly worse than the best one: its squared
errors exceed those of the best one by no more than `SIMPLER_LAW_Z` standard errors of the mean
difference, from block to block. A block is longer than errors are correlated. Of candidates with as
many unknowns the one with the smaller error is chosen. So a joint with symmetric friction gets a
law or an offset that it does not need in 5 % of recordings (9 of 180 joints in simulations).

If a curve is chosen for any joint, the choice is made again: first with directional friction of the
other joints, then with the friction that was chosen for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, rows_of
from kinetree.identify.base import find_base, separable
from kinetree.identify.equations import silent_columns
from kinetree.identify.laws import FrictionChoice, described_shapes, laws_of
from kinetree.identify.loops import motor_dofs
from kinetree.identify.recording import Recording, some_parts
from kinetree.identify.trials import (
    CANDIDATES,
    Candidate,
    FrictionColumns,
    Stretch,
    Trial,
    make_columns,
    make_problem,
    tried,
)
from kinetree.identify.unknowns import unknowns
from kinetree.model import Joint
from kinetree.model.friction import has_more_laws
from kinetree.robot import Robot


@dataclass(frozen=True)
class Choice:
    """The friction chosen for a joint.

    Args:
        joint: its name.
        friction: the law.
        offset: True if its measured force has an offset to find.
        linear: the best law without shapes: for recordings that do not determine those of
            `friction`.
        linear_offset: True if that one has an offset.
        errors: held-out error of each candidate, N m or N, by name; empty if it was not compared.
        reason: a sentence for the report.
    """

    joint: str
    friction: FrictionChoice
    offset: bool
    linear: FrictionChoice
    linear_offset: bool
    errors: Mapping[str, float]
    reason: str


def make_stretches(
    robot: Robot,
    data: Sequence[Recording],
    cutoff: float | None = None,
    *,
    armature: bool = True,
    springs: bool = True,
) -> list[Stretch]:
    """The rows of recordings for `choose_friction`; of a long one, those of some stretches.

    Args:
        robot: as described.
        data: the recordings.
        cutoff: of the low-pass of both sides, Hz, as in `bands_of`.
        armature, springs: as in `unknowns`.
    """
    motors = motor_dofs(robot.model)
    beside: dict[str, FrictionChoice] = {
        x.name: "known" if x.dofs[0] in motors else "symmetric"
        for x in robot.model.joints
        if x.type in SCREW_TYPES
    }
    sought = unknowns(robot, beside, armature, springs)
    base = list(find_base(sought).kept)
    still = _still(robot, data)
    stretches: list[Stretch] = []
    for part in (x for one in data for x in some_parts(one, _most_samples(one, cutoff))):
        # measured rates of a joint at rest are noise, to which its friction does not belong
        rates = [x.copy() for x in (part.dq, part.ddq)]
        for x in rates:
            x[:, still] = 0
        state, bands = (part.q, rates[0], rates[1]), bands_of(part, cutoff)
        y = rows_of(bands, part.tau - sought.known_load(*state))
        X = rows_of(bands, sought.plain(*state)[..., base])
        kept = {law: rows_of(bands, x) for law, x in _kept_friction(robot, state).items()}
        stretches.append(Stretch(X, y, kept, rates[0], bands))
    scale = sought.scale[base]
    X = np.concatenate([x.X for x in stretches])
    separate, _ = separable(X, sought.natural.forces, scale)
    return [replace(x, X=x.X[..., separate]) for x in stretches]


def _still(robot: Robot, data: Sequence[Recording]) -> list[int]:
    """Degrees of freedom that stand still in all recordings."""
    sought = unknowns(robot, "symmetric", armature=False, springs=False)
    resting = {sought.names[k] for k in silent_columns(sought, data)}
    joints = [x for x in robot.model.joints if f"viscous[{x.name}]" in resting]
    return sorted({x.dofs[0] for x in joints})


def _most_samples(data: Recording, cutoff: float | None) -> int:
    """Number of samples that have `LAW_ROWS` rows, at most `LAW_SAMPLES`."""
    first = data.part(slice(0, const.LAW_SAMPLES))
    rows = sum(band.rows for band in bands_of(first, cutoff))
    return min(const.LAW_SAMPLES, const.LAW_ROWS * len(first) // rows)


def _kept_friction(robot: Robot, state: tuple[Array, Array, Array]) -> dict[str, Array]:
    """Friction, (T, n), that a description has beyond what each law seeks, by law."""
    if not any(has_more_laws(x.friction) for x in robot.model.joints):
        return {}
    laws: set[FrictionChoice] = {x.friction for x in CANDIDATES}
    return {law: unknowns(robot, law).known_friction(*state) for law in laws}


def choose_friction(
    robot: Robot,
    stretches: Sequence[Stretch],
    *,
    joints: Sequence[str] | None = None,
    offsets: bool | Mapping[str, bool] | None = None,
) -> list[Choice]:
    """The friction of each joint, in the order of the joints, with reasons.

    Args:
        robot: as described.
        stretches: rows of one or more recordings, from `make_stretches`.
        joints: those to choose for; None: all that have a force of their own.
        offsets: True or False if joints have, or have not, an offset; None: chosen. Also by joint.
    """
    if not stretches:
        raise InputError("no recordings to choose friction from; expected one at least.")
    motors = motor_dofs(robot.model)
    driven = [x for x in robot.model.joints if x.type in SCREW_TYPES and x.follows is None]
    sought = [x for x in driven if joints is None or x.name in joints]
    moving = [x for x in sought if any(np.any(s.dq[:, x.dofs[0]]) for s in stretches)]
    table = {x.name: _columns_of(robot, stretches, x) for x in moving}
    friction = [
        ("directional", make_columns(stretches, dof, {}, {}).linear[:, : 4 * (dof in motors)])
        for dof in range(robot.n)
    ]
    trials: dict[str, dict[Candidate, Trial]] = {}
    for _ in range(const.LAW_PASSES):
        problem = make_problem(stretches, friction)
        for joint in moving:
            # directional friction takes up an offset, whether one is wanted or not
            offset = _offset_of(offsets, joint.name)
            allowed = [
                x
                for x in CANDIDATES
                if offset is None or x.friction == "directional" or x.offset is offset
            ]
            before = trials.get(joint.name, {})
            trials[joint.name] = tried(problem, table[joint.name], allowed, before)
        chosen = {x.name: simplest(list(trials[x.name].values())) for x in moving}
        for joint in moving:
            best = chosen[joint.name]
            friction[joint.dofs[0]] = best.candidate.friction, best.columns
        if not any(x.candidate.is_curve for x in chosen.values()):
            break  # directional friction of the others was enough
    return [_reported(x, trials.get(x.name, {}), _offset_of(offsets, x.name)) for x in sought]


def _offset_of(offsets: bool | Mapping[str, bool] | None, joint: str) -> bool | None:
    return offsets.get(joint) if isinstance(offsets, Mapping) else offsets


def _columns_of(robot: Robot, stretches: Sequence[Stretch], joint: Joint) -> FrictionColumns:
    kinds: list[FrictionChoice] = [x.friction for x in CANDIDATES if x.is_curve]
    laws = {kind: laws_of(robot.model, {joint.name: kind})[0] for kind in kinds}
    described = {kind: described_shapes(law, joint.friction) for kind, law in laws.items()}
    return make_columns(stretches, joint.dofs[0], laws, described)


def simplest(trials: Sequence[Trial]) -> Trial:
    """The trial with the fewest unknowns of those that are not significantly worse than the best.

    None is chosen whose error is larger than that of a simpler one: errors that vary much from
    block to block are not significantly worse, and not better either.

    Args:
        trials: of the candidates of a joint, with losses of the same blocks.
    """
    best = min(trials, key=lambda x: float(x.loss.mean()))
    fine = [
        x
        for x in trials
        if not is_worse(x.loss, best.loss) and not any(_is_simpler(y, x) for y in trials)
    ]
    return min(fine, key=lambda x: (x.candidate.size, float(x.loss.mean())))


def _is_simpler(trial: Trial, than: Trial) -> bool:
    """Whether a trial has fewer unknowns and a smaller error."""
    fewer = trial.candidate.size < than.candidate.size
    return fewer and bool(trial.loss.mean() < than.loss.mean())


def is_worse(loss: Array, best: Array) -> bool:
    """Whether losses of blocks exceed those of the best trial by more than chance."""
    d = loss - best
    return float(d.mean()) > const.SIMPLER_LAW_Z * float(d.std(ddof=1)) / np.sqrt(len(d))


def _reported(joint: Joint, trials: Mapping[Candidate, Trial], offset: bool | None) -> Choice:
    """The choice among the trials of a joint, with its reason; symmetric friction at rest."""
    if not trials:
        reason = f"{joint.name}: the joint stands still, so recordings do not show which friction "
        has = offset is True
        return Choice(joint.name, "symmetric", has, "symmetric", has, {}, f"{reason}it has")
    best = simplest(list(trials.values())).candidate
    plain = [x for x in trials.values() if not x.candidate.is_curve]
    kept = [x for x in plain if x.candidate.takes_offset] if best.offset else []
    linear = simplest(kept or plain).candidate
    # without its shape a law keeps the offset, even if no linear candidate with one was possible
    linear_offset = linear.offset or (best.offset and not linear.takes_offset) or offset is True
    errors = {str(x): float(np.sqrt(trial.loss.mean())) for x, trial in trials.items()}
    unit = "N" if joint.type == PRISMATIC else "N m"
    others = "; ".join(f"{x} {error:.3g}" for x, error in errors.items() if x != str(best))
    others = others or "recordings cannot tell other laws from it"
    reason = f"{joint.name}: {best}, held-out error {errors[str(best)]:.3g} {unit}; {others}"
    least = min(errors, key=lambda x: errors[x])
    if least != str(best):
        reason += f" ({least} is not significantly better)"
    return Choice(
        joint.name, best.friction, best.offset or offset is True, linear.friction, linear_offset,
        errors, reason,
    )  # fmt: skip

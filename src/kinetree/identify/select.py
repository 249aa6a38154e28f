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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.identify import constants as const
from kinetree.identify.base import find_base, separable
from kinetree.identify.laws import FrictionChoice, described_shapes, laws_of
from kinetree.identify.recording import Recording
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
    soft_of: Callable[[Recording], Callable[[Array], Array]],
    *,
    known: Sequence[Callable[[Recording], Array]] | None = None,
    armature: bool = True,
    springs: bool = True,
) -> list[Stretch]:
    """The rows of recordings for `choose_friction`; of a long one, those of some stretches.

    Args:
        robot: as described.
        data: the recordings.
        soft_of: gives the filter of a recording, from samples (T, k) to rows (rows, k).
        known: gives joint forces, (T, n), that are known besides, of payloads; None: no such.
        armature, springs: as in `unknowns`.
    """
    sought = unknowns(robot, "known", armature, springs)
    base = list(find_base(sought).kept)
    still = _still(robot, data)
    found: list[Stretch] = []
    for k, whole in enumerate(data):
        for part in some_parts(whole, soft_of):
            # measured rates of a joint at rest are noise, to which its friction does not belong
            rates = [x.copy() for x in (part.dq, part.ddq)]
            for x in rates:
                x[:, still] = 0
            state, soft = (part.q, rates[0], rates[1]), soft_of(part)
            tau = part.tau - sought.known_load(*state)
            y = soft(tau if known is None else tau - known[k](part))
            X = sought.plain(*state)[..., base]
            X = soft(X.reshape(len(X), -1)).reshape(len(y), robot.n, -1)
            found.append(Stretch(X, y, _kept_friction(robot, state, soft), rates[0], soft))
    scale = sought.scale[base]
    own, _ = separable(np.concatenate([x.X for x in found]), sought.natural.forces, scale)
    return [replace(x, X=x.X[..., own]) for x in found]


def _still(robot: Robot, data: Sequence[Recording]) -> list[int]:
    """Degrees of freedom that stand still in all recordings."""
    sought = unknowns(robot, "symmetric", armature=False, springs=False)
    common = set.intersection(*(set(sought.at_rest(x.q).tolist()) for x in data))
    resting = {sought.names[k] for k in common}
    joints = [x for x in robot.model.joints if f"viscous[{x.name}]" in resting]
    return sorted({x.dofs[0] for x in joints})


def some_parts(
    data: Recording, soft_of: Callable[[Recording], Callable[[Array], Array]] | None = None
) -> list[Recording]:
    """The recording, or stretches with `LAW_SAMPLES` samples or `LAW_ROWS` rows together.

    Args:
        data: the recording.
        soft_of: as in `make_stretches`; None: the number of rows does not matter.
    """
    most = const.LAW_SAMPLES
    if soft_of is not None and len(data) > min(const.LAW_SAMPLES, const.LAW_ROWS):
        first = data.part(slice(0, const.LAW_SAMPLES))
        most = min(
            const.LAW_SAMPLES, const.LAW_ROWS * len(first) // len(soft_of(first)(first.t[:, None]))
        )
    if len(data) <= most:
        return [data]
    length = most // const.LAW_STRETCHES
    starts = np.linspace(0, len(data) - length, const.LAW_STRETCHES).round().astype(int)
    return [data.part(slice(a, a + length)) for a in starts.tolist()]


def _kept_friction(
    robot: Robot, state: tuple[Array, Array, Array], soft: Callable[[Array], Array]
) -> dict[str, Array]:
    """Rows of the friction that a description has beyond what each law seeks, by law."""
    if not any(has_more_laws(x.friction) for x in robot.model.joints):
        return {}
    laws: set[FrictionChoice] = {x.friction for x in CANDIDATES}
    return {law: soft(unknowns(robot, law).known_friction(*state)) for law in laws}


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
    own = [x for x in robot.model.joints if x.type in SCREW_TYPES and x.follows is None]
    own = [x for x in own if joints is None or x.name in joints]
    moving = [x for x in own if any(np.any(s.dq[:, x.dofs[0]]) for s in stretches)]
    table = {x.name: _columns_of(robot, stretches, x) for x in moving}
    friction = [
        ("directional", make_columns(stretches, dof, {}, {}).linear[:, :4])
        for dof in range(robot.n)
    ]
    trials: dict[str, dict[Candidate, Trial]] = {}
    for _ in range(const.LAW_PASSES):
        problem = make_problem(stretches, friction)
        for joint in moving:
            allowed = [x for x in CANDIDATES if _is_allowed(x, _given(offsets, joint.name))]
            before = trials.get(joint.name, {})
            trials[joint.name] = tried(problem, table[joint.name], allowed, before)
        chosen = {x.name: simplest(list(trials[x.name].values())) for x in moving}
        for joint in moving:
            best = chosen[joint.name]
            friction[joint.dofs[0]] = best.candidate.friction, best.columns
        if not any(x.candidate.is_curve for x in chosen.values()):
            break  # directional friction of the others was enough
    return [
        _reported(x, trials[x.name], _given(offsets, x.name))
        if x in moving
        else _at_rest(x, _given(offsets, x.name))
        for x in own
    ]


def _given(offsets: bool | Mapping[str, bool] | None, joint: str) -> bool | None:
    return offsets.get(joint) if isinstance(offsets, Mapping) else offsets


def _is_allowed(candidate: Candidate, offset: bool | None) -> bool:
    """Whether a candidate has the offset that is wanted; directional friction takes one up."""
    return offset is None or candidate.friction == "directional" or candidate.offset is offset


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
        if not _is_worse(x.loss, best.loss) and not any(_is_simpler(y, x) for y in trials)
    ]
    return min(fine, key=lambda x: (x.candidate.size, float(x.loss.mean())))


def _is_simpler(trial: Trial, than: Trial) -> bool:
    """Whether a trial has fewer unknowns and a smaller error."""
    fewer = trial.candidate.size < than.candidate.size
    return fewer and bool(trial.loss.mean() < than.loss.mean())


def _is_worse(loss: Array, best: Array) -> bool:
    """Whether losses of blocks exceed those of the best trial by more than chance."""
    d = loss - best
    return float(d.mean()) > const.SIMPLER_LAW_Z * float(d.std(ddof=1)) / np.sqrt(len(d))


def _reported(joint: Joint, trials: Mapping[Candidate, Trial], offset: bool | None) -> Choice:
    """The choice among the trials of a joint, with its reason."""
    found = simplest(list(trials.values())).candidate
    linear = simplest([x for x in trials.values() if not x.candidate.is_curve]).candidate
    errors = {str(x): float(np.sqrt(trial.loss.mean())) for x, trial in trials.items()}
    unit = "N" if joint.type == PRISMATIC else "N m"
    others = "; ".join(f"{x} {error:.3g}" for x, error in errors.items() if x != str(found))
    others = others or "recordings cannot tell other laws from it"
    reason = f"{joint.name}: {found}, held-out error {errors[str(found)]:.3g} {unit}; {others}"
    best = min(errors, key=lambda x: errors[x])
    if best != str(found):
        reason += f" ({best} is not significantly better)"
    return Choice(
        joint.name, found.friction, found.offset or offset is True, linear.friction,
        linear.offset or offset is True, errors, reason,
    )  # fmt: skip


def _at_rest(joint: Joint, offset: bool | None) -> Choice:
    """Symmetric friction for a joint that does not move."""
    has = offset is True
    reason = (
        f"{joint.name}: the joint stands still, so recordings do not show which friction it has"
    )
    return Choice(joint.name, "symmetric", has, "symmetric", has, {}, reason)

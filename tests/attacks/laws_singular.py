"""Four-bars next to singular positions: numbers are right or not a number, in any units.

The reference knows the bars as points of the plane and solves Newton's equations of all three
bodies, with the forces in the pins as unknowns, in fifty digits. It shares no code with kinetree.
"""

from typing import Any

import mpmath
import numpy as np
from attack_case import law, note

import kinetree as kt
from kinetree.errors import InputError

BOUND = 1e-5  # relative error that docs/constraints.md promises


def _bars(lengths: Any, masses: Any, base: float, unit: float, turn: float, swap: bool) -> kt.Robot:
    """A four-bar in a unit of length, turned in its plane, its joints declared in either order."""
    builder = kt.Builder("bars", gravity=(0, 0, 0)).link("base")
    for name, m, length in zip("abc", masses, lengths, strict=True):
        size = length * unit
        builder.link(name, m, (size / 2, 0, 0), np.eye(3) * m * size * size / 12)
    way = np.array([np.cos(turn), np.sin(turn), 0])
    joints = [("a", "base", (0, 0, 0)), ("b", "a", (lengths[0] * unit, 0, 0)),
              ("c", "base", base * unit * way)]  # fmt: skip
    for name, parent, at in [joints[2], *joints[:2]] if swap else joints:
        builder.joint(name, "revolute", parent, name, at=at)
    builder.frame("p", "b", (lengths[1] * unit, 0, 0)).frame("t", "c", (lengths[2] * unit, 0, 0))
    return builder.build().constrained({"loop": kt.constraints.Loop("t", "p", "axis")})


def _reference(lengths: Any, masses: Any, angles: Any, torque: float) -> Any:
    """Angular accelerations of the bars at rest, for a torque between base and first bar.

    Unknowns: three angular accelerations, and the forces (x, y) in the pins from base to a, a to b,
    b to c, and base to c.
    """
    u = [(mpmath.cos(x), mpmath.sin(x)) for x in angles]
    A, right = mpmath.zeros(11, 11), mpmath.zeros(11, 1)
    # accelerations of the centres, as sums of lever * alpha at rest
    centre = [{0: lengths[0] / 2}, {0: lengths[0], 1: lengths[1] / 2}, {2: lengths[2] / 2}]
    pins = {0: ((3, 1, 0), (5, -1, 1)), 1: ((5, 1, 0), (7, -1, 1)), 2: ((9, 1, 0), (7, 1, 1))}
    for i in range(3):
        m, size = mpmath.mpf(masses[i]), mpmath.mpf(lengths[i])
        for k in range(2):
            row = 2 * i + k
            for j, lever in centre[i].items():
                A[row, j] += m * mpmath.mpf(lever) * (-u[j][1], u[j][0])[k]
            for at, sign, _ in pins[i]:
                A[row, at + k] -= sign
        row = 6 + i
        A[row, i] = m * size * size / 12
        for at, sign, end in pins[i]:
            arm = size / 2 * (1 if end else -1)
            A[row, at + 1] -= sign * arm * u[i][0]
            A[row, at] += sign * arm * u[i][1]
        right[row] = mpmath.mpf(torque) if i == 0 else 0
    for k in range(2):  # the pin of b and c has one acceleration
        for j, sign in ((0, 1), (1, 1), (2, -1)):
            A[9 + k, j] = sign * mpmath.mpf(lengths[j]) * (-u[j][1], u[j][0])[k]
    return mpmath.lu_solve(A, right)[:3]


@law(ci=2, limit=60)
def law_numbers_next_to_singular_positions_are_right(rng: Any) -> None:
    """A parallelogram near its flat position, at any distance and in any units."""
    short, long = sorted(float(x) for x in rng.uniform(0.2, 1.0, 2))
    lengths, masses = (short, long, short), [float(x) for x in rng.uniform(0.2, 3.0, 3)]
    unit, turn = 10.0 ** float(rng.integers(-3, 3)), float(rng.uniform(-3, 3))
    swap, torque = bool(rng.integers(2)), float(rng.normal())
    e = 10.0 ** float(rng.uniform(-12, -0.5))
    note(rng, lengths=lengths, masses=masses, unit=unit, turn=turn, swap=swap, e=e)
    robot = _bars(lengths, masses, long, unit, turn, swap)
    q = np.array([robot.dof_names.index(x) for x in "abc"])
    state = np.zeros(3)
    state[q] = turn + e, -e, turn + e
    tau = np.zeros(3)
    tau[q[0]] = torque * unit * unit  # so that accelerations do not depend on the unit
    found = robot.forward_dynamics(state, np.zeros(3), tau)
    if np.isnan(found).any():
        assert e < 1e-2, "not a number far from the singular position"
        return
    with mpmath.workdps(50):
        x = mpmath.mpf(float(state[q[0]])) - mpmath.mpf(turn)
        alpha = [float(v) for v in _reference(lengths, masses, [x, mpmath.mpf(0), x], torque)]
    expected = np.array([alpha[0], alpha[1] - alpha[0], alpha[2]])
    error = np.abs(found[q] - expected).max() / np.abs(expected).max()
    assert error < BOUND, f"relative error {error:.2g} at {e:.2g} rad from flat"


@law(ci=2, limit=60)
def law_acceptance_depends_on_neither_units_nor_order(rng: Any) -> None:
    """Bars that just reach, or just do not: the same verdict in any units, turned and reordered."""
    lengths = [float(x) for x in rng.uniform(0.2, 1.0, 3)]
    masses = [float(x) for x in rng.uniform(0.2, 3.0, 3)]
    slack = float(rng.choice([-1e-2, -1e-4, 0.0, 1e-4, 1e-2, 0.1]))
    base = sum(lengths) * (1 - slack)
    note(rng, lengths=lengths, masses=masses, slack=slack)
    verdicts = []
    for unit in (1.0, 1e-3, 10.0):
        turn, swap = float(rng.uniform(-3, 3)), bool(rng.integers(2))
        try:
            robot = _bars(lengths, masses, base, unit, turn, swap)
            start = robot.neutral()
            assert np.isfinite(robot.forward_dynamics(start, 0 * start, 0 * start)).all()
            verdicts.append(robot.mobility.degrees_of_freedom)
        except InputError as problem:
            verdicts.append("singular" if "only in singular" in str(problem) else "open")
    expected = "open" if slack < 0 else "singular" if slack == 0 else 1
    assert verdicts == [expected] * 3, f"{verdicts}, expected {expected}"

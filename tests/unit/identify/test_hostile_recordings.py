"""Recordings that are wrong in one way each: refused, or named by a note or warning.

No identification of them is worse than the description without a word.
"""

import numpy as np
import pytest
from identified_robots import DESCRIBED, TRUE

from kinetree.errors import KinetreeError
from kinetree.identify import identify, make_recording
from kinetree.motion import excitation

MOTION = excitation(TRUE, 12.0, 0.01, harmonics=5, seed=1)
COUNT = len(MOTION.t)
LIFT = np.array([0.0, 1.0, 0.0])
STEP_12_BITS = 2 * np.pi / 4096


def measured(motion=(MOTION.q, MOTION.dq, MOTION.ddq)):
    """Columns of a recording without a fault, except for noise."""
    rng = np.random.default_rng(0)
    q, tau = motion[0], TRUE.inverse_dynamics(*motion)
    noise = rng.normal(size=(2, *q.shape))
    t = 0.01 * np.arange(len(q))
    return {"t": t, "q": q + 2e-5 * noise[0], "tau": tau + 0.2 * noise[1], "dq": None}


PLAIN = measured()


def changed(**columns):
    return {**PLAIN, **columns}


def one_joint_moves():
    return measured(tuple(x * LIFT for x in (MOTION.q, MOTION.dq, MOTION.ddq)))


def half_at_rest():
    """The joints stand still first, held by friction of either sign."""
    rows, moves = np.r_[np.zeros(COUNT, int), np.arange(COUNT)], np.repeat([0.0, 1.0], COUNT)
    found = measured((MOTION.q[rows], *(x[rows] * moves[:, None] for x in (MOTION.dq, MOTION.ddq))))
    return {**found, "tau": found["tau"] + (1 - moves)[:, None] * [0.7, -0.6, 0.5]}


def time_goes_back():
    t = PLAIN["t"].copy()
    t[600] = t[590]
    return changed(t=t)


def gaps():
    rows = np.r_[0:300, 400:700, 900:COUNT]
    return {key: None if x is None else x[rows] for key, x in PLAIN.items()}


def with_force(rows, dofs, value):
    tau = PLAIN["tau"].copy()
    tau[rows, dofs] += value
    return changed(tau=tau)


def collision():
    push = np.zeros((COUNT, 3))
    push[500:560] = np.hanning(60)[:, None] * [30, 40, 20]
    return changed(tau=PLAIN["tau"] + push)


def drift():
    return changed(tau=PLAIN["tau"] + np.linspace(0, 6, COUNT)[:, None] * [1, 0, 0])


def jump_of_position():
    q = PLAIN["q"].copy()
    q[400, 1] += 1e3
    return changed(q=q)


def forces(factor=(1, 1, 1), order=(0, 1, 2)):
    return changed(tau=PLAIN["tau"][:, list(order)] * np.array(factor))


def places(factor=(1, 1, 1), order=(0, 1, 2)):
    return changed(q=PLAIN["q"][:, list(order)] * np.array(factor))


REFUSED = {
    "constant": (lambda: changed(q=0 * PLAIN["q"] + 0.3), ["no joint moves"]),
    "degrees": (lambda: changed(q=np.degrees(PLAIN["q"])), ["'turn'", "degrees"]),
    "time goes back": (time_goes_back, ["t[600]", "must increase"]),
    "all forces zero": (lambda: forces(factor=(0, 0, 0)), ["tau never changes"]),
    "NaN": (lambda: with_force(100, 1, np.nan), ["tau[100, 1]", "'lift'", "nan"]),
    "rates in deg/s": (lambda: changed(dq=np.degrees(MOTION.dq)), ["dq of 'turn'", "degrees"]),
    "milliseconds": (lambda: changed(t=1000 * PLAIN["t"]), ["ms"]),
}
FLAGGED = {
    "one joint moves": (one_joint_moves, ["'turn', 'bend' hardly move"]),
    "saturated force": (
        lambda: changed(tau=np.clip(PLAIN["tau"], -8, 8)),
        ["tau of 'lift' stays at its largest value"],
    ),
    "other order of joints": (
        lambda: changed(q=PLAIN["q"][:, [0, 2, 1]], tau=PLAIN["tau"][:, [0, 2, 1]]),
        ["q and tau of 'lift' and 'bend' swapped"],
    ),
    "other order of forces": (lambda: forces(order=(0, 2, 1)), ["'lift' and 'bend' swapped"]),
    "sign of a force": (lambda: forces(factor=(1, -1, 1)), ["tau of 'lift' opposes"]),
    "sign of all forces": (lambda: forces(factor=(-1, -1, -1)), ["'turn', 'lift', 'bend' opposes"]),
    "sign of a position": (lambda: places(factor=(1, -1, 1)), ["q of 'lift' with the opposite"]),
    "12 bits": (
        lambda: changed(q=np.round(PLAIN["q"] / STEP_12_BITS) * STEP_12_BITS),
        ["'lift'", "coarse steps", "0.00153"],
    ),
    "gaps": (gaps, ["no samples for 2.01 s after t = 6.99 s"]),
    "wild forces": (lambda: with_force([200, 500], [0, 1], 1e3), ["outliers", "'turn', 'lift'"]),
    "wild position": (jump_of_position, ["q of 'lift' jumps", "t = 4 s"]),
    "force of another joint": (
        lambda: forces(order=(0, 1, 1)), ["tau of 'lift' and 'bend' is the same"]
    ),
    "force of a joint missing": (lambda: forces(factor=(1, 0, 1)), ["tau of 'lift' never changes"]),
    "position of another joint": (
        lambda: places(order=(0, 1, 1)), ["q of 'lift' and 'bend' is the same"]
    ),
    "half at rest": (half_at_rest, ["stands still in 50%"]),
    "collision": (collision, ["errors of", "'lift'"]),
    "drift": (drift, ["errors of 'turn' are coloured", "too short for intervals"]),
    "negative gain": (lambda: forces(factor=(1, 1, -0.3)), ["tau of 'bend' opposes"]),
    "units of a force": (lambda: forces(factor=(1, 1, 1000)), ["tau of 'bend'", "N m"]),
    "units of all forces": (lambda: forces(factor=(0.02,) * 3), ["times the description's: is it"]),
}  # fmt: skip


def recorded(columns):
    return make_recording(DESCRIBED, columns["t"], columns["q"], columns["tau"], columns["dq"])


@pytest.mark.parametrize("case", REFUSED)
def test_recordings_that_cannot_be_right_are_refused_with_the_cause(case):
    columns, words = REFUSED[case]
    with pytest.raises(KinetreeError) as caught:
        identify(DESCRIBED, recorded(columns()))
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("case", FLAGGED)
def test_recordings_that_are_odd_are_named_and_never_silently_worse(case):
    columns, words = FLAGGED[case]
    found = identify(DESCRIBED, recorded(columns()), folds=2)
    texts = "\n".join([*map(str, found.warnings), *found.notes])
    assert all(word in texts for word in words), texts
    worse = found.error() > 1.1 * found.described_error()
    assert found.verdict.word != "usable" or not worse.any()


def test_a_recording_without_a_fault_has_no_word_against_it():
    found = identify(DESCRIBED, recorded(PLAIN), folds=2)
    assert found.verdict.word == "usable" and not found.withheld
    texts = "\n".join([*map(str, found.warnings), *found.notes])
    every = {word for _, words in FLAGGED.values() for word in words}
    assert not any(word in texts for word in every - {"'lift'", "N m"}), texts

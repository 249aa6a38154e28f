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


def drift():
    return changed(tau=PLAIN["tau"] + np.linspace(0, 6, COUNT)[:, None] * [1, 0, 0])


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
    "rates in deg/s": (lambda: changed(dq=np.degrees(MOTION.dq)), ["dq of 'turn'", "57.3 times"]),
    "milliseconds": (lambda: changed(t=1000 * PLAIN["t"]), ["ms"]),
}
FLAGGED = {
    "one joint moves": (one_joint_moves, ["'turn', 'bend' hardly move"]),
    "saturated force": (lambda: changed(tau=np.clip(PLAIN["tau"], -8, 8)), ["tau of 'lift'"]),
    "other order of joints": (
        lambda: changed(q=PLAIN["q"][:, [0, 2, 1]], tau=PLAIN["tau"][:, [0, 2, 1]]), []
    ),
    "other order of forces": (lambda: forces(order=(0, 2, 1)), ["columns exchanged"]),
    "sign of a force": (lambda: forces(factor=(1, -1, 1)), ["tau of 'lift'", "other sign"]),
    "sign of all forces": (lambda: forces(factor=(-1, -1, -1)), ["other sign"]),
    "sign of a position": (lambda: places(factor=(1, -1, 1)), []),
    "gaps": (gaps, ["no samples for 2.01 s after t = 6.99 s"]),
    "wild forces": (lambda: with_force([200, 500], [0, 1], 1e3), ["outliers", "'turn', 'lift'"]),
    "force of another joint": (lambda: forces(order=(0, 1, 1)), []),
    "force of a joint missing": (lambda: forces(factor=(1, 0, 1)), ["tau of 'lift' never changes"]),
    "position of another joint": (lambda: places(order=(0, 1, 1)), []),
    "half at rest": (half_at_rest, ["stands still in 50%"]),
    "drift": (drift, []),
    "negative gain": (lambda: forces(factor=(1, 1, -0.3)), ["tau of 'bend'"]),
    "units of a force": (lambda: forces(factor=(1, 1, 1000)), ["tau of 'bend'", "unit"]),
    "units of all forces": (lambda: forces(factor=(0.02,) * 3), ["times what the model", "unit"]),
}  # fmt: skip
HARMLESS = {"one joint moves", "gaps", "wild forces", "force of a joint missing", "half at rest"}


def recorded(columns):
    return make_recording(DESCRIBED, columns["t"], columns["q"], columns["tau"], columns["dq"])


@pytest.mark.parametrize("case", REFUSED)
def test_recordings_that_cannot_be_right_are_refused_with_the_cause(case):
    columns, words = REFUSED[case]
    with pytest.raises(KinetreeError) as caught:
        identify(DESCRIBED, recorded(columns()))
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("case", FLAGGED)
def test_recordings_that_are_odd_are_named_and_never_good(case):
    columns, words = FLAGGED[case]
    found = identify(DESCRIBED, recorded(columns()))
    texts = "\n".join([*found.verdict.reasons, *found.notes])
    assert all(word in texts for word in words), texts
    assert case in HARMLESS or found.verdict.word != "good"


def test_a_recording_without_a_fault_has_no_word_against_it():
    found = identify(DESCRIBED, recorded(PLAIN))
    assert found.verdict.word == "good" and not found.causes

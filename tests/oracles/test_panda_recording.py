"""A real recording: the Panda of Gaz et al. 2019, identified with defaults only.

The published model with its friction (`panda(friction=True)`) is the oracle. The recording is not
part of this project: the tests are skipped where it is absent.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.identify import KnownLoad, identify, make_recording, read_recording
from kinetree.identify.band import in_band

PATH = Path(__file__).resolve().parents[3] / "shared" / "recordings" / "panda_gaz_2019"
FILE = PATH / "exciting_trajectory.csv.gz"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the Panda recording is not here")
ROBOT = kt.robots.panda()
PUBLISHED = kt.robots.panda(friction=True)
LATE = 0.012  # s
MASS, CENTRE = 3.0, (0.02, 0.03, 0.08)
INERTIA = np.diag([0.005] * 3)


@pytest.fixture(scope="module")
def columns():
    """t, q, dq and tau of the file, as arrays."""
    table = np.genfromtxt(FILE, delimiter=",", skip_header=1)
    return table[:, 0], table[:, 1:8], table[:, 8:15], table[:, 15:22]


@pytest.fixture(scope="module")
def data():
    return read_recording(FILE, ROBOT)


@pytest.fixture(scope="module")
def found(data):
    return identify(ROBOT, data)


def published_errors(identification, cutoff):
    """Errors of the published model, and of the robot found, on the last third, each (7,)."""
    test = identification.test
    state = test.q, test.dq, test.ddq
    rest = [
        test.tau - forces
        for forces in (PUBLISHED.inverse_dynamics(*state), identification.predict(test))
    ]
    return [np.sqrt((in_band(test, x, cutoff) ** 2).mean(axis=0)) for x in rest]


@pytest.mark.parametrize("cutoff", [None, 10.0])
def test_the_error_on_the_last_third_is_below_that_of_the_published_model(found, cutoff):
    published, own = published_errors(found, cutoff)
    assert np.all(own < 1.1 * published) and own.sum() < 0.7 * published.sum()


def test_the_result_is_better_than_the_description_and_plain_least_squares(found):
    assert found.verdict.word == "usable" and not found.causes
    assert np.all(found.error() < found.described_error())
    assert found.error(physical=False).sum() < 1.02 * found.plain.sum()
    notes = "\n".join(found.notes)
    assert "held samples" in notes and "low-pass at" in notes and "uneven" in notes
    assert len(found.choices) == 7
    assert len(found.summary().splitlines()) < 40  # one screen
    assert np.all((found.robot.model.m > 0.1) & (found.robot.model.m < 8))  # 0.14 to 63.9 kg before


def test_rows_may_be_missing_and_rates_left_out(found, columns):
    t, q, _, tau = columns
    kept = np.random.default_rng(0).random(len(t)) > 0.05
    other = identify(ROBOT, make_recording(ROBOT, t[kept], q[kept], tau[kept]))
    published, own = published_errors(other, None)
    assert np.all(own < 1.1 * published) and own.sum() < 0.7 * published.sum()
    # another cutoff or law may be chosen where candidates are nearly equal: compare in one band
    both = [published_errors(x, 10.0)[1] for x in (other, found)]
    assert 0.9 < both[0].sum() / both[1].sum() < 1.1


def test_a_lag_of_the_torques_is_found(found, columns):
    t, q, dq, tau = columns
    late = np.stack([np.interp(t - LATE, t, x) for x in tau.T], axis=1)
    other = identify(ROBOT, make_recording(ROBOT, t, q, late, dq))
    assert abs(other.lag - LATE) < 5e-3  # the recording has a lag of 4 ms by itself
    np.testing.assert_allclose(other.error(), found.error(), rtol=0.1)


def test_two_halves_agree_within_their_errors(data):
    middle = len(data) // 2
    halves = [
        identify(ROBOT, data.part(own), hold_out=0)
        for own in (slice(0, middle), slice(middle, None))
    ]
    values = [
        {x.params.names[at]: (x.fit.beta[k], x.fit.standard_error[k])
         for k, at in enumerate(x.base.kept)}
        for x in halves
    ]  # fmt: skip
    common = values[0].keys() & values[1].keys()
    assert len(common) > 60
    agree = [
        abs(values[0][x][0] - values[1][x][0]) < 1.96 * np.hypot(values[0][x][1], values[1][x][1])
        for x in common
    ]
    assert np.mean(agree) >= 0.88


def test_gains_of_drives_are_found_from_one_half_with_a_payload(data):
    gains = np.array([0.08, -0.2, 6.1, 1.6, 0.09, -0.7, 0.9])
    middle, load = len(data) // 2, KnownLoad(MASS, CENTRE, INERTIA)
    empty, loaded = data.part(slice(0, middle)), data.part(slice(middle, None))
    state = loaded.q, loaded.dq, loaded.ddq
    carrying = ROBOT.with_payload(MASS, CENTRE, INERTIA)
    extra = carrying.inverse_dynamics(*state) - ROBOT.inverse_dynamics(*state)
    signals = [replace(empty, tau=empty.tau * gains)]
    signals.append(replace(loaded, tau=(loaded.tau + extra) * gains))
    own = identify(ROBOT, signals, payloads=[None, load], gains=True).gains
    np.testing.assert_allclose(own.values, gains, rtol=0.02)
    assert np.all(np.abs(own.values - gains) < 4 * own.standard_error)

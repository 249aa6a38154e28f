"""The record below Trajectory: checked, frozen, with names and units."""

import copy
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ShapeError
from kinetree.motion import Trajectory, quintic

T = np.array([0.0, 0.1, 0.3])
Q = np.arange(6.0).reshape(3, 2)


def record(**changes):
    return Trajectory(**{"t": T, "q": Q, "dq": Q, "ddq": Q, **changes})


def test_arrays_are_copies_that_cannot_be_written():
    q = Q.copy()
    motion = record(q=q, tau=[[1, 2]] * 3)
    q[0, 0] = 99
    assert motion.q[0, 0] == 0 and motion.tau is not None and motion.tau.dtype == float
    for name in ("t", "q", "dq", "ddq", "tau"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(motion, name)[0] = 1
    with pytest.raises(AttributeError):
        motion.t = T  # type: ignore[misc]


def test_names_units_and_length():
    robot = kt.robots.scara()
    motion = quintic(np.zeros(4), np.ones(4), 2, robot=robot)
    assert motion.units["dq"] == "rad/s or m/s" and motion.units["tau"] == "N m or N"
    assert record().units == {"t": "s", "q": "rad", "dq": "rad/s", "ddq": "rad/s^2", "tau": "N m"}
    assert record().joint_names == ("joint_1", "joint_2")
    assert motion.duration == 2 and len(motion) == 201
    assert "201 samples, 2 s: j1, j2, j3, j4" in repr(motion)


def test_a_batch_is_taken_apart():
    q = np.random.default_rng(0).normal(size=(3, 4, 5, 2))
    motion = record(q=q, dq=q, ddq=q, tau=q)
    one = motion.rollout(2, 3)
    assert motion.batch_shape == (4, 5) and one.batch_shape == ()
    assert np.array_equal(one.tau, q[:, 2, 3])
    with pytest.raises(ShapeError, match="give 2 numbers"):
        motion.rollout(1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"t": [0, 0.2, 0.1]}, r"t\[2\] = 0.1 follows t\[1\] = 0.2; times must increase"),
        ({"t": [0, 0.2, 0.2]}, "times must increase"),
        ({"t": [0, np.nan, 1]}, r"t\[1\] is nan"),
        ({"t": [0, 1]}, r"q has shape \(3, 2\); expected \(2, 2\)"),
        ({"dq": Q[:, :1]}, r"dq has shape \(3, 1\); expected \(3, 2\): 3 times and 2 entries"),
        ({"tau": np.full((3, 2), np.nan)}, r"tau\[0, 0\] \('joint_1' at t = 0 s\) is nan"),
        ({"ddq": "fast"}, "ddq must be an array of real numbers"),
        ({"t": []}, "at least one time"),
        ({"joint_names": ["a"]}, r"expected \(3, 1\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(changes, says):
    with pytest.raises(InputError, match=says):
        record(**changes)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_the_same_samples_and_pieces(again):
    motion = quintic([0, 0], [1, 2], 1, robot=kt.robots.planar_2r()).replace(meta={"smooth": True})
    found = again(motion)
    assert type(found) is Trajectory and dict(found.meta) == {"smooth": True}
    for name in ("t", "q", "dq", "ddq"):
        assert np.array_equal(getattr(found, name), getattr(motion, name))
    assert np.array_equal(found.resample(0.003).ddq, motion.resample(0.003).ddq)
    with pytest.raises(ValueError, match="read-only"):
        found.q[0] = 1

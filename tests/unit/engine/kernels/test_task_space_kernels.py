"""Task space by kernels: every variant against the algorithm, batches, and singular positions."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import SingularityError
from random_robots import random_model
from robot_states import random_state

FIELDS = ("J", "dJ", "Lambda", "eta", "mu", "p", "J_bar", "N")
LINEAR = (3, 4, 5)


def chain(n, types=("revolute",), seed=1):
    model = random_model(seed, n, types=types, chain=True)
    return kt.Robot(model), random_state(model, seed)


def test_a_batch_has_the_bits_of_its_states_and_nan_where_it_is_singular():
    robot = kt.robots.planar_2r()
    q = np.array([[0.1, 0.2], [0.3, 0.0], [0.5, 1e-7], [-0.4, np.pi], [0.2, 1.0]])
    dq = np.arange(10.0).reshape(5, 2)
    found = robot.task_space(q, dq, rows=(3, 4))
    lost = [False, True, True, True, False]
    for name in FIELDS[2:]:
        assert np.isnan(getattr(found, name)).reshape(5, -1).all(1).tolist() == lost, name
    assert np.isfinite(found.J).all() and np.isfinite(found.dJ).all()
    assert found.singular_values.shape == (5, 2)
    for k in (0, 4):
        alone = robot.task_space(q[k], dq[k], rows=(3, 4))
        for name in FIELDS:
            assert getattr(alone, name).tobytes() == getattr(found, name)[k].tobytes()
    for k in (1, 2, 3):
        with pytest.raises(SingularityError, match=r"'tool' has smallest singular value .*damping"):
            robot.task_space(q[k], dq[k], rows=(3, 4))
    assert np.isfinite(robot.task_space(q, dq, rows=(3, 4), damping=0.1).Lambda).all()
    narrow = robot.task_space(q.astype("f4"), dq.astype("f4"), rows=(3, 4))
    assert narrow.Lambda.dtype == np.float32
    assert np.isnan(narrow.Lambda[:, 0, 0]).tolist() == lost


@pytest.mark.parametrize("scale", [0.999, 1.001])
def test_the_tolerance_bounds_the_smallest_singular_value(scale):
    """For fewer rows than joints, as many, and more."""
    for n, rows in ((7, LINEAR), (3, LINEAR), (3, None)):
        robot, x = chain(n)
        sigma = dynamics.task_space(robot.model, x.q, rows=rows).singular_values[-1]
        batch = np.array([x.q, x.q])
        found = robot.task_space(batch, rows=rows, tolerance=sigma * scale)
        assert np.isnan(found.Lambda).all() == (scale > 1)


def test_a_task_that_is_singular_everywhere_is_refused_at_the_state_of_the_caller():
    """A planar arm of three joints cannot move along z."""
    body = {"m": 1.0, "com": (0.5, 0, 0)}
    builder = kt.Builder("flat").link("l0")
    for k in range(3):
        builder.link(f"l{k + 1}", **body)
        builder.joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", at=(1.0 * (k > 0), 0, 0))
    robot = builder.frame("tip", "l3", (1, 0, 0), tool=True).build()
    with pytest.raises(SingularityError, match=r"at q = \[0.1, 0.2, 0.3\]"):
        robot.task_space([0.1, 0.2, 0.3], rows=LINEAR)
    with pytest.raises(SingularityError, match="Choose fewer rows"):
        robot.compile("task_space", rows=LINEAR)
    assert np.isfinite(robot.task_space([0.1, 0.2, 0.3], rows=LINEAR, damping=0.1).Lambda).all()
    with pytest.raises(SingularityError, match="Choose fewer rows"):
        robot.compile("task_space", rows=LINEAR, free=["mass"])
    with pytest.raises(SingularityError, match=r"at q = \[0.1, 0.2, 0.3\]"):
        robot.task_space([0.1, 0.2, 0.3], rows=LINEAR, tolerance=1e-4)

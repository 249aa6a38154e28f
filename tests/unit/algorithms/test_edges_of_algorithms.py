"""Where algorithms decide: lengths of quaternions, zero pivots, directions that cannot move."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError
from kinetree.model import coordinates, frame_wrenches, link_wrenches
from kinetree.spatial import box


def one(kind, mass=1.0):
    builder = kt.Builder("one").link("base").link("body", mass, (0, 0, 0), box(mass, 1, 1, 1))
    return builder.joint("joint", kind, "base", "body").build_model()


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_quaternions_may_be_off_by_1e_9_and_no_more(kind):
    model = one(kind)
    unit = np.array([0.5, -0.5, 0.5, 0.5])
    rest = np.zeros(model.nq - 4)
    for off in (0, 5e-10, -5e-10):
        q = np.concatenate([unit * (1 + off), rest])
        assert np.array_equal(coordinates(model, q), q)
    for off in (2e-9, -2e-9, 1e-6, -1.0):
        with pytest.raises(InputError, match="the quaternion of joint 'joint' in q is"):
            coordinates(model, np.concatenate([unit * (1 + off), rest]))


def test_wrenches_onto_frames_push_links_and_the_base_takes_its_own():
    model = one("free")
    model = kt.Robot(model).model
    force = np.array([0, 0, 0, 0, 0, -10.0])
    assert np.array_equal(frame_wrenches(model, {model.tool: force})[0][3:], force[3:])
    assert not frame_wrenches(model, {"base": force}).any()
    exerted = link_wrenches(model, [force * 2], force)[0]
    assert np.array_equal(exerted[3:], [0, 0, -10])  # 2 f onto it, less f that the tool exerts
    two = kt.robots.planar_2r().model
    found = frame_wrenches(two, {two.tool: force, two.link_names[0]: 2 * force})
    assert found.shape == (2, 6) and np.array_equal(found[0][3:], 2 * force[3:])
    with pytest.raises(InputError, match="expected them by the names of frames"):
        frame_wrenches(model, [force])


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    ("lower", "upper"), [(10, np.inf), (-np.inf, -10), (-1, np.inf), (-np.inf, 1), (-9, 9), (2, 2)]
)
def test_random_positions_stay_within_limits_of_which_one_may_be_missing(kind, lower, upper):
    """Without an end they reach half a turn or half a metre from zero, or from the other end."""
    builder = kt.Builder("one").link("base").link("body", 1.0, (0, 0, 0), box(1, 1, 1, 1))
    limits = kt.Limits(lower, upper)
    model = builder.joint("joint", kind, "base", "body", limits=limits).build_model()
    reach = 0.5 if kind == "prismatic" else np.pi
    low = lower if np.isfinite(lower) else min(-reach, upper - reach)
    high = upper if np.isfinite(upper) else max(reach, lower + reach)
    q = np.array([algorithms.random(model, np.random.default_rng(k))[0] for k in range(200)])
    assert low <= q.min() and q.max() <= high
    assert q.min() - low <= 0.1 * (high - low) and high - q.max() <= 0.1 * (high - low)

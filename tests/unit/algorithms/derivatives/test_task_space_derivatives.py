"""Slopes of J, Lambda and eta: differences of task_space itself.

Central differences of step h leave h^2 / 6 of third derivatives and eps / h of rounding, for
h = 1e-5 some 1e-10 of the largest terms each; the conditions of M and J magnify both.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, KinetreeError
from kinetree.model import random_model

H, CLOSE = 1e-5, 1e-7
LINEAR = (3, 4, 5)


def slope(function, n):
    columns = [(function(H * e) - function(-H * e)) / (2 * H) for e in np.eye(n)]
    return np.stack(columns, -1)


def check(model, q, dq, **options):
    found = algorithms.task_space_derivatives(model, q, dq, **options)

    def at(u, v):
        moved = algorithms.integrate(model, q, u)
        return algorithms.task_space(model, moved, dq + v, **options)

    zero = np.zeros(model.n)
    pairs = (
        (found.dJ_dq, slope(lambda u: at(u, zero).J, model.n)),
        (found.dLambda_dq, slope(lambda u: at(u, zero).Lambda, model.n)),
        (found.deta_dq, slope(lambda u: at(u, zero).eta, model.n)),
        (found.deta_dv, slope(lambda v: at(zero, v).eta, model.n)),
    )
    for got, wanted in pairs:
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() <= CLOSE * max(1.0, np.abs(wanted).max())
    assert np.allclose(found.dLambda_dq, found.dLambda_dq.swapaxes(0, 1), rtol=1e-12)


@pytest.mark.parametrize("expressed", ["body", "space"])
@pytest.mark.parametrize("rows", [None, LINEAR])
def test_arms(expressed, rows):
    q, dq = np.array([0.3, -0.6, 0.2, -2.0, 0.4, 1.7, 0.5]), np.linspace(-1, 1, 7)
    check(kt.robots.panda().model, q, dq, expressed=expressed, rows=rows)


@pytest.mark.parametrize(
    ("types", "expressed"),
    [(("free", "revolute"), "body"), (("spherical", "helical"), "space"), (("planar",), "body")],
)
def test_free_bases_spherical_planar_and_mimic_joints(types, expressed):
    model = random_model(len(types[0]), 4, types=(*types, "revolute"), mimic=True, chain=True)
    rng = np.random.default_rng(0)
    q, dq = algorithms.random(model, rng), rng.normal(size=model.n)
    check(model, q, dq, expressed=expressed, rows=LINEAR)


def test_more_rows_than_joints_are_refused():
    robot = kt.robots.spatial_3r()
    with pytest.raises(InputError, match="3 rows at most"):
        algorithms.task_space_derivatives(robot.model, [0.1, 0.7, 0.9], [1, 2, 3])


def test_kernels_are_the_algorithm_state_by_state():
    robot, rng = kt.robots.scara(), np.random.default_rng(0)
    q = np.array([[[0.3, 0.9, -0.1, 0.4]], [[-0.5, 1.2, -0.05, 0.2]]])
    dq = rng.normal(size=(3, 4))
    elbow = {"rows": (2, 3), "expressed": "space", "frame": robot.model.link_names[2]}
    for options in ({"rows": (2, 3, 4, 5)}, elbow):
        found = robot.task_space_derivatives(q, dq, **options)
        k = len(options["rows"])
        assert found.dJ_dq.shape == (2, 3, k, 4, 4) and found.deta_dq.shape == (2, 3, k, 4)
        assert found.dLambda_dq.shape == (2, 3, k, k, 4)
        wanted = algorithms.task_space_derivatives(robot.model, q[1, 0], dq[2], **options)
        for name in ("dJ_dq", "dLambda_dq", "deta_dq", "deta_dv"):
            got, exact = getattr(found, name)[1, 2], getattr(wanted, name)
            assert np.abs(got - exact).max() <= 1e-11 * np.abs(exact).max(), name
        single = robot.task_space_derivatives(q.astype("f4"), dq.astype("f4"), **options)
        assert single.deta_dq.dtype == np.float32


def test_kernels_refuse_what_the_algorithm_refuses():
    robot = kt.robots.spatial_3r()
    q, dq = np.zeros(3), np.zeros(3)
    for options, text in (
        ({}, "3 rows at most"),
        ({"rows": (3, 3)}, "each once"),
        ({"rows": LINEAR, "expressed": "tool"}, "body or space"),
        ({"rows": LINEAR, "frame": "nowhere"}, "nowhere"),
        ({"rows": LINEAR, "frame": "link1"}, "cannot move in every direction"),
        ({"rows": 5}, "each once"),
    ):
        with pytest.raises(KinetreeError, match=text):
            robot.task_space_derivatives(q, dq, **options)

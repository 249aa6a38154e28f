"""Slopes of J, Lambda and eta: differences of task_space itself.

Central differences of step h leave h^2 / 6 of third derivatives and eps / h of rounding, for
h = 1e-5 some 1e-10 of the largest terms each; the conditions of M and J magnify both.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError
from kinetree.model.samples import random_model

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


@pytest.mark.parametrize("expressed", ["body", "space"])
def test_free_bases_spherical_planar_and_mimic_joints(expressed):
    for seed, types in enumerate((("free", "revolute"), ("spherical", "helical"), ("planar",))):
        model = random_model(seed, 5, types=(*types, "revolute"), mimic=True, chain=True)
        rng = np.random.default_rng(seed)
        q, dq = algorithms.random(model, rng), rng.normal(size=model.n)
        check(model, q, dq, expressed=expressed, rows=LINEAR)


def test_more_rows_than_joints_are_refused():
    robot = kt.robots.spatial_3r()
    with pytest.raises(InputError, match="3 rows at most"):
        algorithms.task_space_derivatives(robot.model, [0.1, 0.7, 0.9], [1, 2, 3])

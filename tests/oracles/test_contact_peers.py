"""Robots on a plane against MuJoCo and Drake: differences are those of soft contacts, and vanish.

`contact_peers.py` describes the robots, and prints the table of all of them.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from contact_peers import CASES, difference, in_drake, in_kinetree, in_mujoco

HELD = ["quadruped held", pytest.param("humanoid held", marks=pytest.mark.many)]


@cache
def case(name):
    make, held = CASES[name]
    return make(held)


@cache
def ours(name, compliance=None):
    return in_kinetree(case(name), case(name).dt, compliance)


def compare(name, run, *more):
    this = case(name)
    return difference(this, ours(name), run(this, this.dt, *more))


def test_a_quadruped_of_mujoco_becomes_ours_as_its_contacts_become_stiffer():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    dt = case("quadruped held").dt
    found = [compare("quadruped held", in_mujoco, steps * dt) for steps in (40, 20, 10, 5, 2.5)]
    far = [x.com for x in found]
    assert all(b < 0.5 * a for a, b in pairwise(far))
    assert far[-1] < 0.1  # mm
    assert found[-1].share < 1e-3 and found[-1].total < 1e-4
    assert found[-1].theirs == pytest.approx(found[-1].slip, abs=1e-3)  # mm


def test_a_falling_quadruped_of_mujoco_falls_as_ours():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    dt = case("quadruped falling").dt
    found = [compare("quadruped falling", in_mujoco, steps * dt) for steps in (40, 10, 5)]
    assert found[2].com < found[1].com < found[0].com and found[2].com < 2.0  # mm
    assert found[2].share < 0.05


@pytest.mark.parametrize("name", HELD)
def test_drakes_sap_becomes_ours_as_its_contacts_become_stiffer(name):
    pytest.importorskip("pydrake", reason="pydrake is not installed (pip install drake)")
    weight = case(name).weight
    found = [compare(name, in_drake, weight / depth) for depth in (1e-3, 1e-4, 1e-5)]
    far = [x.com for x in found]
    assert far[2] < far[1] < 0.3 * far[0] and far[2] < 0.1  # mm
    assert found[2].share < 1e-3 and found[2].total < 1e-3


def test_drakes_tamsi_becomes_ours_as_its_contacts_become_stiffer():
    pytest.importorskip("pydrake", reason="pydrake is not installed (pip install drake)")
    for name, nearest in (("quadruped held", 0.1), ("quadruped falling", 0.6)):
        weight = case(name).weight
        found = [compare(name, in_drake, weight / depth, "tamsi") for depth in (1e-3, 1e-5)]
        assert found[1].com < nearest < found[0].com  # mm
        assert found[1].share < 1e-3 and found[1].total < 1e-5
        assert found[1].theirs == pytest.approx(found[1].slip, rel=0.05)


def test_contacts_as_soft_as_drakes_explain_the_difference():
    pytest.importorskip("pydrake", reason="pydrake is not installed (pip install drake)")
    this = case("quadruped held")
    k = this.weight / 1e-3
    theirs = in_drake(this, this.dt, k, "sap", 2 * this.dt)
    rigid, soft = ours("quadruped held"), ours("quadruped held", 1 / k)
    assert difference(this, soft, theirs).com < 0.15 * difference(this, rigid, theirs).com
    sunk = (rigid.com(this) - theirs.com(this))[-1, 2]
    assert sunk == pytest.approx(this.weight / 4 / k, rel=0.05)


def test_fingertips_of_drake_bear_what_ours_bear():
    pytest.importorskip("pydrake", reason="pydrake is not installed (pip install drake)")
    this = case("hand held")
    found = compare("hand held", in_drake, this.weight / 1e-5)
    assert found.share < 0.02 and found.total < 1e-5 and found.theirs < 0.05
    assert np.count_nonzero(ours("hand held").forces[-1, :, 2] > 1e-3) >= 4

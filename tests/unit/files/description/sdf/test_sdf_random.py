"""SDF: however a tree is written, the dynamics are those of the tree."""

import numpy as np
import pytest
from sdf_trees import RandomRobot

from kinetree.algorithms import gravity_forces, inverse_dynamics, mass_matrix
from kinetree.files.description.sdf import read_sdf_text
from kinetree.model import build_model


def compare(wanted, found, rng):
    names = wanted.joint_names
    assert set(found.joint_names) == set(names)
    order = [found.joint_names.index(name) for name in names]
    for _ in range(2):
        q, dq, ddq = rng.normal(size=(3, wanted.n))
        back = np.argsort(order)
        mixed = [x[back] for x in (q, dq, ddq)]
        scale = 1 + np.abs(mass_matrix(wanted, q)).max(initial=0)
        M = mass_matrix(found, mixed[0])[np.ix_(order, order)]
        np.testing.assert_allclose(M, mass_matrix(wanted, q), atol=1e-12 * scale, rtol=0)
        g = gravity_forces(found, mixed[0])[order]
        np.testing.assert_allclose(g, gravity_forces(wanted, q), atol=1e-11, rtol=1e-12)
        tau = inverse_dynamics(found, *mixed)[order]
        np.testing.assert_allclose(
            tau, inverse_dynamics(wanted, q, dq, ddq), atol=1e-10, rtol=1e-12
        )


@pytest.mark.parametrize("seed", range(40))
def test_every_way_to_write_a_tree_gives_its_dynamics(seed):
    robot = RandomRobot(seed, links=2 + seed % 6, nested=seed % 2 == 0)
    wanted = build_model(robot.description)
    rng = np.random.default_rng(seed)
    for way in range(3):
        compare(wanted, build_model(read_sdf_text(robot.text(way))), rng)


@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4", "1.5", "1.6"])
@pytest.mark.parametrize("seed", range(8))
def test_a_tree_has_the_same_dynamics_in_older_versions(seed, version):
    robot = RandomRobot(seed, links=2 + seed % 6, nested=seed % 2 == 0)
    text = robot.text(seed, version)
    assert "relative_to" not in text and "expressed_in" not in text
    found = build_model(read_sdf_text(text))
    compare(build_model(robot.description), found, np.random.default_rng(seed))
    twin = build_model(read_sdf_text(robot.text(seed, "1.7")))
    assert set(found.frames) == {x for x in twin.frames if not x.startswith("frame")}


@pytest.mark.parametrize("seed", range(10))
def test_frames_stand_where_the_file_places_them(seed):
    robot = RandomRobot(seed)
    found = {frame.name: frame for frame in read_sdf_text(robot.text(seed)).frames}
    for frame in robot.description.frames:
        assert found[frame.name].link == frame.link
        np.testing.assert_allclose(found[frame.name].T, frame.T, atol=1e-13)

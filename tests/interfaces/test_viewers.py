"""Robots in the viewers Viser and Rerun: a served page, and a file read back."""

import socket
import urllib.request

import numpy as np
import pytest

import kinetree as kt


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


@pytest.fixture
def view():
    pytest.importorskip("viser", reason="viser is not installed")
    motion = kt.robots.planar_2r().simulate([0.1, 0.2], duration=0.1)
    found = kt.views.viser(kt.robots.planar_2r(), motion, q=[0.3, 0.4], port=free_port())
    yield found
    found.stop()


def test_viser_serves_the_robot_on_this_machine_alone(view):
    assert view.server.get_host() == "127.0.0.1"
    with urllib.request.urlopen(f"http://127.0.0.1:{view.server.get_port()}") as answer:
        assert answer.status == 200 and b"<html" in answer.read()
    assert view.q.tolist() == [0.3, 0.4]


def test_viser_moves_by_hand_by_the_target_and_by_a_motion(view):
    robot = view.robot
    view.show([0.5, -0.7])
    assert view.q.tolist() == [0.5, -0.7]
    T = robot.pose([0.2, 0.9])
    assert view.reach(T)
    np.testing.assert_allclose(robot.pose(view.q), T, atol=1e-8)
    far = np.array(T)
    far[:3, 3] = 50, 0, 0
    assert not view.reach(far)
    view.play(view.motion, speed=2.0)
    np.testing.assert_array_equal(view.q, view.motion.q[-1])
    with pytest.raises(kt.errors.KinetreeError):
        view.show([0.1])


def test_viser_shows_closed_loops():
    pytest.importorskip("viser", reason="viser is not installed")
    robot = kt.robots.four_bar()
    found = kt.views.viser(robot, port=free_port())
    try:
        assert np.abs(kt.constraints.errors(robot, found.q)).max() < 1e-9
    finally:
        found.stop()


def test_rerun_files_have_the_poses_and_the_series(tmp_path):
    pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    from rerun.chunk import RrdReader

    robot, path = kt.robots.panda(), tmp_path / "fall.rrd"
    start = kt.dynamics.start_position(robot)
    motion = robot.simulate(start, duration=0.1, every=10)
    kt.views.rerun(robot, motion, path=path)
    read = {}
    for chunk in RrdReader(str(path)).stream():
        batch = chunk.to_record_batch().to_pydict()
        read.setdefault(str(chunk.entity_path), []).append(batch)
    place = f"/robot/{robot.model.link_names[4]}"
    assert any(x.startswith(f"{place}/") for x in read)  # its meshes
    (poses,) = read[place]
    moved = np.array(poses["Transform3D:translation"]).reshape(-1, 3)
    np.testing.assert_allclose(moved, robot.link_poses(motion.q)[:, 4, :3, 3], atol=1e-6)
    for quantity in ("q", "dq", "tau"):
        (rows,) = read[f"/{quantity}/panda_joint2"]
        values = np.ravel(rows["Scalars:scalars"])
        np.testing.assert_allclose(values, getattr(motion, quantity)[:, 1], atol=1e-12)
    (rows,) = read["/energy/total"]
    total = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    np.testing.assert_allclose(np.ravel(rows["Scalars:scalars"]), total, atol=1e-9)
    with pytest.raises(kt.errors.InputError, match=r"\.rrd"):
        kt.views.rerun(robot, motion, path=tmp_path / "fall.txt")
    other = kt.robots.planar_2r().simulate([0, 0], duration=0.1)
    with pytest.raises(kt.errors.InputError):
        kt.views.rerun(robot, other, path=path)

"""The laboratory arms against their data sheets, and against the files of real packages."""

import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest

from kinetree import algorithms, robots
from kinetree.files.description.urdf import read_urdf
from kinetree.model import build_model

PACKAGE = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"
SHARED = Path(__file__).resolve().parents[4] / "shared/models/urdf"


def model_of(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build_model(read_urdf(path), unphysical="allow")


@pytest.mark.parametrize("name", ["iiwa_14", "panda", "ur5e"])
def test_every_joint_of_an_arm_is_limited_and_its_tool_is_at_the_end(name):
    model = getattr(robots, name)().model
    assert (model.m > 0).all()
    limits = [
        getattr(x.limits, k) for x in model.joints for k in ("lower", "upper", "velocity", "effort")
    ]
    assert np.isfinite(limits).all()
    assert model.frame().link == len(model.joints) - 1


@pytest.mark.parametrize(
    ("name", "p"),
    [
        ("panda", (0.088, 0, 0.333 + 0.316 + 0.384 - 0.107)),
        ("ur5e", (-0.425 - 0.3922, -0.1333 - 0.0996, 0.1625 - 0.0997)),
        ("iiwa_14", (0, 0, 0.36 + 0.42 + 0.4 + 0.126)),
    ],
)
def test_the_flange_stands_where_the_lengths_of_the_data_sheet_put_it(name, p):
    model = getattr(robots, name)().model
    T = algorithms.pose(model, np.zeros(model.n))
    assert np.allclose(T[:3, 3], p, rtol=0, atol=1e-15)


def test_panda_looks_down_in_its_ready_pose():
    """In the manufacturer's examples: the flange 0.088 m before the wrist and 0.107 m below."""
    q = np.array([0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4])
    T = algorithms.pose(robots.panda().model, q)
    assert np.allclose(T[:3, 2], [0, 0, -1], rtol=0, atol=1e-15)
    x, z = planar_wrist(q)
    assert np.allclose(T[:3, 3], [x + 0.088, 0, z - 0.107], rtol=0, atol=1e-15)


def planar_wrist(q):
    """Wrist centre in the plane of the arm, by trigonometry alone."""
    upper, bend = q[1], q[1] - q[3]  # inclination of upper arm and forearm to the vertical
    along = np.array([np.sin(upper), np.cos(upper)])
    across = np.array([np.cos(upper), -np.sin(upper)])
    elbow = np.array([0, 0.333]) + 0.316 * along + 0.0825 * across
    along = np.array([np.sin(bend), np.cos(bend)])
    across = np.array([np.cos(bend), -np.sin(bend)])
    return elbow - 0.0825 * across + 0.384 * along


@pytest.mark.parametrize(
    ("name", "path", "base", "flange"),
    [
        ("panda", PACKAGE / "panda_description/urdf/panda.urdf", "panda_link0", "panda_link8"),
        ("ur5e", SHARED / "ur5e_ros2/ur5e_ros2.urdf", "base", "tool0"),
        (
            "iiwa_14",
            SHARED / "iiwa14_drake/iiwa14_primitive_collision.urdf",
            "base",
            "iiwa_link_ee_kuka",
        ),
    ],
)
def test_kinematics_are_those_of_the_file_of_a_real_package(name, path, base, flange):
    model, file = getattr(robots, name)().model, model_of(path)
    rng = np.random.default_rng(0)
    T_sb = algorithms.pose(file, algorithms.neutral(file), base)
    for _ in range(20):
        q = algorithms.random(model, rng)
        full = np.concatenate([q, np.zeros(file.nq - model.nq)])
        expected = np.linalg.inv(T_sb) @ algorithms.pose(file, full, flange)
        assert np.allclose(algorithms.pose(model, q), expected, rtol=0, atol=1e-9)


def test_panda_needs_the_joint_forces_of_the_file_with_the_same_identified_links():
    """The file also has a hand; its arm alone carries what is published for the arm."""
    model, file = robots.panda().model, model_of(PACKAGE / "panda_description/urdf/panda.urdf")
    for i in range(6):  # the seventh has the hand welded to it in the file
        for field in ("m", "com", "I_com"):
            assert np.allclose(getattr(model, field)[i], getattr(file, field)[i], rtol=1e-12)


def test_ur5e_holds_its_stretched_arm_by_the_moments_of_the_published_masses():
    """At q = 0 the arm lies along -x; shoulder lift carries all, the elbow what is beyond it."""
    g = algorithms.gravity_forces(robots.ur5e().model, np.zeros(6))
    wrists = (1.37 + 1.3 + 0.365) * 9.81
    shoulder = 9.81 * (8.058 * 0.2125 + 2.846 * 0.6672) + wrists * 0.8172
    elbow = 9.81 * 2.846 * 0.2422 + wrists * 0.3922
    assert abs(g[1]) == pytest.approx(shoulder, rel=1e-12)
    assert abs(g[2]) == pytest.approx(elbow, rel=1e-12)
    assert g[0] == pytest.approx(0, abs=1e-13)


def test_iiwa_weighs_less_than_its_data_sheet_says_with_the_base():
    assert 24 < algorithms.total_mass(robots.iiwa_14().model) < 29.9

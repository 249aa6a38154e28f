"""Motions of the page: recorded from sliders, read from files, sent back and saved."""

import base64
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import difference
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.errors import InputError
from kinetree.model import ALL_TYPES, random_model
from kinetree.views.workbench.api import API
from kinetree.views.workbench.motions import recorded
from kinetree.views.workbench.shelf import Shelf
from kinetree.views.workbench.state import plain

PLANAR = kt.robots.planar_2r()
WALKER = kt.robots.quadruped()


def test_a_recording_holds_what_was_set_and_moves_smoothly():
    robot = PLANAR
    first, then = np.array([0.1, -0.2]), np.array([0.9, -0.2])
    trajectory = recorded(robot, [(5.0, first), (6.0, then), (7.0, then)])
    early, late = (trajectory.t < 1.0), (trajectory.t > 1.65)
    np.testing.assert_allclose(trajectory.q[early], np.tile(first, (early.sum(), 1)), atol=1e-12)
    np.testing.assert_allclose(trajectory.q[late], np.tile(then, (late.sum(), 1)), atol=1e-12)
    assert (np.diff(trajectory.q[:, 0]) > -1e-12).all()  # no overshoot
    # a step of 0.8 under a bell of 0.1 s: its rate peaks at 0.8 / (0.1 sqrt(2 pi))
    peak = 0.8 / (0.1 * np.sqrt(2 * np.pi))
    assert np.abs(trajectory.dq[:, 0]).max() == pytest.approx(peak, rel=0.03)
    assert np.abs(trajectory.dq[[0, -1]]).max() < 1e-9


def test_a_recording_begins_and_ends_where_the_hand_did():
    first, then = np.array([0.1, -0.2]), np.array([0.9, -0.2])
    trajectory = recorded(PLANAR, [(5.0, first), (5.001, then), (5.002, then)])
    np.testing.assert_allclose(trajectory.q[[0, -1]], [first, then], atol=1e-12)


@pytest.mark.parametrize("kept", [[], [(0.0, np.zeros(2))], [(0.0, np.zeros(2))] * 9])
def test_a_recording_of_nothing_is_refused(kept):
    with pytest.raises(kt.KinetreeError, match="move a slider"):
        recorded(PLANAR, kept)


def turned(q, angle, position=(0, 0, 0)):
    """A robot with a free base that is turned about z and moved."""
    q = q.copy()
    q[:7] = [np.cos(angle / 2), 0, 0, np.sin(angle / 2), *position]
    return q


def test_a_base_is_recorded_as_a_rotation():
    """From one attitude to another the average turns about their common axis alone."""
    q = rest_position(WALKER.model)
    first, then = turned(q, 0.2), turned(q, 1.4, (0.3, 0, 0))
    trajectory = recorded(WALKER, [(5.0, first), (6.0, then), (7.0, then)])
    np.testing.assert_allclose(np.linalg.norm(trajectory.q[:, :4], axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(trajectory.q[[0, -1]], [first, then], atol=1e-12)
    angle = 2 * np.arctan2(trajectory.q[:, 3], trajectory.q[:, 0])
    assert (np.diff(angle) > -1e-12).all() and not trajectory.q[:, 1:3].any()
    middle = np.argmin(abs(angle - 0.8))  # half-way in angle is half-way in the average
    assert trajectory.q[middle, 4] == pytest.approx(0.15, abs=0.02)
    assert np.abs(trajectory.dq[:, [0, 1, 5]]).max() < 1e-12  # no roll, no pitch, not up
    # forward along x of {s}, seen from a base that looks to the left of it
    v, c, s = trajectory.dq[:, 3:5].T, np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(s * v[0] + c * v[1], 0, atol=1e-12)
    assert (c * v[0] - s * v[1]).max() == pytest.approx(0.3 / (0.1 * np.sqrt(2 * np.pi)), rel=0.03)


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "strange"])
def test_rates_of_a_recording_lead_from_sample_to_sample(name):
    """q(t + h) = q(t) + h (dq + dq') / 2 to h^3 / 12 of the third derivative, on the manifold."""
    strange = kt.Robot(random_model(3, 6, types=ALL_TYPES, mimic=True))
    robot = strange if name == "strange" else getattr(kt.robots, name)()
    rng = np.random.default_rng(1)
    kept = [(0.0, rest_position(robot.model))]
    for k in range(4):
        step = rng.normal(size=robot.n) * 0.2
        kept.append((0.3 * (k + 1), robot.integrate(kept[-1][1], step)))
    motion = recorded(robot, [*kept, (2.0, kept[-1][1])])
    h = motion.t[1] - motion.t[0]
    pairs = zip(motion.q[:-1], motion.q[1:], strict=True)
    steps = np.array([difference(robot.model, a, b) for a, b in pairs])
    mean = (motion.dq[1:] + motion.dq[:-1]) / 2
    third = np.abs(np.diff(motion.ddq, axis=0)).max() / h
    assert np.abs(steps - mean * h).max() < h**3 * third / 4
    bend = np.diff(motion.dq, axis=0) - (motion.ddq[1:] + motion.ddq[:-1]) * h / 2
    assert np.abs(bend).max() < h**3 * third / h


def test_a_quaternion_and_its_opposite_are_the_same_attitude():
    q = rest_position(WALKER.model)
    first, then = turned(q, -0.3), turned(q, 0.5)
    opposite = then.copy()
    opposite[:4] *= -1
    plain = recorded(WALKER, [(0.0, first), (0.5, then), (1.0, then)])
    mixed = recorded(WALKER, [(0.0, first), (0.5, opposite), (1.0, then)])
    np.testing.assert_allclose(mixed.q, plain.q, atol=1e-15)
    np.testing.assert_allclose(mixed.dq, plain.dq, atol=1e-13)


def test_attitudes_without_an_average_are_refused():
    q = rest_position(WALKER.model)
    third = 2 * np.pi / 3  # three rotations spread evenly: their average is zero
    kept = [(0.03 * k, turned(q, third * k)) for k in range(40)]
    with pytest.raises(kt.KinetreeError, match="more slowly"):
        recorded(WALKER, kept)


def test_a_base_in_the_plane_has_rates_in_its_own_axes():
    cart = kt.Robot(random_model(0, 1, types=("planar",)))
    first, then = np.array([np.pi / 2, 0, 0]), np.array([np.pi / 2, 1, 0])
    motion = recorded(cart, [(0.0, first), (0.5, then), (1.0, then)])
    assert np.abs(motion.dq[:, 1]).max() < 1e-12 and motion.dq[:, 2].min() < -1


# files


@pytest.fixture
def shelf():
    found = Shelf()
    found.give(PLANAR, None, "planar 2R")
    yield found
    found.close()


CSV = "t,q:joint1,q:joint2\n" + "".join(f"{k / 10},{k / 100},{-k / 50}\n" for k in range(30))


def opened_motion(shelf, content, name="my motion.csv"):
    file = {"name": name, "base64": base64.b64encode(content).decode()}
    return API["motion"](shelf, {"robot": "given", "file": file})


def test_a_motion_is_opened_and_saved_with_all_digits(shelf):
    found = plain(opened_motion(shelf, CSV.encode()))
    assert found["name"] == "my motion.csv" and len(found["t"]) == 30 and not found["thinned"]
    assert "spline" in found["remarks"][0] or "rates" in found["remarks"][0]
    q, dq, ddq = (np.array(found[name]) for name in ("q", "dq", "ddq"))
    np.testing.assert_allclose(found["tau"], PLANAR.inverse_dynamics(q, dq, ddq), rtol=1e-12)
    np.testing.assert_allclose(found["energy"]["kinetic"], PLANAR.kinetic_energy(q, dq))
    file = API["save"](shelf, {"robot": "given", "kind": "csv", "motion": found})
    again = plain(opened_motion(shelf, base64.b64decode(file["base64"]), file["name"]))
    assert file["name"] == "planar_2R_motion.csv"
    assert all(again[name] == found[name] for name in ("t", "q", "dq", "ddq", "tau"))


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"t,q:joint1\n0,x\n", "my motion.csv", "my motion.csv"),
        (b"\x93NUMPY", "my motion.csv", "my motion.csv"),
        (CSV.encode(), "motion.npz", "motion.npz is not a CSV file"),
        (CSV.encode(), "../motion.csv", "inside the chosen folder"),
        (b"", "my motion.csv", "my motion.csv"),
    ],
)
def test_errors_of_motions_name_the_file_of_the_user(shelf, content, name, words):
    with pytest.raises(InputError) as error:
        opened_motion(shelf, content, name)
    assert words in str(error.value) and "kinetree-" not in str(error.value)


def test_long_motions_are_thinned_with_a_remark(shelf):
    rows = "".join(f"{k / 100},{k / 1000},0\n" for k in range(4000))
    found = opened_motion(shelf, f"t,q:joint1,q:joint2\n{rows}".encode())
    assert len(found["t"]) <= 1501 and found["thinned"] and found["t"][-1] == 39.99
    assert "One in 3 of 4000 samples" in found["remarks"][-1]


def test_robots_and_motions_are_saved_as_files(shelf):
    page = API["save"](shelf, {"robot": "given", "kind": "page"})
    assert page["name"] == "planar_2R.html" and b"<!DOCTYPE" in base64.b64decode(page["base64"])
    urdf = API["save"](shelf, {"robot": "given", "kind": "urdf"})
    assert urdf["name"] == "planar_2R.urdf" and "gravity" in urdf["remarks"][0]
    text = base64.b64decode(urdf["base64"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        again = kt.load_string(text).with_gravity(PLANAR.model.gravity[3:])
    np.testing.assert_allclose(again.mass_matrix([0.1, 0.2]), PLANAR.mass_matrix([0.1, 0.2]))
    for wrong in ({"kind": "exe"}, {"kind": "csv"}, {}):
        with pytest.raises(InputError):
            API["save"](shelf, {"robot": "given"} | wrong)


def test_a_recording_is_a_request(shelf):
    request = {"robot": "given", "t": [0.0, 0.5, 1.0], "q": [[0, 0], [0.5, 0], [0.5, 0]]}
    found = API["record"](shelf, request)
    assert found["q"][-1].tolist() == pytest.approx([0.5, 0]) and found["name"] == "Recording"
    for wrong in ({"t": [0.0]}, {"t": [1.0, 0.5, 0.0]}, {"q": [[0], [1], [2]]}, {"t": 3}):
        with pytest.raises(InputError):
            API["record"](shelf, request | wrong)

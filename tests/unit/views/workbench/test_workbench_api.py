"""Requests of the page: each answer against the robot's own methods, and against Pinocchio."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.present.tables import plain
from kinetree.views.workbench import quantities
from kinetree.views.workbench.api import API
from kinetree.views.workbench.quantities import compile_in_thread
from kinetree.views.workbench.shelf import Shelf


@pytest.fixture(scope="module")
def shelf():
    found = Shelf()
    yield found
    found.close()


@pytest.fixture(scope="module")
def ask(shelf):
    """The answer of a request, through JSON as the page gets it."""

    def asked(name, /, **request):
        answer = API[name](shelf, json.loads(json.dumps(request)))
        return json.loads(json.dumps(plain(answer), allow_nan=False))

    return asked


def random_request(robot, name, seed, push=True):
    rng = np.random.default_rng(seed)
    state = {
        "q": robot.random(rng=rng),
        "dq": rng.normal(size=robot.n),
        "ddq": rng.normal(size=robot.n),
    }
    request = {"robot": name} | {key: x.tolist() for key, x in state.items()}
    if push:
        point, force, moment = rng.normal(size=(3, 3)).tolist()
        link = len(robot.model.links) - 1
        request["push"] = {"link": link, "point": point, "force": force, "moment": moment}
    return request


def onto_links(robot, request):
    """F_ext of the push, from the forces in {s} about the origin of {s}."""
    push, model = request["push"], robot.model
    T = np.asarray(robot.link_poses(request["q"]))[push["link"]]
    f, n = np.array(push["force"]), np.array(push["moment"])
    p = T[:3, :3] @ push["point"] + T[:3, 3]
    about_link = n + np.cross(p - T[:3, 3], f)
    F = np.zeros((len(model.links), 6))
    F[push["link"]] = np.concatenate([T[:3, :3].T @ about_link, T[:3, :3].T @ f])
    return F


@pytest.mark.parametrize("name", ["planar_2r", "quadruped", "cart_pole"])
def test_a_large_robot_has_the_same_joint_forces_and_no_matrix(shelf, ask, name, monkeypatch):
    robot = shelf.find(name).robot
    request = random_request(robot, name, 0)
    whole = ask("readings", **request)
    monkeypatch.setattr(quantities, "MAX_FULL", 1)
    for costly in ("mass_matrix", "coriolis_forces"):
        monkeypatch.delattr(quantities.dynamics, costly)
    found = ask("readings", **request)
    assert found["M"] is None and found["eigenvalues"] is None and found["ellipsoids"] == {}
    assert "no mass matrix" in found["left_out"] and whole["left_out"] is None
    near(found["tau"], whole["tau"])
    for part in whole["parts"]:
        near(found["parts"][part], whole["parts"][part])


@pytest.mark.parametrize("name", ["planar_2r", "panda", "quadruped", "cart_pole"])
@pytest.mark.parametrize("compiled", [False, True])
def test_readings_are_those_of_the_robot(shelf, ask, name, compiled):
    robot = shelf.find(name).robot
    if compiled:
        compile_in_thread(robot, shelf.closing.is_set).join(120)
    for seed in range(3):
        request = random_request(robot, name, seed)
        q, dq, ddq = request["q"], request["dq"], request["ddq"]
        found = ask("readings", **request)
        tau = robot.inverse_dynamics(q, dq, ddq, onto_links(robot, request))
        near(found["tau"], tau)
        near(sum(np.array(x) for x in found["parts"].values()), tau)
        near(found["parts"]["gravity"], robot.gravity_forces(q))
        near(found["parts"]["inertia"], robot.mass_matrix(q) @ ddq)
        near(found["M"], robot.mass_matrix(q))
        near(found["energy"]["kinetic"], robot.kinetic_energy(q, dq))
        near(found["energy"]["potential"], robot.potential_energy(q))
        near(np.reshape(found["frame"]["T"], (4, 4)), robot.pose(q))
        near(found["com"], robot.center_of_mass(q))
        assert found["frame"]["name"] == robot.model.tool and found["dq"] == dq
        E = found["ellipsoids"]["mass"]
        lengths = [np.nan if x is None else x for x in E["lengths"]]
        near(
            np.nan_to_num(lengths),
            np.nan_to_num(kt.dynamics.mass_ellipsoid(robot, q).lengths, posinf=0.0),
        )


def near(found, expected):
    expected = np.asarray(expected, float)
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(np.asarray(found, float), expected, atol=1e-10 * scale, rtol=0)


def test_gravity_and_payload_change_the_robot(shelf, ask):
    robot = shelf.find("panda").robot
    request = random_request(robot, "panda", 3, push=False)
    payload = {"mass": 2.0, "com": [0.1, 0.0, 0.05]}
    found = ask("readings", **request, gravity=[0, 0, 3.7], payload=payload)
    other = robot.with_gravity([0, 0, 3.7]).with_payload(2.0, [0.1, 0, 0.05])
    near(found["tau"], other.inverse_dynamics(request["q"], request["dq"], request["ddq"]))
    with pytest.raises(InputError):
        ask("readings", **request, payload={"mass": -1})

"""Requests of the page: each answer against the robot's own methods, and against Pinocchio."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.present.tables import plain
from kinetree.views.workbench.api import answer
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
        found = answer(shelf, name, json.loads(json.dumps(request)))
        return json.loads(json.dumps(plain(found), allow_nan=False))

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


@pytest.mark.parametrize("name", ["planar_2r", "panda", "quadruped", "cart_pole"])
def test_readings_are_those_of_the_robot(shelf, ask, name):
    robot = shelf.find(name).robot
    for seed in range(3):
        request = random_request(robot, name, seed)
        q, dq, ddq = request["q"], request["dq"], request["ddq"]
        found = ask("readings", **request)
        tau = robot.inverse_dynamics(q, dq, ddq, onto_links(robot, request))
        near(found["tau"], tau)
        near(sum(np.array(x) for x in found["parts"].values()), tau)
        near(found["parts"]["gravity"], robot.gravity_forces(q))
        parts = {key: np.array(x) for key, x in found["parts"].items()}
        near(parts["inertia"] + parts["rotor"], robot.mass_matrix(q) @ ddq)
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


def test_a_quadruped_stands_on_its_feet_and_falls_when_it_is_released(shelf, ask):
    """Standing, the contacts carry the weight and the base needs no force; released, it sinks."""
    robot, q = shelf.find("quadruped").robot, shelf.find("quadruped").stage.q
    found = ask("readings", robot="quadruped", q=q.tolist())
    near(found["tau"][:6], np.zeros(6))
    weight = float(kt.dynamics.total_mass(robot.model)) * 9.81
    assert found["parts"]["contact"][5] == pytest.approx(-weight, rel=1e-9)
    tree = ask("unfold", robot="quadruped", q=q.tolist(), what={"kind": "tau", "dof": 5})
    (contact,) = (x for x in tree["trees"][0]["children"] if x["name"] == "contact")
    assert len(contact["children"]) == 4 and contact["value"] == pytest.approx(-weight)
    held = ask("simulate", robot="quadruped", q=q.tolist(), preset="hold", duration=0.5)
    assert abs(held["q"][-1][6] - q[6]) < 0.02
    fallen = ask("simulate", robot="quadruped", q=q.tolist(), preset="release", duration=0.5)
    assert fallen["q"][-1][6] < q[6] - 0.1 and any(fallen["stops"].values())
    # during the run, contacts and stops carry what the motors do not
    k = int(np.argmax(sum(np.abs(x) for x in fallen["stops"].values())))
    forces = dict(zip(fallen["contacts"]["names"], fallen["contacts"]["forces"][k], strict=True))
    stops = {name: x[k] for name, x in fallen["stops"].items()}
    state = {name: fallen[name][k] for name in ("q", "dq", "ddq")}
    pressed = {"contact_forces": forces, "stop_forces": stops}
    found = ask("readings", robot="quadruped", **state, **pressed)
    size = max(np.abs(x).max() for x in found["parts"].values())
    assert np.abs(found["tau"]).max() < 1e-2 * size and "stop" in found["parts"]


def test_a_dragged_tool_is_reached_or_the_nearest_position_is_shown(shelf, ask):
    robot, q = shelf.find("panda").robot, shelf.find("panda").stage.q
    T = np.array(robot.pose(q))
    T[:3, 3] += [0.05, -0.1, 0.08]
    found = ask("reach", robot="panda", q=q.tolist(), T=T.ravel().tolist())
    assert found["reached"]
    near(robot.pose(found["q"]), T)
    T[0, 3] = 9
    assert not ask("reach", robot="panda", q=q.tolist(), T=T.ravel().tolist())["reached"]
    robot, q = shelf.find("quadruped").robot, shelf.find("quadruped").stage.q
    T = np.array(robot.pose(q))
    T[:3, 3] += [0.03, 0, 0.04]
    found = np.array(ask("reach", robot="quadruped", q=q.tolist(), T=T.ravel().tolist())["q"])
    near(np.array(robot.pose(found))[:3, 3], T[:3, 3])
    near(robot.link_poses(found)[0], robot.link_poses(q)[0])  # a leg moves, and not the trunk

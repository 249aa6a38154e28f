"""Requests of the page: each answer against the robot's own methods, and against Pinocchio."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError, NameLookupError
from kinetree.views.page.stage import stage_of
from kinetree.views.workbench import quantities
from kinetree.views.workbench.api import API, answer
from kinetree.views.workbench.quantities import compile_in_thread
from kinetree.views.workbench.shelf import BUILT_IN, Shelf
from kinetree.views.workbench.state import plain


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
        monkeypatch.delattr(quantities.algorithms, costly)
    found = ask("readings", **request)
    assert found["M"] is None and found["eigenvalues"] is None and found["ellipsoids"] == {}
    assert "no mass matrix" in found["left_out"] and whole["left_out"] is None
    near(found["tau"], whole["tau"])
    for part in whole["parts"]:
        near(found["parts"][part], whole["parts"][part])


def test_a_large_robot_has_no_simulation_and_says_so(shelf, monkeypatch):
    monkeypatch.setattr(quantities, "MAX_FULL", 1)
    with pytest.raises(InputError, match="simulate for up to"):
        answer(shelf, "simulate", {"robot": "planar_2r", "q": [0, 0]})
    with pytest.raises(InputError, match="with constraints"):
        answer(shelf, "readings", {"robot": "four_bar", "q": [0, 0, 0]})
    assert answer(shelf, "save", {"robot": "planar_2r", "kind": "urdf"})


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
        near(np.nan_to_num(lengths), np.nan_to_num(robot.mass_ellipsoid(q).lengths, posinf=0.0))


def near(found, expected):
    expected = np.asarray(expected, float)
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(np.asarray(found, float), expected, atol=1e-10 * scale, rtol=0)


def test_joint_forces_are_those_of_pinocchio(shelf, ask):
    pin = pytest.importorskip("pinocchio")
    robot = shelf.find("panda").robot
    model = pin.buildModelFromXML(robot.to_urdf(losses="allow"))
    data = model.createData()
    for seed in range(5):
        request = random_request(robot, "panda", seed)
        wrenches = [pin.Force.Zero() for _ in range(model.njoints)]
        push = request["push"]
        f, n = np.array(push["force"]), np.array(push["moment"])
        q = np.array(request["q"])
        pin.forwardKinematics(model, data, q)
        R = data.oMi[model.njoints - 1].rotation
        about = n + np.cross(R @ push["point"], f)
        wrenches[-1] = pin.Force(R.T @ f, R.T @ about)
        tau = pin.rnea(model, data, q, np.array(request["dq"]), np.array(request["ddq"]), wrenches)
        found = ask("readings", **request)
        friction = np.array(found["parts"]["friction"])  # Pinocchio's recursion has none
        near(np.array(found["tau"]) - friction, tau)
    masses = ask("open", name="panda")["mass"]
    assert masses["moving"] == pytest.approx(pin.computeTotalMass(model), rel=1e-12)


def test_one_mass_in_the_workbench_and_on_the_report(ask):
    from kinetree.base.tables import page_number
    from kinetree.views import report_page

    robot = kt.load_string(
        "<robot name='r'><link name='base'><inertial><mass value='0.63'/>"
        "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<link name='arm'><inertial><mass value='16.82'/>"
        "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/></joint></robot>"
    )
    shelf = Shelf()
    try:
        shelf.give(robot, None, "r")
        mass = API["open"](shelf, {"id": "given"})["mass"]
    finally:
        shelf.close()
    assert mass == {"total": pytest.approx(17.45), "moving": pytest.approx(16.82)}
    page = report_page(robot, samples=10)
    assert page_number(17.45, 5) in page


def test_robots_are_listed_and_opened(shelf, ask):
    names = [x["name"] for x in ask("robots")["built_in"]]
    assert names == list(BUILT_IN) and all(x["about"] for x in ask("robots")["built_in"])
    found = ask("open", name="panda")
    robot = shelf.find("panda").robot
    assert found["n"] == 7 and found["opened"] == {"name": "panda"} and found["id"] == "panda"
    assert found == ask("open", id="panda")
    assert found["stage"] == plain(stage_of(robot).data())
    assert [x["label"] for x in found["handles"]] == list(robot.dof_names)
    assert found["dofs"][0]["effort"] == 87.0 and found["dofs"][0]["torque_unit"] == "N m"
    assert found["presets"] and found["default_preset"] in [x["name"] for x in found["presets"]]


@pytest.mark.parametrize(
    ("name", "plane", "up"),
    [
        ("planar_2r", [0, 0, 1], [0, 1, 0]),
        ("cart_pole", [0, 1, 0], [0, 0, 1]),
        ("four_bar", [0, 0, 1], [0, 1, 0]),
        ("panda", None, [0, 0, 1]),
        ("scara", None, [0, 0, 1]),
        ("quadruped", None, [0, 0, 1]),
    ],
)
def test_planar_robots_stand_upright(ask, name, plane, up):
    found = ask("open", name=name)
    assert (found["plane"], found["up"]) == (plane, up)


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81), (0, 0, 9.81)])
def test_a_level_plane_is_seen_from_above(gravity):
    shelf = Shelf()
    shelf.give(kt.robots.planar_2r().with_gravity(gravity), None, "level")
    found = plain(API["open"](shelf, {"id": "given"}))
    shelf.close()
    assert found["plane"] == found["up"] == [0, 0, 1]


def test_gravity_and_payload_change_the_robot(shelf, ask):
    robot = shelf.find("panda").robot
    request = random_request(robot, "panda", 3, push=False)
    payload = {"mass": 2.0, "com": [0.1, 0.0, 0.05]}
    found = ask("readings", **request, gravity=[0, 0, 3.7], payload=payload)
    other = robot.with_gravity([0, 0, 3.7]).with_payload(2.0, [0.1, 0, 0.05])
    near(found["tau"], other.inverse_dynamics(request["q"], request["dq"], request["ddq"]))
    with pytest.raises(InputError, match="mass of the payload"):
        ask("readings", **request, payload={"mass": -1})


def test_the_recursion_and_the_unfolding_add_up(shelf, ask):
    robot = shelf.find("panda").robot
    request = random_request(robot, "panda", 4)
    tau = ask("readings", **request)["tau"]
    steps = ask("recursion", **request)["steps"]
    assert len(steps) == 2 * robot.n
    for step in steps:
        for x in step["quantities"]:
            near(np.sum([row["values"] for row in x["rows"]], axis=0), x["value"])
            assert all(f'data-term="{row["term"]}"' in x["mathml"] for row in x["rows"])
    last = [x for step in steps[robot.n :] for x in step["quantities"] if x["symbol"] == "tau"]
    near([x["value"][0] for x in reversed(last)], tau)
    for what in ({"kind": "tau", "dof": 1}, {"kind": "M", "row": 1, "column": 3}):
        assert ask("unfold", **request, what=what)["trees"]
    assert ask("unfold", **request, what={"kind": "vector", "link": 2, "symbol": "F"})["trees"]
    for wrong in ({"kind": "x"}, {"kind": "tau", "dof": 99}, {"kind": "tau", "dof": True}, {}):
        with pytest.raises(KinetreeError):
            ask("unfold", **request, what=wrong)


@pytest.mark.parametrize(
    ("push", "words"),
    [
        ({"link": 7}, "0 to 6"),
        ({"link": True}, "0 to 6"),
        ({"link": 0, "force": [1, 2]}, "force of the push has 2"),
        ({"link": 0, "force": [1, 2, 1e300]}, "finite number"),
        ({"link": 0, "froce": [1, 2, 3]}, "push has 'froce'.*expected only 'link', 'point'"),
        ([], "push is"),
    ],
)
def test_a_wrong_push_is_named(shelf, ask, push, words):
    request = random_request(shelf.find("panda").robot, "panda", 0, push=False)
    with pytest.raises(InputError, match=words):
        ask("readings", **request, push=push)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"gains": {"kp": 3, "ki": 3}}, "gains has 'ki'; expected only 'kp', 'kd'"),
        ({"gains": []}, "gains"),
        ({"stops": "no"}, "stops is 'no'; expected true or false"),
        ({"payload": {"mass": 1, "centre": [0, 0, 0]}}, "payload has 'centre'"),
    ],
)
def test_entries_of_a_run_that_are_not_known_are_named(shelf, ask, entry, words):
    request = random_request(shelf.find("panda").robot, "panda", 0, push=False)
    with pytest.raises(InputError, match=words):
        ask("simulate", **request, **entry)


def test_a_quaternion_that_is_not_one_is_named(shelf, ask):
    q = shelf.find("quadruped").stage.q.tolist()
    with pytest.raises(InputError, match="quaternion of joint 'base'"):
        ask("readings", robot="quadruped", q=[2.0, *q[1:]])


def test_equations_are_markup_or_a_reason(ask):
    assert "<math" in ask("equations", robot="planar_2r")["html"]
    assert "too long to read" in ask("equations", robot="panda")["html"]


def test_names_that_are_not_known_are_named(ask):
    with pytest.raises(NameLookupError, match="Did you mean 'panda'"):
        ask("open", name="pandda")

"""The front door: kernels on first use, copies, arguments, errors in the words of the caller."""

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels import compile as compile_module

STATE = np.random.default_rng(0).normal(size=(3, 6))
METHODS = [DECLARED[x] for x in DECLARED.methods if not DECLARED[x].letters & {*"mdc"}]
ATTRIBUTES = [x.name for x in METHODS if not x.framed]
FRAMED = [x.name for x in METHODS if x.framed]


@pytest.fixture
def robot():
    return kt.robots.puma_560()


@pytest.fixture
def made(monkeypatch):
    """The names of the kernels that were compiled."""
    names = []
    compiled = compile_module.compiled

    def watched(model, request):
        names.append(request.name)
        return compiled(model, request)

    monkeypatch.setattr(compile_module, "compiled", watched)
    return names


def test_every_quantity_is_an_attribute(robot):
    for name in ATTRIBUTES:
        assert getattr(robot, name).name == name
        assert inspect.getdoc(getattr(kt.Robot, name)).startswith(DECLARED[name].title[:60])
    for name in FRAMED:
        assert callable(getattr(robot, name))


def test_kernels_are_compiled_on_first_use_and_kept(robot, made):
    assert made == []
    first = robot.mass_matrix
    assert isinstance(first, kt.kernels.Kernel) and made == ["mass_matrix"]
    robot.mass_matrix(STATE[0])
    assert robot.mass_matrix is first and made == ["mass_matrix"]


def test_kernels_of_frames_are_kept_by_frame(robot, made):
    frames = list(robot.model.frames)
    for _ in range(2):
        for frame in (None, frames[1], frames[2]):
            assert robot.pose(STATE[0], frame).shape == (4, 4)
    robot.body_jacobian(STATE[0])
    assert made == ["pose"] * 3 + ["body_jacobian"]


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_random_positions_are_one_or_a_batch_within_the_limits(name):
    robot = getattr(kt.robots, name)()
    assert robot.random().shape == (robot.nq,) and robot.random((2, 3)).shape == (2, 3, robot.nq)
    many, rng = robot.random(50, rng=4), np.random.default_rng(4)
    np.testing.assert_array_equal(many, [robot.random(rng=rng) for _ in range(50)])
    for joint in robot.model.joints:
        if len(joint.coords) == 1 and np.isfinite(joint.limits.upper):
            q = many[:, joint.coords[0]]
            assert joint.limits.lower <= q.min() < q.max() <= joint.limits.upper
    for wrong in (rng, -1, 2.5, "many"):
        with pytest.raises(kt.errors.KinetreeError, match="size is"):
            robot.random(wrong)


def test_wrenches_by_place_by_name_and_none(robot):
    F = np.random.default_rng(1).normal(size=(6, 6))
    for name in ("inverse_dynamics", "forward_dynamics", "bias_forces"):
        kernel = getattr(robot, name)
        state = STATE[: len(DECLARED[name].inputs)]
        loaded = robot.compile(name, wrenches=True)(*state, F)
        bare = kernel(*state)
        assert (loaded != bare).any()
        assert kernel(*state, F).tobytes() == kernel(*state, F_ext=F).tobytes() == loaded.tobytes()
        assert kernel(*state, None).tobytes() == kernel(*state, F_ext=None).tobytes()
        assert kernel(*state, None).tobytes() == bare.tobytes()
        batch = kernel(*state, np.stack([F, 2 * F, 0 * F]))
        assert batch.shape == (3, 6) and batch[0].tobytes() == loaded.tobytes()
        np.testing.assert_allclose(batch[2], bare, rtol=1e-12)


def test_wrenches_onto_frames_do_the_work_of_the_frames(robot):
    """tau falls by J_b^T F of each frame that is pushed."""
    q, F = STATE[0], np.arange(1.0, 13).reshape(2, 6)
    onto = {robot.model.tool: F[0], robot.model.link_names[2]: F[1], robot.model.base_name: F[0]}
    F_ext = robot.wrenches(onto)
    assert F_ext.shape == (len(robot.model.links), 6)
    pushed = sum(robot.body_jacobian(q, frame).T @ wrench for frame, wrench in onto.items())
    rest = np.zeros(6)
    tau = robot.inverse_dynamics(q, rest, rest) - robot.inverse_dynamics(q, rest, rest, F_ext)
    np.testing.assert_allclose(tau, pushed, rtol=0, atol=1e-13 * np.abs(pushed).max())


def test_results_go_where_the_caller_says(robot):
    expected = robot.inverse_dynamics(*STATE)
    out = np.empty(6)
    assert robot.inverse_dynamics(*STATE, out=out) is out
    assert out.tobytes() == expected.tobytes()
    F, out = np.ones((6, 6)), np.empty((2, 6))
    assert robot.inverse_dynamics(*STATE, np.stack([F, F]), out=out) is out
    assert out[1].tobytes() == robot.inverse_dynamics(*STATE, F).tobytes()


def test_changed_robots_are_new_robots(robot):
    light = robot.with_gravity((0, 0, -1.62))
    found, expected = light.gravity_forces(STATE[0]) / 1.62, robot.gravity_forces(STATE[0]) / 9.81
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    loaded = robot.with_payload(2.0, (0, 0, 0.1))
    expected = dynamics.gravity_forces(loaded.model, STATE[0])
    np.testing.assert_allclose(loaded.gravity_forces(STATE[0]), expected, rtol=1e-12, atol=1e-13)
    assert not np.allclose(expected, robot.gravity_forces(STATE[0]))


def test_threads_serve_large_batches(robot):
    states = np.random.default_rng(2).normal(size=(3, 30_000, 6))
    with kt.kernels.threads(1):
        one = robot.inverse_dynamics(*states)
    with kt.kernels.threads(2):
        two = robot.inverse_dynamics(*states)
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_compute_the_same(robot, copied):
    before = robot.inverse_dynamics(*STATE, np.ones((6, 6)))
    again = copied(robot)
    assert again is not robot and again.name == robot.name
    assert again.inverse_dynamics(*STATE, np.ones((6, 6))).tobytes() == before.tobytes()
    assert again.pose(STATE[0]).tobytes() == robot.pose(STATE[0]).tobytes()


def test_copies_of_kernels_compute_the_same(robot):
    F = np.ones((6, 6))
    before = robot.inverse_dynamics(*STATE, F)
    for again in (
        copy.deepcopy(robot.inverse_dynamics),
        pickle.loads(pickle.dumps(robot.inverse_dynamics)),
    ):
        assert again(*STATE, F).tobytes() == before.tobytes()
        assert again.signature == robot.inverse_dynamics.signature


def test_another_process_computes_the_same_bits(robot, tmp_path):
    (tmp_path / "kernel").write_bytes(pickle.dumps((robot, robot.inverse_dynamics, STATE)))
    program = (
        "import pickle, sys; robot, kernel, state = pickle.load(open(sys.argv[1], 'rb'));"
        "assert robot.inverse_dynamics(*state).tobytes() == kernel(*state).tobytes();"
        "print(kernel(*state).tobytes().hex())"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "kernel")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == robot.inverse_dynamics(*STATE).tobytes().hex()


def test_importing_and_building_load_no_compiler():
    """The compiler and optional packages wait until they are needed."""
    program = (
        "import sys, kinetree as kt; kt.robots.puma_560();"
        "print([x for x in ('llvmlite', 'sympy', 'mpmath', 'matplotlib', 'mujoco', 'scipy')"
        " if x in sys.modules])"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

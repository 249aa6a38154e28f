"""Exported C of one iteration of iLQR: it improves plans as kinetree does, in the same steps."""

import ctypes
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from c_programs import STRICT, command

import kinetree as kt
from kinetree import optimal
from labelled_states import floating

GCC = shutil.which("gcc")
pytestmark = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
DTYPES = {"double": ctypes.c_double, "float": ctypes.c_float}
PANDA = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
MOVED, CONVERGED, AGAIN, STALLED, BAD_COST, BAD_STATE = range(6)


def reach(robot, target, *, steps=25, **options):
    costs = {
        "posture": optimal.Posture(target=target, weight=0.1, final=200.0),
        "rates": optimal.Rates(weight=0.1, final=5.0),
        "effort": optimal.Effort(weight=0.01),
    }
    return optimal.Problem(robot, dt=0.02, steps=steps, costs=costs, **options)


def swing_up(steps=60):
    costs = [
        optimal.Posture(target=[np.pi, 0.0], final=500.0), optimal.Rates(weight=0.01, final=50.0),
        optimal.Effort(weight=0.01),
    ]  # fmt: skip
    robot = kt.robots.double_pendulum()
    return optimal.Problem(robot, dt=0.05, steps=steps, costs=costs, actuated=["elbow"], limits=10)


def quadruped():
    robot = kt.robots.quadruped()
    posture = optimal.Posture(target=robot.neutral(), weight=1, final=50)
    costs = [posture, optimal.Effort(weight=1e-3)]
    return optimal.Problem(robot, dt=0.01, steps=6, limits=8.0, costs=costs)


def flying():
    """A free base with a joint, in another pose than its target."""
    robot = floating()
    turned = robot.integrate(robot.neutral(), [0.3, -0.2, 0.4, 0, 0, 0, 0.5])
    return reach(robot, turned, steps=8)


class Exported:
    """The exported code of a problem in a library, with one plan."""

    def __init__(self, problem, folder, *flags, dtype="double"):
        code = kt.export(problem, "c", dtype=dtype, name="f")
        code.save(folder / "f.c")
        command(
            GCC, "-O1", *STRICT, *flags, "-shared", "-fPIC", folder / "f.c",
            "-o", folder / "f.so", "-lm",
        )  # fmt: skip
        words = re.findall(r"#define f_(\w+) (\d+)", code.header)
        N, X, D, M, P, limited = (int(size) for _, size in words)
        number = DTYPES[dtype]
        fields = {"x": (N + 1, X), "u": (N, M), "K": (N, M, D), "k": (N, M), "gap": (N, D)}
        fields |= {"p": (N + 1, P)} | ({"low": (M,), "high": (M,)} if limited else {})
        fields |= dict.fromkeys(("mu", "tolerance", "cost", "expected", "length", "checked"), (1,))
        size = sum(map(np.prod, fields.values()))
        assert f"{size * ctypes.sizeof(number)} bytes, which belong to the caller" in code.header
        self.plan, at = np.full(size, np.nan, number), 0
        for name, shape in fields.items():
            setattr(self, name, self.plan[at : at + np.prod(shape)].reshape(shape))
            at += np.prod(shape)
        self.library, self.number = ctypes.CDLL(str(folder / "f.so")), number

    def call(self, name, *arrays):
        given = [x if x is None else np.array(x, self.number) for x in arrays]
        pointers = [x if x is None else ctypes.c_void_p(x.ctypes.data) for x in (self.plan, *given)]
        return getattr(self.library, f"f_{name}")(*pointers), given


def planar(**options):
    return reach(kt.robots.planar_2r(), [1, 0.5], **{"steps": 12, **options})


def high():
    """A pendulum that cannot reach its target: some steps are no better."""
    costs = [
        optimal.FramePosition(target=[0, 0, 9.0], final=50, weight=1),
        optimal.Effort(weight=1e-3),
    ]
    return optimal.Problem(kt.robots.double_pendulum(), dt=0.05, steps=20, limits=None, costs=costs)


PROBLEMS = {
    "planar": (lambda: planar(limits=None), [0.1, -0.2], 12),
    "planar with a limit": (lambda: planar(limits=[6.0, np.inf]), [0.1, -0.2], 8),
    "swing-up": (swing_up, [0.2, -0.1], 6),
    "regularised": (high, [-0.65, -0.17], 9),
    "panda": (lambda: reach(kt.robots.panda(), PANDA + 0.4, steps=8, limits=30.0), PANDA, 4),
    "flying": (flying, None, 4),
    "quadruped": (quadruped, None, 3),
    "rk4": (lambda: planar(method="rk4"), [0.1, 0.2], 3),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(x, marks=pytest.mark.many) if x == "quadruped" else x for x in PROBLEMS],
)
def test_iterations_are_those_of_the_solver(case, tmp_path):
    """States, forces, gains, cost and regularisation after each of several iterations."""
    make, q0, iterations = PROBLEMS[case]
    problem = make()
    exported = Exported(problem, tmp_path)
    q0 = problem.robot.neutral() if q0 is None else q0
    dq0 = np.random.default_rng(4).normal(0, 0.3, problem.robot.n)
    u0 = np.linspace(-1, 1, exported.u.shape[1])
    exported.call("start", [*q0, *dq0], u0)
    done, results = 0, []
    for k in range(1, iterations + 1):
        results.append(exported.call("iterate", None)[0])
        plan = problem.solve(q0, dq0, guess=np.tile(u0, (problem.steps, 1)), iterations=k)
        moved, done = len(plan.history) > done and plan.history[-1]["length"] > 0, len(plan.history)
        assert results[-1] == (MOVED if moved else CONVERGED if plan.converged else AGAIN)
        pairs = [
            (exported.x, plan.plans.x[:, 0]), (exported.u, plan.plans.u[:, 0]),
            (exported.cost, plan.cost), (exported.mu, plan.plans.mu),
        ]  # fmt: skip
        pairs += [(exported.K, plan.gains)] if moved else []
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9 * max(1, np.abs(y).max()))
    assert MOVED in results and (case != "planar" or results[-1] == CONVERGED)
    assert (AGAIN in results) == (case == "regularised")


@pytest.mark.parametrize("limits", [None, 8.0])
def test_ticks_are_iterations_of_the_moved_plan(limits, tmp_path):
    """The plan moves by a step and begins at another state: gaps close as in kinetree."""
    problem, rng = planar(limits=limits), np.random.default_rng(0)
    exported, moved = Exported(problem, tmp_path), None
    x = np.array([0.1, -0.2, 0.0, 0.3])
    exported.call("start", x, problem.robot.gravity_forces(x[:2]))
    exported.tolerance[:] = 1e-12
    for _ in range(5):
        plan = problem.solve(x[:2], x[2:], guess=moved, iterations=1, tolerance=1e-12)
        tau = plan.tau[0]
        assert exported.call("iterate", x)[0] == MOVED
        result, (_, u) = exported.call("control", x, np.zeros(2))
        assert result == MOVED
        np.testing.assert_allclose(u, tau, rtol=0, atol=1e-9 * np.abs(tau).max())
        away = x + 0.01 * rng.normal(size=4)
        _, (_, u) = exported.call("control", away, np.zeros(2))
        expected = tau + plan.gains[0] @ (away - x)
        if limits:
            expected = np.clip(expected, -limits, limits)
        np.testing.assert_allclose(u, expected, rtol=0, atol=1e-9 * np.abs(tau).max())
        x = plan.plans.x[1, 0] + 0.02 * rng.normal(size=4)
        later = {
            k: np.concatenate([a[1:], a[-1:]]) for k, a in vars(plan.plans).items() if k in "xu"
        }
        moved = replace(plan, plans=replace(plan.plans, **later))
        exported.call("shift")


def test_numbers_that_are_not_finite_never_reach_the_plan(tmp_path):
    exported = Exported(planar(limits=None), tmp_path)
    exported.call("start", [0.1, -0.2, 0, 0], None)
    assert exported.call("iterate", None)[0] == MOVED
    before = exported.plan.copy()
    assert exported.call("iterate", [0.1, np.nan, 0, 0])[0] == BAD_STATE
    assert np.array_equal(exported.plan, before)
    result, (_, u) = exported.call("control", [np.inf, 0, 0, 0], np.zeros(2))
    assert result == BAD_STATE and np.array_equal(u, exported.u[0])
    exported.p[-1, 3] = np.nan
    assert exported.call("iterate", None)[0] == BAD_COST
    assert np.isfinite(exported.K).all() and np.array_equal(exported.u, before_of(before, exported))


def before_of(before, exported):
    """The forces in the copy of a plan."""
    return before[exported.x.size :][: exported.u.size].reshape(exported.u.shape)


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize(
    "case", ["planar with a limit", "flying", pytest.param("panda", marks=pytest.mark.many)]
)
def test_the_self_test_passes_and_finds_a_wrong_search(case, dtype, tmp_path):
    code = kt.export(PROBLEMS[case][0](), "c", dtype=dtype, name="f")
    code.save(tmp_path / "f.c")
    sound = (
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        *STRICT,
    )
    for name, flags in (("f", sound), ("wrong", ())):
        if name == "wrong":
            wrong = code.source.replace("merit < best", "merit > best", 1)
            assert wrong != code.source
            (tmp_path / "f.c").write_text(wrong)
        files = (tmp_path / "f.c", tmp_path / "f_test.c", "-o", tmp_path / name, "-lm")
        command(GCC, *flags, "-DKINETREE_SELF_TEST_MAIN", *files)
        shown = command(tmp_path / name, check=False)
        verdict = "passed" if name == "f" else "FAILED"
        assert re.fullmatch(rf"1 plan, largest difference .* one: {verdict}\n", shown)

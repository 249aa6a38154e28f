"""Laws of single steps: orders, energy, unit quaternions, stability, gradients in fifty digits."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import step as textbook_step
from precise_robots import H, numbers, precise
from tensor_robots import arm, flyer

DAMPED = arm().with_friction({"shoulder": kt.Friction(viscous=0.7)})
SPRUNG = DAMPED.with_springs(
    {"shoulder": kt.Spring(30.0, 0.4), "tie": kt.Spring(20.0, joints={"shoulder": 1, "slide": -2})}
)
ORDERS = {"euler": 1, "semi_implicit_euler": 1, "implicit": 1, "implicitfast": 1, "rk4": 4}


def state(robot, seed=2):
    rng = np.random.default_rng(seed)
    return robot.random(rng=seed), rng.normal(size=robot.n), rng.normal(size=robot.n)


def after(robot, q, dq, tau, duration, count, method):
    for _ in range(count):
        q, dq = robot.step(q, dq, tau, duration / count, method=method)
    return q, dq


@pytest.mark.parametrize("robot", [DAMPED, SPRUNG, flyer()], ids=["arm", "springs", "flyer"])
@pytest.mark.parametrize(("method", "order"), ORDERS.items())
def test_errors_fall_with_the_order_of_the_method(robot, method, order):
    q, dq, tau = state(robot)
    exact = after(robot, q, dq, tau, 0.25, 4096, "rk4")
    errors = []
    for count in (16, 32, 64) if order > 1 else (256, 512, 1024):
        found = after(robot, q, dq, tau, 0.25, count, method)
        errors.append(max(abs(a - b).max() for a, b in zip(found, exact, strict=True)))
    found = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(abs(found - order) < 0.2), found


def test_one_step_of_rk4_agrees_with_fifty_digits_of_tiny_steps():
    """The error of one step is h^5 times fifth derivatives; halved steps divide it by 32."""
    robot = DAMPED
    q, dq, tau = state(robot)
    model = precise(robot.model)
    with mpmath.workdps(50):
        x = numbers(q), numbers(dq)
        for _ in range(64):
            x = textbook_step(model, *x, numbers(tau), mpmath.mpf(1) / 64 / 100, method="rk4")
    exact = [np.array(part, float) for part in x]
    errors = [
        max(abs(a - b).max() for a, b in zip(found, exact, strict=True))
        for found in (after(robot, q, dq, tau, 0.01, count, "rk4") for count in (1, 2))
    ]
    assert errors[0] < 1e-8 and 12 < errors[0] / errors[1] < 40


def test_semi_implicit_steps_keep_the_energy_of_a_pendulum():
    """Euler's method of the book adds energy with every swing; the others do not."""
    robot = kt.robots.double_pendulum()
    q, dq = np.array([-1.2, 0.3]), np.zeros(2)

    def energy(q, dq):
        return float(robot.kinetic_energy(q, dq) + robot.potential_energy(q))

    start, drift = energy(q, dq), {}
    for method in ORDERS:
        x = after(robot, q, dq, np.zeros(2), 10.0, 10_000, method)
        drift[method] = abs(energy(*x) - start)
    assert drift["rk4"] < 1e-7 * abs(start)
    assert drift["semi_implicit_euler"] < 0.3 * drift["euler"]
    assert drift["implicit"] == drift["semi_implicit_euler"]  # nothing to damp: the same step
    assert drift["implicitfast"] == drift["semi_implicit_euler"]


def slides():
    """Two masses on slides with springs between them, and gravity along the slides."""
    builder = kt.Builder("slides", gravity=(-9.81, 0, 0)).link("base")
    builder.link("near", 1.0, I_com=np.eye(3)).link("far", 0.5, I_com=np.eye(3))
    builder.joint("x", "prismatic", "base", "near", axis=(1, 0, 0))
    builder.joint("y", "prismatic", "near", "far", axis=(1, 0, 0))
    return builder.build().with_springs(
        {"x": kt.Spring(40.0, 0.3), "tie": kt.Spring(15.0, joints={"x": 1, "y": -0.5})}
    )


def energies(robot, method, dt, count):
    """Energy after each step less that at the start, and the size of its changes."""
    x = np.full(robot.n, -1.2), np.zeros(robot.n)
    start, found, kinetic = float(robot.potential_energy(x[0])), [], []
    for _ in range(count):
        x = robot.step(*x, np.zeros(robot.n), dt, method=method)
        kinetic.append(float(robot.kinetic_energy(*x)))
        found.append(kinetic[-1] + float(robot.potential_energy(x[0])))
    return np.array(found) - start, max(kinetic)


def test_energy_drifts_with_springs_as_little_as_without():
    pendulum = kt.robots.double_pendulum()
    first, second = pendulum.joint_names
    tie = kt.Spring(15.0, joints={first: 1, second: -0.5})
    sprung = pendulum.with_springs({first: kt.Spring(20.0, 0.3), "tie": tie})
    for robot in (pendulum, sprung, slides()):
        changes, size = energies(robot, "rk4", 1e-3, 8000)
        assert abs(changes).max() < 1e-7 * size
    for method in ("semi_implicit_euler", "implicitfast"):  # symplectic where M is constant
        changes, size = energies(slides(), method, 1e-3, 8000)
        halves = changes.reshape(2, -1).mean(-1)
        assert abs(changes).max() < 0.02 * size and abs(halves[1] - halves[0]) < 1e-4 * size


def test_implicit_springs_only_lose_energy_and_less_with_shorter_steps():
    lost = [energies(slides(), "implicit", dt, round(2 / dt))[0] for dt in (0.01, 0.005, 0.0025)]
    assert all(np.diff(x).max() < 1e-12 for x in lost)
    assert lost[0][-1] < lost[1][-1] < lost[2][-1] < 0


@pytest.mark.parametrize("method", ORDERS)
def test_quaternions_keep_length_one_to_rounding(method):
    robot = flyer()
    q, dq, tau = state(robot)
    q, _ = after(robot, q, 3 * dq, tau, 5.0, 2000, method)
    assert abs(np.linalg.norm(q[:4]) - 1) < 1e-15


def test_a_free_body_keeps_its_momentum_within_the_order():
    """Without gravity and forces, momentum about the origin is constant; RK4 keeps it to h^4."""
    robot = flyer().with_gravity([0, 0, 0])
    q, dq, _ = state(robot)
    rest = np.zeros(robot.n)
    start = robot.momentum(q, dq)
    end = robot.momentum(*after(robot, q, dq, rest, 0.5, 250, "rk4"))
    assert abs(end - start).max() < 1e-9 * abs(start).max()


@pytest.mark.parametrize("damping", [1e2, 1e5])
def test_implicit_steps_of_ten_milliseconds_are_stable_for_any_damping(damping):
    stiff = {name: kt.Friction(viscous=damping) for name in arm().joint_names}
    robot = arm().with_friction(stiff)
    q, dq, tau = state(robot)
    x = after(robot, q, dq, tau, 2.0, 200, "implicit")
    # the joints creep: damping balances all other forces
    creep = (tau - robot.gravity_forces(x[0])) / damping
    assert np.allclose(x[1], creep, rtol=0.05, atol=1e-3 / damping)
    if damping > 1e4:
        assert not np.isfinite(after(robot, q, dq, tau, 2.0, 200, "semi_implicit_euler")[1]).all()


@pytest.mark.parametrize(("kp", "kd"), [(1e5, 10.0), (1e5, 1e3), (10.0, 1e5)])
def test_stiff_servos_reach_their_goal_in_steps_of_ten_milliseconds(kp, kd):
    robot = arm()
    q, dq, _ = state(robot)
    goal = q + 0.1
    for _ in range(3000):
        tau = kp * (goal - q) - kd * dq
        q, dq = robot.step(q, dq, tau, 0.01, method="implicit", kp=[kp, kp], kd=[kd, kd])
    assert np.isfinite(q).all() and abs(dq).max() < 1e-2
    if kp > kd:
        sag = abs(robot.gravity_forces(goal)).max() + 1.0
        assert abs(q - goal).max() < 2 * sag / kp


def cheetah():
    """A planar trunk on two slides and a hinge, with two legs of three joints: nine joints."""
    builder = kt.Builder("cheetah", gravity=(0, 0, -9.81)).link("world")
    for name in ("x", "z"):
        builder.link(name, 0.1, (0, 0, 0), np.eye(3) * 1e-3)
    builder.link("trunk", 6.0, (0.1, 0, 0), np.diag([0.02, 0.4, 0.4]))
    builder.joint("rootx", "prismatic", "world", "x", axis=(1, 0, 0))
    builder.joint("rootz", "prismatic", "x", "z", axis=(0, 0, 1))
    builder.joint("rooty", "revolute", "z", "trunk", axis=(0, 1, 0))
    for leg, at in (("back", -0.5), ("front", 0.5)):
        parent, place = "trunk", (at, 0, 0)
        for part, mass in (("thigh", 1.5), ("shin", 1.6), ("foot", 1.1)):
            name = f"{leg} {part}"
            builder.link(name, mass, (0.05, 0, -0.1), np.eye(3) * 0.01)
            builder.joint(name, "revolute", parent, name, axis=(0, 1, 0), at=place)
            parent, place = name, (0, 0, -0.25)
    return builder.build()


ROBOTS = {"panda": kt.robots.panda(), "cheetah": cheetah()}
STIFF = {
    "stiffness": (0.0, 1e5, 0.0, 0.0),
    "stiffness and damping": (1e5, 1e5, 0.0, 0.0),
    "kp": (0.0, 0.0, 1e5, 0.0),
    "kp and kd": (0.0, 0.0, 1e5, 1e5),
    "kd": (0.0, 0.0, 0.0, 1e5),
    "everything": (1e5, 1e5, 1e5, 1e5),
}


@pytest.mark.parametrize("case", STIFF)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_thousand_steps_of_ten_milliseconds_are_stable_for_a_hundred_thousand(name, case):
    """Energy above rest falls, and the joints come to rest where forces balance."""
    damping, stiffness, kp, kd = STIFF[case]
    robot = ROBOTS[name]
    own = [x for x in robot.joint_names if not x.startswith("root")]
    robot = robot.with_friction({x: kt.Friction(viscous=damping) for x in own})
    robot = robot.with_springs({x: kt.Spring(stiffness) for x in own}).with_gravity([0, 0, 0])
    q = np.random.default_rng(0).uniform(-0.3, 0.3, (4, robot.n))
    dq = np.random.default_rng(1).normal(size=(4, robot.n))
    gains = [np.array([x * (k in own) for k in robot.joint_names]) for x in (kp, kd)]
    start = energy(robot, q, dq, gains[0]).max()
    for k in range(1000):
        tau = -gains[0] * q - gains[1] * dq
        q, dq = robot.step(q, dq, tau, 0.01, method="implicit", kp=gains[0], kd=gains[1])
        if k % 20 == 0:
            assert energy(robot, q, dq, gains[0]).max() < 1.2 * start
    if case != "kd":  # which only brakes
        moving = [k for k, x in enumerate(robot.joint_names) if x in own]
        assert abs(dq[:, moving]).max() < 0.05


def energy(robot, q, dq, kp):
    """Kinetic energy and that of springs and position gains."""
    stored = (kp * q * q).sum(-1) / 2
    return robot.kinetic_energy(q, dq) + robot.potential_energy(q) + stored


def slopes(robot, method, x, w):
    """d (w . results)/d arguments by central differences in fifty digits."""
    model = precise(robot.model)
    with mpmath.workdps(50):
        parts = [numbers(part) for part in x]

        def weighed(arguments):
            found = np.concatenate(
                textbook_step(model, *arguments[:3], arguments[3].item(), method=method)
            )
            return found @ numbers(w)

        found = []
        for k, part in enumerate(parts):
            rows = []
            for i in range(part.size):
                ends = []
                for s in (H, -H):
                    moved = part.copy()
                    moved.reshape(-1)[i] += s
                    ends.append(weighed([*parts[:k], moved, *parts[k + 1 :]]))
                rows.append(float((ends[0] - ends[1]) / (2 * H)))
            found.append(np.array(rows).reshape(part.shape))
    return found


@pytest.mark.parametrize(
    ("robot", "method"),
    [
        (arm(), "semi_implicit_euler"),
        (SPRUNG, "implicit"),
        (SPRUNG, "implicitfast"),
        (SPRUNG, "rk4"),
        (flyer(), "implicit"),
    ],
    ids=["semi_implicit_euler", "implicit", "implicitfast", "rk4", "flyer-implicit"],
)
def test_gradients_of_torch_and_jax_agree_with_fifty_digits(robot, method):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    q, dq, tau = state(robot)
    x = q, dq, tau, np.array(0.01)
    w = np.random.default_rng(1).normal(size=robot.nq + robot.n)
    expected = slopes(robot, method, x, w)
    leaves = [torch.tensor(part, requires_grad=True) for part in x]
    loss = torch.cat(robot.step(*leaves, method=method)) @ torch.tensor(w)
    by_torch = torch.autograd.grad(loss, leaves)

    def loss_of(*parts):
        return jax.numpy.concatenate(robot.step(*parts, method=method)) @ w

    by_jax = jax.jit(jax.grad(loss_of, argnums=(0, 1, 2, 3)))(*map(jax.numpy.asarray, x))
    for wanted, theirs, others in zip(expected, by_torch, by_jax, strict=True):
        size = 1e-12 * (1 + abs(wanted).max())
        assert np.allclose(theirs.numpy(), wanted, rtol=0, atol=size)
        assert np.allclose(np.asarray(others), wanted, rtol=0, atol=size)


def test_a_batch_of_lengths_has_a_gradient_for_each():
    torch = pytest.importorskip("torch")
    robot = arm()
    q, dq, tau = (torch.tensor(np.tile(part, (3, 1))) for part in state(robot))
    dt = torch.tensor([0.01, 0.02, 0.03], dtype=torch.float64, requires_grad=True)
    ends = robot.step(q, dq, tau, dt)
    each = torch.autograd.grad(ends[0].sum() + ends[1].sum(), dt)[0]
    one = torch.tensor(0.02, dtype=torch.float64, requires_grad=True)
    ends = robot.step(q[1], dq[1], tau[1], one)
    (slope,) = torch.autograd.grad(ends[0].sum() + ends[1].sum(), one)
    assert each.shape == (3,) and each[1] == slope
    # a number that serves the whole batch has the sum
    ends = robot.step(q, dq, tau, one)
    (total,) = torch.autograd.grad(ends[0].sum() + ends[1].sum(), one)
    assert torch.allclose(total, 3 * slope, rtol=1e-14)

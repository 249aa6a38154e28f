"""Motors of coupled joints against dense matrices, MuJoCo, fifty digits and sums of sliders."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, KinetreeError, ModelError, NameLookupError, ShapeError
from kinetree.model import random_model
from precise_robots import numbers, precise

INERTIAS = np.array([0.3, 0.7, 0.2])
SMOOTH = [
    kt.Friction(0.2, sigmoid=kt.Sigmoid(1.5, 4, 0.1)),
    kt.Friction((0.3, 0.5)),
    kt.Friction(function=lambda v: v * v * v),
]


def geared(seed: int, friction: list[kt.Friction], n: int = 6) -> tuple[kt.Robot, kt.Robot]:
    """A random tree with three motors over joints of any branches, and the tree without them."""
    bare = kt.Robot(random_model(seed, n, mimic=True, springs=True))
    rng = np.random.default_rng(seed)
    movers = [x.name for x in bare.model.joints if x.follows is None]
    motors = {}
    for k, (J, rubbing) in enumerate(zip(INERTIAS, friction, strict=True)):
        names = rng.choice(movers, min(k + 1, len(movers)), replace=False)
        motors[f"m{k}"] = kt.Motor({x: rng.uniform(-2, 2) for x in names}, J, rubbing)
    return bare.with_motors(motors), bare


def states(robot: kt.Robot, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [robot.random(rng=seed), *rng.normal(size=(2, robot.n))]


def own_friction(theta: np.ndarray) -> np.ndarray:
    """Friction of the motors of SMOOTH, written out."""
    a, b, c = theta
    curve = 1.5 / (1 + np.exp(-4 * (a + 0.1))) - 1.5 / (1 + np.exp(-0.4))
    return np.array([0.2 * a + curve, (0.3 if b > 0 else 0.5) * b, c**3])


@pytest.mark.parametrize("seed", range(4))
def test_inertia_and_friction_are_those_of_dense_matrices(seed: int) -> None:
    robot, bare = geared(seed, SMOOTH)
    q, dq, ddq = states(robot, seed)
    N, model = np.asarray(robot.model.motor_matrix, float), robot.model
    added = N.T @ np.diag(INERTIAS) @ N
    assert np.allclose(robot.mass_matrix(q), bare.mass_matrix(q) + added, atol=1e-12)
    assert np.allclose(algorithms.mass_matrix_by_jacobians(model, q), robot.mass_matrix(q))
    more = N.T @ own_friction(N @ dq)
    assert np.allclose(robot.friction_forces(dq), bare.friction_forces(dq) + more, atol=1e-12)
    tau = robot.inverse_dynamics(q, dq, ddq)
    expected = bare.inverse_dynamics(q, dq, ddq) + more + added @ ddq
    assert np.allclose(tau, expected, rtol=1e-10, atol=1e-10)
    for form in ("screw", "closed", "link", "space"):
        found = algorithms.inverse_dynamics(model, q, dq, ddq, formulation=form)
        assert np.allclose(found, tau, rtol=1e-9, atol=1e-9)
    for way in ("forward_dynamics", "forward_dynamics_by_articulated_bodies"):
        assert np.allclose(getattr(algorithms, way)(model, q, dq, tau), ddq, rtol=1e-6, atol=1e-7)
    assert np.allclose(robot.forward_dynamics(q, dq, tau), ddq, rtol=1e-6, atol=1e-7)
    energy = bare.kinetic_energy(q, dq) + dq @ added @ dq / 2
    assert np.isclose(robot.kinetic_energy(q, dq), energy, rtol=1e-12)
    p, f = robot.compile("momentum_balance")(q, dq, tau)
    p0, f0 = bare.compile("momentum_balance")(q, dq, tau)
    assert np.allclose(p, p0 + added @ dq, atol=1e-11)
    assert np.allclose(f, f0 - more, rtol=1e-10, atol=1e-10)
    assert np.allclose(robot.coriolis_matrix(q, dq), bare.coriolis_matrix(q, dq), atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_derivatives_against_fifty_digits(seed: int) -> None:
    robot, _ = geared(seed, SMOOTH, 4)
    q, dq, ddq = states(robot, seed)
    by_q, by_dq = robot.inverse_dynamics_derivatives(q, dq, ddq)
    with mpmath.workdps(50):
        model, h = precise(robot.model), mpmath.mpf(10) ** -18
        x, v, a = (numbers(y) for y in (q, dq, ddq))
        for k in range(robot.n):
            step = np.array([h if j == k else mpmath.mpf(0) for j in range(robot.n)], object)

            def slope(i: int, step: np.ndarray = step) -> np.ndarray:
                sides = [
                    algorithms.inverse_dynamics(model, x + s * step, v, a)
                    if i == 0
                    else algorithms.inverse_dynamics(model, x, v + s * step, a)
                    for s in (1, -1)
                ]
                return ((sides[0] - sides[1]) / (2 * h)).astype(float)

            assert np.allclose(by_q[:, k], slope(0), rtol=1e-10, atol=1e-9)
            assert np.allclose(by_dq[:, k], slope(1), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_forces_and_energy_are_linear_in_their_parameters(seed: int) -> None:
    rubbing = [kt.Friction(0.2, 0.4), kt.Friction((0.3, 0.5), (0.1, 0.2)), kt.Friction()]
    robot, _ = geared(seed, rubbing)
    robot = robot.with_friction({x.name: kt.Friction(0.1, 0.3) for x in robot.model.joints})
    q, dq, ddq = states(robot, seed)
    pi, model = robot.parameters, robot.model
    tau = robot.inverse_dynamics(q, dq, ddq)
    assert np.allclose(robot.regressor(q, dq, ddq) @ pi, tau, rtol=1e-10, atol=1e-10)
    reference = algorithms.reference_regressor(model, q, dq, dq, ddq)
    assert np.allclose(reference @ pi, tau, rtol=1e-10, atol=1e-10)
    kinetic, potential = algorithms.energy_regressor(model, q, dq)
    assert np.isclose(kinetic @ pi, robot.kinetic_energy(q, dq), rtol=1e-10)
    names = algorithms.parameter_list(model)
    assert potential.shape == pi.shape == (len(names),)
    assert str(names[-1]) == "armature[m2]"
    assert algorithms.momentum_regressor(model, q, dq).shape == (6, len(pi))
    changed = algorithms.with_parameters(model, pi * 1.5)
    assert np.allclose(algorithms.parameters(changed), pi * 1.5, rtol=1e-10)


def test_a_long_chain_and_closed_forms() -> None:
    long = kt.Robot(random_model(3, 70, chain=True))
    names = long.joint_names
    robot = long.with_motors({"m": kt.Motor({names[5]: 1, names[50]: -2}, 0.4, kt.Friction(0.3))})
    q, dq, ddq = states(robot, 1)
    tau, N = robot.inverse_dynamics(q, dq, ddq), np.asarray(robot.model.motor_matrix, float)
    added = N.T @ (0.4 * N @ ddq + 0.3 * N @ dq)
    assert np.allclose(tau, long.inverse_dynamics(q, dq, ddq) + added, rtol=1e-9, atol=1e-8)
    assert np.allclose(robot.forward_dynamics(q, dq, tau), ddq, rtol=1e-4, atol=1e-5)
    small = kt.robots.planar_2r()
    wrist = small.with_motors({"m": kt.Motor({"joint1": 1, "joint2": -2}, 0.5, kt.Friction(0.3))})
    eq = kt.symbolic(wrist)
    difference = (eq.M - kt.symbolic(small).M).tolist()
    assert np.allclose(np.array(difference, float), 0.5 * np.array([[1, -2], [-2, 4]]))
    parts = wrist.explain([0.1, 0.2], [1, 0.5], [2, 1])
    assert np.allclose(parts.tau, wrist.inverse_dynamics([0.1, 0.2], [1, 0.5], [2, 1]))


XML = """
<mujoco><option gravity="0.3 -0.4 -9.81" timestep="1e-4"/><worldbody>
<body name="a"><joint name="j1" axis="0 1 0" damping="0.1" armature="0.01"/>
  <geom size="0.05" pos="0.2 0 0" mass="2"/>
  <body name="b" pos="0.4 0 0"><joint name="j2" axis="0 0 1"/>
    <geom size="0.05" pos="0.1 0.02 0" mass="1"/>
    <body name="c" pos="0.2 0 0"><joint name="j3" type="slide" axis="1 0 0"/>
      <geom type="capsule" size="0.03 0.1" pos="0.1 0.1 0" mass="0.5"/></body></body></body>
</worldbody><tendon>
<fixed name="t2" armature="0.05" damping="0.3"><joint joint="j2" coef="1"/></fixed>
<fixed name="t3" armature="0.08" damping="0.2" stiffness="3" springlength="0.1">
  <joint joint="j2" coef="1"/><joint joint="j3" coef="-2"/></fixed>
<fixed name="t4" armature="0.03" {friction}><joint joint="j3" coef="1"/>
  <joint joint="j1" coef="0.7"/></fixed></tendon></mujoco>
"""


def test_fixed_tendons_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = XML.format(friction="")
    robot, compiled = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    same = kt.load_string(robot.to_mjcf(losses="error"))
    data = mujoco.MjData(compiled)
    for seed in range(3):
        q, dq, tau = np.random.default_rng(seed).normal(size=(3, 3))
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, tau
        mujoco.mj_forward(compiled, data)
        for found in (robot, same):
            assert np.allclose(found.forward_dynamics(q, dq, tau), data.qacc, rtol=1e-9, atol=1e-9)
    dry = kt.load_string(XML.format(friction='frictionloss="0.6"'))
    assert dry.model.motors[-1].friction.coulomb == (0.6, 0.6)
    with pytest.raises(KinetreeError, match=r"motors 't2' and 't3', but for readers"):
        robot.to_urdf(losses="error")


def sliders(coupled: bool, friction: list[kt.Friction]) -> kt.Robot:
    """Two masses on one rail, the second carried by the first or by the base.

    Carried by the first, its place is q1 + q2, which a motor turns with. Both are the same machine.
    """
    builder = kt.Builder("rail", gravity=(0.7, 0, 0)).link("base")
    builder.link("one", m=1.3, I_com=np.eye(3)).link("two", m=0.8, I_com=np.eye(3))
    pairs = {"one": "base", "two": "one" if coupled else "base"}
    for (name, parent), rubbing in zip(pairs.items(), friction, strict=True):
        own = kt.Friction() if coupled else rubbing
        armature = 0 if coupled else 0.4
        builder.joint(
            name, "prismatic", parent, name, axis=(1, 0, 0), friction=own, armature=armature
        )
    if not coupled:
        return builder.build()
    rows = {"m1": {"one": 1}, "m2": {"one": 1, "two": 1}}
    motors = {k: kt.Motor(row, 0.4, x) for (k, row), x in zip(rows.items(), friction, strict=True)}
    return builder.build().with_motors(motors)


@pytest.mark.parametrize(
    "method", ["rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler"]
)
def test_dry_friction_holds_the_motor_and_not_the_joints(method: str) -> None:
    friction = [kt.Friction(0.3, 0.6), kt.Friction(0.1, 1.2, stribeck=kt.Stribeck(1.5, 0.1))]
    chain, apart = sliders(True, friction), sliders(False, friction)
    to_motors = np.array([[1.0, 0], [1, 1]])
    forces = np.random.default_rng(4).uniform(-3, 2, (40, 2))  # at the motors
    options = {"duration": 1.0, "dt": 2e-3, "method": method}
    run = chain.simulate([0, 0], [0.3, 0.1], tau=forces @ to_motors, **options)
    expected = apart.simulate([0, 0], [0.3, 0.4], tau=forces, **options)
    rates = np.asarray(expected.dq)
    assert np.allclose(np.asarray(run.dq) @ to_motors.T, rates, atol=1e-9)
    assert np.allclose(np.asarray(run.q) @ to_motors.T, expected.q, atol=1e-9)
    held = np.abs(rates[-1]) < 1e-12
    assert {tuple(row) for row in held.tolist()} == {(a, b) for a in (0, 1) for b in (0, 1)}
    assert np.allclose(chain.motor_forces(forces @ to_motors), forces)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_energy_falls_by_what_the_motors_rub(method: str) -> None:
    robot, _ = geared(2, SMOOTH, 4)
    robot = robot.with_friction({x.name: kt.Friction() for x in robot.model.joints})
    options = {"duration": 0.3, "dt": 1e-3, "limits": "ignore", "method": method}
    run = robot.simulate(robot.random(rng=1), np.ones(robot.n), **options)
    energy = np.asarray(robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q))
    power = np.sum(run.dq * robot.friction_forces(run.dq), axis=-1)
    lost = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * 1e-3)])
    assert lost[-1] > 0
    assert np.allclose(energy + lost, energy[0], atol=1e-3 * lost[-1])


def test_parts_of_a_robot_keep_them() -> None:
    robot, _ = geared(5, SMOOTH)
    first = robot.model.motors[2]
    held = robot.model.coordinate_names[first.coords[0]]
    locked = robot.lock({held: 0.2})
    assert len(locked.model.motors[-1].dofs) == len(first.dofs) - 1
    both = kt.robots.planar_2r().attach(robot, prefix="r_")
    assert [x.name for x in both.model.motors] == ["r_m0", "r_m1", "r_m2"]
    assert not robot.with_motors(dict.fromkeys(("m0", "m1", "m2"))).model.motors


@pytest.mark.parametrize(
    ("motor", "kind", "words"),
    [
        (kt.Motor({"joint9": 1}), NameLookupError, "motor 'm' acts on 'joint9'"),
        (kt.Motor({}), InputError, "joints of motor 'm'"),
        (kt.Motor({"joint1": 0}), InputError, "in motor 'm' is 0"),
        (kt.Motor({"joint1": 1}, -1), InputError, "inertia of motor 'm' is -1"),
        (kt.Motor({"joint1": 1}, 1, kt.Friction(-1)), InputError, "viscous friction of motor 'm'"),
        (kt.Motor({"joint1": 1}, 1, kt.Friction(load=0.1)), InputError, "load friction"),
        (kt.Friction(), InputError, r"expected a record Motor\(...\)"),
    ],
)
def test_what_is_wrong_is_said(motor: object, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        kt.robots.planar_2r().with_motors({"m": motor})


def test_forces_of_motors_need_a_matrix_of_full_rank() -> None:
    robot = kt.robots.planar_2r()
    pair = {"joint1": 1, "joint2": 2}
    with pytest.raises(ModelError, match=r"1 motors drive 2 joints \(joint1, joint2\)"):
        robot.with_motors({"m": kt.Motor(pair)}).motor_forces([1, 2])
    thirds = {name: c / 3 for name, c in pair.items()}
    with pytest.raises(ModelError, match="angle of motor 'n' follows from those"):
        robot.with_motors({"m": kt.Motor(pair), "n": kt.Motor(thirds)}).motor_forces([1, 2])
    wrist = robot.with_motors({"m": kt.Motor(pair), "n": kt.Motor({"joint1": 1})})
    with pytest.raises(ShapeError, match="tau has shape"):
        wrist.motor_forces([1, 2, 3])
    assert np.allclose(wrist.motor_forces([[5, 4], [0, 2]]), [[2, 3], [1, -1]])


def test_where_a_motor_cannot_be_held() -> None:
    dry = kt.Motor({"joint1": 1, "joint2": 2}, 0.1, kt.Friction(0, 1))
    robot = kt.robots.planar_2r().with_motors({"m": dry})
    with pytest.raises(InputError, match="adaptive method 'auto' cannot hold motor 'm'"):
        robot.simulate([0, 0], duration=0.1)
    with pytest.raises(InputError, match="sensitivities cannot hold motor 'm'"):
        robot.sensitivities([0, 0], duration=0.1, dt=0.01)
    rubbing = robot.with_friction(kt.Friction(0, 1))
    with pytest.raises(InputError, match="more directions than they have"):
        rubbing.simulate([0, 0], duration=0.1, dt=0.01, method="rk4")
    loaded = robot.with_friction({"joint1": kt.Friction(load=0.1)})
    with pytest.raises(InputError, match="load friction"):
        loaded.simulate([0, 0], duration=0.1, dt=0.01, method="rk4")

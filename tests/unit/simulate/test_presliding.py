"""Friction with a memory, LuGre and Dahl: simulations beside references of their own."""

import math

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.joints.presliding import bend
from kinetree.engine import Port, interpret, jacobian, trace
from kinetree.scalars import sin
from precise_robots import precise

S, C, COULOMB, STATIC, SPEED, VISCOUS = 1e5, 316.0, 1.0, 1.5, 1e-3, 0.4  # Canudas and others, 1995
LUGRE = kt.Friction(
    VISCOUS, COULOMB, stribeck=kt.Stribeck(STATIC, SPEED), presliding=kt.LuGre(S, C)
)

FREE = kt.Friction()
SOFT = kt.Friction(0.1, 0.5, presliding=kt.LuGre(200.0, 1.0))


def block(friction=LUGRE, **more):
    """A mass of 1 kg that slides without gravity."""
    made = kt.Builder("block", gravity=(0, 0, 0)).link("base").link("block", m=1)
    axis = {"axis": (1, 0, 0), "friction": friction, **more}
    return made.joint("slide", "prismatic", "base", "block", **axis).build()


def arm(first=LUGRE, second=FREE):
    """Two links that swing."""
    I = np.diag([0.02, 0.02, 0.01])
    made = kt.Builder("arm").link("base").link("upper", 1, (0, 0, -0.3), I)
    made.link("lower", 0.5, (0, 0, -0.2), I / 2)
    made.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0), friction=first)
    made.joint(
        "knee", "revolute", "upper", "lower", at=(0, 0, -0.5), axis=(0, 1, 0), friction=second
    )
    return made.build()


def small_steps(force, duration, every, h=2e-6):
    """Explicit Euler steps of a mass of 1 kg: x, v and z at every so many steps."""
    x = v = z = 0.0
    rows = []
    for k in range(round(duration / h) + 1):
        if k % every == 0:
            rows.append((x, v, z))
        level = COULOMB + (STATIC - COULOMB) * math.exp(-((v / SPEED) ** 2))
        rate = v - S * abs(v) * z / level
        a = force(k * h, x, v) - S * z - C * rate - VISCOUS * v
        x, v, z = x + h * v, v + h * a, z + h * rate
    return np.array(rows).T


@pytest.mark.parametrize(
    ("method", "dt", "error"),
    [
        ("dop853", 1e-2, 1e-4), ("radau", 1e-2, 1e-4), ("auto", 1e-2, 1e-4), ("rk4", 1e-4, 1e-4),
        ("semi_implicit_euler", 1e-4, 2e-3), ("euler", 1e-4, 5e-3), ("implicit", 1e-4, 5e-3),
        ("implicitfast", 1e-4, 5e-3), ("implicit", 1e-3, 2e-2),
    ],
)  # fmt: skip
def test_every_method_follows_small_steps_through_breakaway_and_reversals(method, dt, error):
    def force(t, *_):
        return 1.45 * math.sin(4 * math.pi * t)

    x, _, z = small_steps(force, 0.5, 5000)
    motion = block().simulate(
        [0], duration=0.5, dt=dt, method=method, tau=lambda t: [1.45 * sin(4 * math.pi * t)]
    )
    every = round(1e-2 / dt)
    assert np.abs(motion.q[::every, 0] - x).max() < error * np.abs(x).max()
    state = motion.meta["friction_state"]["slide"][::every]
    assert np.abs(state - z).max() < 10 * error * np.abs(z).max()
    assert motion.tau[:, 0] == pytest.approx(1.45 * np.sin(4 * np.pi * motion.t))  # of the drive


def test_long_implicit_steps_stay_bounded():
    """sigma_0 dt / sqrt(m) is 3: explicit steps would blow up."""
    motion = block().simulate([0], [1.0], duration=4, dt=1e-2, method="implicit")
    z = motion.meta["friction_state"]["slide"]
    assert np.abs(z).max() <= STATIC / S and np.abs(motion.dq[-1]) < 1e-6
    assert motion.q[-1, 0] == pytest.approx(
        block().simulate([0], [1.0], duration=4).q[-1, 0], rel=0.02
    )


def test_a_mass_on_a_belt_sticks_and_slips():
    """Canudas and others, fig. 7: a spring of 2 N/m is pulled at 0.1 m/s."""

    def force(t, x, v):
        return 2.0 * (0.1 * t - x)

    x, v, _ = small_steps(force, 20, 5000, h=2e-5)
    motion = block().simulate(
        [0], duration=20, dt=0.1, method="auto", tau=lambda t, q, dq: [2.0 * (0.1 * t - q[0])]
    )
    stuck = np.abs(motion.dq[:, 0]) < 1e-3
    assert 0.5 < stuck.mean() < 0.95 and np.sum(np.diff(stuck.astype(int)) == -1) == 2
    assert np.abs(motion.q[:, 0] - x).max() < 2e-3 and np.abs(v).max() > 0.2


def test_a_slow_pull_breaks_away_at_the_static_friction():
    motion = block().simulate([0], duration=1.6, dt=1e-3, method="radau", tau=lambda t: [t])
    before = motion.t < 0.97 * STATIC
    assert np.abs(motion.q[before, 0]).max() < 10 * STATIC / S  # it creeps on bent bristles
    assert motion.dq[motion.t > 1.01 * STATIC, 0].min() > 1e-3


@pytest.mark.parametrize("exponent", [1, 2, 1.5])
def test_dahl_friction_follows_its_hysteresis_loop(exponent):
    """Between reversals friction is a function of position in closed form."""
    law = kt.Friction(0, 2.0, presliding=kt.Dahl(400.0, exponent))
    motion = block(law).simulate(
        [0], duration=3, dt=2e-3, method="dop853", tau=lambda t: [2.2 * sin(3 * t)]
    )
    x, b = motion.q[:, 0], 400.0 * motion.meta["friction_state"]["slide"]
    way = np.sign(motion.dq[:, 0])
    turns = np.flatnonzero(np.diff(way[1:])) + 2
    assert len(turns) >= 2
    for first, last in zip(turns, [*turns[1:], len(x)], strict=False):
        part = slice(first, last - 1)
        r0, s = 1 - way[first] * b[first] / 2, 200 * np.abs(x[part] - x[first])
        r = r0 * np.exp(-s)
        if exponent != 1:
            p = exponent - 1
            r = (r0**-p + p * s) ** (-1 / p)
        assert way[first] * 2 * (1 - r) == pytest.approx(b[part], abs=1e-5)


def test_energy_with_that_of_bristles_never_grows():
    law = kt.Friction(0.02, 0.5, stribeck=kt.Stribeck(0.8, 0.1), presliding=kt.LuGre(100.0, 0.5))
    robot = arm(law, kt.Friction(0, 0.2, presliding=kt.Dahl(100.0)))
    motion = robot.simulate([1.5, -0.5], duration=1, dt=5e-3)
    state = motion.meta["friction_state"]
    energy = [robot.kinetic_energy(q, dq) + robot.potential_energy(q)
              for q, dq in zip(motion.q, motion.dq, strict=True)]  # fmt: skip
    energy = np.array(energy) + 50 * state["hip"] ** 2 + 50 * state["knee"] ** 2
    assert np.diff(energy).max() < 1e-7 and energy[0] - energy[-1] > 0.5


def test_quantities_have_the_friction_of_steady_sliding():
    robot, plain = block(), block(kt.Friction(VISCOUS, COULOMB, stribeck=LUGRE.stribeck))
    assert robot.inverse_dynamics([0], [0.3], [2]) == plain.inverse_dynamics([0], [0.3], [2])
    assert robot.friction_forces([-0.002]) == plain.friction_forces([-0.002])
    sliding = {"tau": robot.friction_forces([0.3]), "friction_state": [COULOMB / S]}
    motion = robot.simulate([0], [0.3], duration=0.5, **sliding)
    assert motion.dq[-1, 0] == pytest.approx(0.3, abs=1e-9)


def test_a_run_goes_on_from_its_friction_state():
    options = {"dt": 1e-3, "method": "rk4", "tau": [1.3]}
    robot = block(kt.Friction(0.4, 1.0, presliding=kt.LuGre(1e4, 100.0)))
    whole = robot.simulate([0], duration=0.2, **options)
    half = robot.simulate([0], duration=0.1, **options)
    state = [half.meta["friction_state"]["slide"][-1]]
    rest = robot.simulate(half.q[-1], half.dq[-1], duration=0.1, friction_state=state, **options)
    assert rest.q[-1] == pytest.approx(whole.q[-1], rel=1e-12)


@pytest.mark.parametrize("h", [None, 1e-3])
def test_slopes_of_bristles_against_fifty_digits(h):
    law = kt.Friction(
        0, (1.0, 0.8), stribeck=kt.Stribeck((1.5, 1.2), 0.3), presliding=kt.LuGre(300, 5)
    )
    model = arm(law, kt.Friction(0, 0.5, presliding=kt.Dahl(100.0, 1.5))).model

    def bent(dq, z, model=model):
        found = bend(model, dq, z, h)
        return np.concatenate([found.forces, found.rates])

    graph = trace(bent, [Port("dq", (2,)), Port("z", (2,))], [("f", ())])
    state = np.array([0.21, -0.34]), np.array([1.3e-3, 2.1e-3])
    slopes = interpret(jacobian(graph), *state)
    with mpmath.workdps(50):
        exact, step = precise(model), mpmath.mpf(10) ** -18
        at = [np.array([mpmath.mpf(x) for x in part], object) for part in state]
        for k, slope in enumerate(slopes):
            for j in range(2):
                unit = np.eye(2, dtype=int)[j] * step
                sides = [bent(*at[:k], at[k] + s * unit, *at[k + 1 :], exact) for s in (1, -1)]
                by = ((sides[0] - sides[1]) / (2 * step)).astype(float)
                assert slope[:, j] == pytest.approx(by, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_files_keep_the_friction_state(tmp_path, ending):
    robot = arm(SOFT, SOFT)
    run = robot.simulate([0.3, 0.1], duration=0.05, dt=1e-3, method="rk4", limits="ignore")
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    getattr(kt.motion, f"write_{ending}")(run, path)
    again = kt.motion.read(path, robot)
    assert {*again.meta["friction_state"]} == {"hip", "knee"}
    for name, z in run.meta["friction_state"].items():
        assert (again.meta["friction_state"][name] == z).all()
    state = [z[-1] for z in again.meta["friction_state"].values()]
    options = {"duration": 0.01, "dt": 1e-3, "method": "rk4", "limits": "ignore"}
    ends = [
        robot.simulate(x.q[-1], x.dq[-1], friction_state=state, **options).q[-1]
        for x in (run, again)
    ]
    assert (ends[0] == ends[1]).all()


def test_a_batch_keeps_its_friction_states_and_is_drawn(tmp_path):
    robot = arm(SOFT)
    q0 = np.array([[0.3, 0.1], [0.5, 0.2], [-0.4, 0.3]])
    run = robot.simulate(q0, duration=0.05, dt=1e-3, method="rk4", limits="ignore")
    kt.motion.write_npz(run, tmp_path / "runs.npz")
    again = kt.motion.read(tmp_path / "runs.npz", robot)
    assert (again.meta["friction_state"]["hip"] == run.meta["friction_state"]["hip"]).all()
    one = run.rollout(1)
    assert (one.meta["friction_state"]["hip"] == run.meta["friction_state"]["hip"][:, 1]).all()
    kt.motion.write_csv(one, tmp_path / "one.csv")
    assert "friction_state:hip" in (tmp_path / "one.csv").read_text().splitlines()[0]
    for motion in (run, one):
        assert "deflection of bristles" in {x.title for x in kt.motion.plot(motion).charts}
    with pytest.raises(kt.KinetreeError, match="needs a simulation of friction with presliding"):
        smooth = arm(FREE).simulate([0.1, 0.1], duration=0.01)
        kt.motion.plot(smooth, panels=["friction_state"])


def test_rollouts_mix_joints_that_stick_and_joints_that_bend():
    robot = arm(kt.Friction(0.1, 0.5, presliding=kt.LuGre(200.0, 1.0)), kt.Friction(0.1, 0.3))
    coulomb = np.array([0.3, 0.6])
    friction = np.zeros((2, 2, 4))
    friction[..., :2], friction[:, 0, 2:], friction[:, 1, 2:] = 0.1, coulomb[:, None], 0.3
    q0 = [1.0, 0.5]
    for method, dt, error in (("auto", 0.1, 1e-6), ("rk4", 1e-3, 1e-3)):
        both = robot.simulate(
            q0, duration=1, dt=dt, method=method, parameters={"friction": friction}
        )
        for k, level in enumerate(coulomb):
            law = kt.Friction(0.1, level, presliding=kt.LuGre(200.0, 1.0))
            one = arm(law, kt.Friction(0.1, 0.3)).simulate(q0, duration=1, dt=dt, method=method)
            assert both.q[-1, k] == pytest.approx(one.q[-1], abs=error)


def test_sensitivities_are_differences_of_motions():
    robot = arm(kt.Friction(0.4, 1.0, presliding=kt.LuGre(1e3, 20.0)), kt.Friction(0.1))
    run = {
        "tau": [0, 1.5],
        "duration": 0.3,
        "dt": 0.1,
        "method": "dop853",
        "rtol": 1e-10,
        "atol": 1e-12,
    }
    slopes = robot.sensitivities([0.8, 0.2], [0.1, 3.0], wrt=("q0", "friction"), **run)
    friction = np.array([[0.4, 0.4, 1, 1], [0.1, 0.1, 0, 0]])

    def end(first=0.0, level=0.0):
        changed = friction + level * np.eye(2)[:, :1] * [0, 0, 0, 1]
        options = {"parameters": {"friction": changed}} if level else {}
        return robot.simulate([0.8 + first, 0.2], [0.1, 3.0], **run, **options).q[-1]

    h = 1e-5
    by_q0 = (end(h) - end(-h)) / (2 * h)
    assert slopes.by("q0")[-1][:2, 0] == pytest.approx(by_q0, abs=1e-6)
    by_level = (end(level=h) - end(level=-h)) / (2 * h)
    assert slopes.by("friction")[-1][:2].reshape(2, 2, 4)[:, 0, 3] == pytest.approx(
        by_level, abs=1e-6
    )


METHODS = "euler rk4 semi_implicit_euler implicit implicitfast".split()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("knee", [kt.Friction(0.1), kt.Friction(0.1, 0.2)])
def test_sensitivities_of_fixed_steps_are_differences_of_their_motions(method, knee):
    law = kt.Friction(0.4, 1.0, stribeck=kt.Stribeck(1.4, 0.3), presliding=kt.LuGre(300.0, 5.0))
    robot = arm(law, knee)
    run = {"duration": 0.1, "dt": 1e-3, "method": method, "limits": "ignore"}

    def end(q=0.0, dq=0.0, tau=0.0):
        at = [0.8 + q, 0.2], [0.1 + dq, 3.0]
        return robot.simulate(*at, tau=[tau, 1.5], **run)

    slopes = robot.sensitivities(
        [0.8, 0.2], [0.1, 3.0], tau=[0, 1.5], wrt=("q0", "dq0", "tau"), **run
    )
    for key, name in (("q", "q0"), ("dq", "dq0"), ("tau", "tau")):
        sides = [end(**{key: s * 1e-6}) for s in (1, -1)]
        rows = [np.concatenate([x.q[-1], x.dq[-1]]) for x in sides]
        by = (rows[0] - rows[1]) / 2e-6
        assert slopes.by(name)[-1][:, 0] == pytest.approx(by, rel=1e-5, abs=1e-7)


def test_an_elastic_joint_with_lugre_has_the_hysteresis_of_a_gear():
    """Slow torques on a held link: the deflection depends on the way, and stores no more."""
    gear = block(kt.Friction(), armature=1.0).with_elastic_joint("slide", 2000.0, motor_inertia=0.1)
    law = kt.Friction(0, 3.0, presliding=kt.LuGre(3000.0, 20.0))
    gear = gear.lock({"slide": 0}).with_friction({"slide_elastic": law})
    period = 2.0
    motion = gear.simulate(
        [0], duration=2 * period, dt=1e-2, method="radau", tau=lambda t: [10 * sin(np.pi * t)]
    )
    cycle = motion.t >= period - 1e-9
    loss = np.trapezoid(motion.tau[cycle, 0], motion.q[cycle, 0])
    assert 0 < loss < 4 * 3.0 * np.abs(motion.q).max()  # within that of dry friction
    up, down = np.interp([period, 1.5 * period], motion.t, motion.q[:, 0])
    assert up == pytest.approx(-down, abs=1e-4) and abs(up) > 1e-4  # at zero torque


def test_a_law_in_python_moves_the_same():
    robot = block(kt.Friction(0.4, 1.0, presliding=kt.LuGre(1e4, 100.0)))
    options = {"duration": 0.05, "dt": 1e-3, "method": "rk4"}
    compiled = robot.simulate([0], controller=lambda t, q, dq: [1.3 - q[0]], **options)
    slow = robot.simulate([0], controller=kt.python(lambda t, q, dq: [1.3 - q[0]]), **options)
    assert slow.q == pytest.approx(compiled.q, rel=1e-12)
    assert slow.meta["friction_state"]["slide"][-1] > 0
    with pytest.raises(kt.KinetreeError, match="presliding needs"):
        robot.simulate([0], controller=kt.python(lambda t, q, dq: [1.3 - q[0]]),
                       **options | {"method": "implicit"})  # fmt: skip


def test_a_mechanism_moves_alike_with_all_methods():
    names = kt.robots.four_bar().joint_names
    laws = [kt.Friction(0.05, 0.3, presliding=kt.LuGre(300.0, 2.0)), kt.Friction(0.01, 0.02)]
    robot = kt.robots.four_bar().with_friction(dict(zip(names, laws, strict=False)))
    q0 = robot.neutral()
    motion = robot.simulate(q0, duration=0.3, dt=0.1, limits="ignore")
    assert np.abs(motion.q[-1] - q0).max() > 0.03
    for method, dt, error in (("rk4", 2e-4, 1e-6), ("implicit", 2e-4, 1e-3)):
        other = robot.simulate(q0, duration=0.3, dt=dt, method=method, limits="ignore")
        assert other.q[-1] == pytest.approx(motion.q[-1], abs=error)


def test_followers_and_balls_have_bristles_of_their_own():
    law = kt.Friction(0.05, 0.3, presliding=kt.LuGre(300.0, 2.0))
    made = kt.Builder("pair").link("base").link("a", 1, (0, 0, -0.3)).link("b", 0.5, (0, 0, -0.2))
    made.joint("lead", "revolute", "base", "a", axis=(0, 1, 0), friction=law)
    mimic = kt.Mimic("lead", -2, 0.1)
    made.joint("follow", "revolute", "base", "b", axis=(0, 1, 0), friction=law, mimic=mimic)
    robot = made.build()
    motion = robot.simulate([1.0], duration=0.5, dt=0.01)
    z = motion.meta["friction_state"]
    assert list(z) == ["lead", "follow"] and z["lead"][5] * z["follow"][5] < 0
    energy = [robot.kinetic_energy(q, dq) + robot.potential_energy(q)
              for q, dq in zip(motion.q, motion.dq, strict=True)]  # fmt: skip
    assert np.diff(np.array(energy) + 150 * (z["lead"] ** 2 + z["follow"] ** 2)).max() < 1e-7
    ball = kt.Builder("ball").link("base").link("a", 1, (0, 0, -0.3), np.diag([0.02, 0.03, 0.04]))
    motion = (
        ball.joint("hip", "spherical", "base", "a", friction=law)
        .build()
        .simulate([1, 0, 0, 0], [0.5, 2, 1], duration=0.1, dt=0.1)
    )
    assert list(motion.meta["friction_state"]) == ["hip.wx", "hip.wy", "hip.wz"]


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda: kt.Friction(presliding=kt.LuGre(1e4)), "needs Coulomb friction"),
        (lambda: kt.Friction(0, 1, presliding=kt.LuGre(0)), "stiffness .* above 0"),
        (lambda: kt.Friction(0, 1, presliding=kt.LuGre(1, -1)), "damping .* at least 0"),
        (lambda: kt.Friction(0, 1, presliding=kt.Dahl(1, 0.5)), "exponent .* at least 1"),
        (lambda: kt.Friction(0, 1, presliding=3.0), "expected a record LuGre"),
        (lambda: kt.Friction(0, 1, load=0.1, presliding=kt.LuGre(1)), "grows with its load"),
    ],
)
def test_wrong_laws_are_named(law, words):
    with pytest.raises(kt.KinetreeError, match=f"(?s)'slide'.*{words}|{words}.*'slide'|{words}"):
        block(law())


def test_what_knows_no_friction_state_refuses_it():
    robot = block()
    calls = [
        lambda: robot.step([0], [0], [0], dt=1e-3),
        lambda: robot.compile("step_rk4"),
        lambda: robot.sensitivities([0], duration=0.1, method="rk4", wrt="friction"),
        lambda: robot.with_drives({"slide": kt.Drive(efficiency=0.8)}),
        lambda: block(kt.Friction()).simulate([0], duration=0.1, friction_state=[0.0]),
        lambda: robot.simulate([0], duration=0.1, friction_state=[0.0, 0.0]),
        lambda: robot.simulate([0], duration=0.1, parameters={"friction": np.zeros((1, 4))}),
        lambda: robot.to_urdf(losses="error"),
    ]
    for call in calls:
        with pytest.raises(kt.KinetreeError, match=r"presliding|friction_state|LuGre friction of"):
            call()

"""Sensitivities: shapes, batches, controllers, friction, signals, costs, and what is refused."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.engine.kernels import free_values
from kinetree.errors import InputError, KinetreeError, ModelError, NameLookupError, ShapeError
from kinetree.scalars import cos, sin
from kinetree.simulate import SimulationError, event, signal

ARM = kt.robots.spatial_3r()
Q0, DQ0 = np.array([0.2, -1.2, 1.0]), np.array([0.4, -0.3, 0.5])
FAST = np.array([3.0, -2.5, 4.0])  # no joint comes to rest
SHORT = {"duration": 0.05, "dt": 0.005, "limits": "ignore"}
METHODS = {
    "rk4": {"method": "rk4", **SHORT},
    "dop853": {"method": "dop853", "rtol": 1e-11, "atol": 1e-12, **SHORT},
}
# Central differences of step h leave h^2 / 6 of third derivatives and the error of the runs / h:
# 1e-14 of rounding, and the tolerance of adaptive steps, whose lengths change with h.
DIFFERENCES = {"rk4": (1e-5, 1e-7), "dop853": (1e-4, 1e-6)}
both = pytest.mark.parametrize("method", METHODS)


def end(robot, method, q0=Q0, dq0=DQ0, **options):
    motion = robot.simulate(q0, dq0, **METHODS[method], **options)
    return np.concatenate([motion.q[-1], motion.dq[-1]])


def agrees(method, found, changed, v):
    """Whether a derivative along v is the difference of runs that were changed along v."""
    h, close = DIFFERENCES[method]
    wanted = (changed(h * v) - changed(-h * v)) / (2 * h)
    axes = found.ndim - 1
    along = np.tensordot(found, v, axes=axes)
    return np.abs(along - wanted).max() <= close * max(1.0, np.abs(wanted).max())


@both
def test_the_motion_is_the_simulation_itself(method):
    found = ARM.sensitivities(Q0, DQ0, **METHODS[method])
    motion = ARM.simulate(Q0, DQ0, **METHODS[method])
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(found.motion, name), getattr(motion, name)), name
    assert found.motion.meta == motion.meta and found.A.shape == (motion.meta["steps"], 6, 6)
    assert found.by("q0").shape == (11, 6, 3)
    assert np.array_equal(found.by("q0")[0], np.eye(6)[:, :3])
    assert np.array_equal(found.by("dq0")[0], np.eye(6)[:, 3:])


CONTROLLERS = {
    "PID, with a state of its own": controllers.PID(Q0 + 0.3, kp=0.5, kd=0.02, ki=1.0),
    "computed torque, with the robot's data": controllers.ComputedTorque(Q0 + 0.3, 100.0, 20.0),
    "a law": lambda t, q, dq: -0.02 * dq + sin(q) * t,
}


@both
@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_are_part_of_the_motion(name, method):
    law, rng = CONTROLLERS[name], np.random.default_rng(0)
    wrt = ("q0", "dq0", "tau", "mass", "gravity")
    found = ARM.sensitivities(Q0, DQ0, controller=law, wrt=wrt, **METHODS[method])
    values = {"q0": Q0, "dq0": DQ0, "tau": np.zeros(3)}
    for key in wrt:
        x0 = values[key] if key in values else free_values(ARM.model, key)

        def changed(dx, key=key, x0=x0):
            options = {key: x0 + dx} if key in values else {"parameters": {key: x0 + dx}}
            return end(ARM, method, controller=law, **options)

        assert agrees(method, found.by(key)[-1], changed, rng.normal(size=np.shape(x0))), key


def test_a_controller_that_knows_the_robot_follows_all_its_parameters():
    law = CONTROLLERS["computed torque, with the robot's data"]
    found = ARM.sensitivities(Q0, DQ0, controller=law, wrt="parameters", **SHORT).by("parameters")
    single = ARM.sensitivities(Q0, DQ0, controller=law, wrt="inertia", **SHORT).by("inertia")
    # pi has Izz about the link's origin, which moves one to one with I_com
    pi = found[..., :30].reshape(*found.shape[:2], 3, 10)
    assert np.allclose(pi[..., 9], single[..., 2, 2], rtol=1e-7, atol=1e-9)
    crossed = single[..., 0, 1] + single[..., 1, 0]
    assert np.allclose(pi[..., 5], crossed, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", ["hold", "linear"])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_signals_are_differentiated_by_their_samples(kind, method):
    rng = np.random.default_rng(1)
    t, values = [0, 0.012, 0.02, 0.2], rng.normal(size=(4, 3)) * 5
    options = {**SHORT, "method": method}
    found = ARM.sensitivities(Q0, DQ0, tau=signal(t, values, kind), wrt="tau", **options).by("tau")
    assert found.shape == (11, 6, 4, 3)

    def changed(dv):
        motion = ARM.simulate(Q0, DQ0, tau=signal(t, values + dv, kind), **options)
        return np.concatenate([motion.q[-1], motion.dq[-1]])

    assert agrees("rk4", found[-1], changed, rng.normal(size=(4, 3)))
    if kind == "hold":  # a sample has no effect before its time, and the last one none at all
        assert not found[2, :, 1:].any() and not found[-1, :, 3].any()


@both
def test_samples_together_are_a_constant_also_for_signals_of_other_lengths(method):
    """What was compiled for one signal serves the next, whose samples are its own."""
    constant = ARM.sensitivities(Q0, DQ0, tau=np.ones(3), wrt="tau", **METHODS[method]).by("tau")
    for times in ([0.0, 0.01, 0.02, 0.03], [0.0, 0.02], [0.1]):
        for kind in ("hold", "linear"):
            held = signal(times, np.ones((len(times), 3)), kind)
            by = ARM.sensitivities(Q0, DQ0, tau=held, wrt="tau", **METHODS[method]).by("tau")
            assert by.shape == (11, 6, len(times), 3)
            assert np.abs(by.sum(-2) - constant).max() < 1e-7 * np.abs(constant).max()


def test_wrenches_that_depend_on_the_motion():
    def drag(t, q, dq):
        return np.concatenate([np.zeros((2, 6), int), [[0, 0, 0, dq[0] * -2, cos(q[1]), t]]])

    found = ARM.sensitivities(Q0, DQ0, F_ext=drag, **SHORT).by("dq0")[-1]
    v = np.linspace(-1, 1, 3)
    assert agrees("rk4", found, lambda d: end(ARM, "rk4", dq0=DQ0 + d, F_ext=drag), v)
    by_load = ARM.sensitivities(Q0, DQ0, wrt="F_ext", **SHORT).by("F_ext")[-1]
    W = np.random.default_rng(2).normal(size=(3, 6))
    assert agrees("rk4", by_load, lambda d: end(ARM, "rk4", F_ext=d), W)


@both
def test_batches_are_single_motions_side_by_side(method):
    rng = np.random.default_rng(3)
    q0, dq0 = Q0 + rng.normal(size=(3, 1, 3)) * 0.1, DQ0 * np.array([[1.0], [8.0]])
    tau = signal([0, 0.011, 0.03], rng.normal(size=(3, 2, 3)), "linear")
    mass = ARM.model.m * rng.uniform(0.8, 1.2, (3, 2, 3))
    options = {"wrt": ("q0", "tau", "mass", "com"), **METHODS[method]}
    found = ARM.sensitivities(q0, dq0, tau=tau, parameters={"mass": mass}, **options)
    slopes = rng.normal(size=(*found.motion.q.shape[:-1], 6))
    back = found.gradient(slopes)
    for i, j in ((0, 1), (2, 0)):
        single = ARM.sensitivities(
            q0[i, 0], dq0[j], tau=signal(tau.t, tau.values[:, j], "linear"),
            parameters={"mass": mass[i, j]}, **options,
        )  # fmt: skip
        single_back = single.gradient(slopes[:, i, j])
        for name in options["wrt"]:
            a, b = found.by(name)[:, i, j], single.by(name)
            assert a.shape == b.shape
            assert np.abs(a - b).max() <= 1e-12 * np.abs(b).max(), name
            assert np.allclose(back[name][i, j], single_back[name], rtol=1e-11, atol=1e-12), name


def rubbing(*names):
    free = ARM.with_gravity((0, 0, 0))
    return free.with_friction({name: kt.Friction(0.01, coulomb=0.03) for name in names})


@both
def test_coulomb_friction_that_slides_is_differentiated(method):
    robot = rubbing(*ARM.joint_names)
    found = robot.sensitivities(Q0, FAST, wrt=("dq0", "friction"), **METHODS[method])
    data = free_values(robot.model, "friction")

    def changed(d):
        return end(robot, method, dq0=FAST, parameters={"friction": data + d})

    assert agrees(method, found.by("friction")[-1], changed, np.linspace(-1, 1, 12).reshape(3, 4))


def test_some_joints_may_rub_and_others_not():
    robot = rubbing(ARM.joint_names[2])
    adaptive, fixed = (
        robot.sensitivities(Q0, FAST, wrt=("dq0", "parameters"), **{**METHODS[method], "dt": dt})
        for method, dt in (("dop853", 0.05), ("rk4", 5e-4))
    )
    for name in ("dq0", "parameters"):
        a, b = adaptive.by(name)[-1], fixed.by(name)[-1]
        assert np.abs(a - b).max() < 1e-6 * np.abs(b).max(), name


@both
def test_joints_that_dry_friction_holds_or_stops_are_refused(method):
    robot = rubbing(*ARM.joint_names)
    for dq0 in (np.zeros(3), np.full(3, 0.005)):
        with pytest.raises(InputError, match="stands still or is stopped by its Coulomb"):
            robot.sensitivities(Q0, dq0, tau=robot.gravity_forces(Q0), **METHODS[method])


@both
def test_friction_of_a_joint_at_rest_has_no_slope_but_all_else_has(method):
    found = ARM.sensitivities(Q0, wrt=("q0", "parameters"), **METHODS[method])
    names = [x.kind for x in kt.algorithms.parameter_list(ARM.model)]
    coulomb = [x.startswith("coulomb") for x in names]
    assert np.array_equal(np.isnan(found.by("parameters")[-1, 0]), coulomb)
    assert np.isfinite(found.by("q0")).all()
    if method == "dop853":
        with pytest.raises(InputError, match=r'method="rk4" passes through rest'):
            ARM.sensitivities(Q0, wrt="friction", **METHODS[method])
        return
    by = ARM.sensitivities(Q0, wrt="friction", **METHODS[method]).by("friction")
    assert np.isfinite(by[..., :2]).all() and np.isnan(by[-1, :, :, 2:]).all()


def test_events_are_noted_and_a_terminal_one_ends_the_motion():
    def passes(t, q, dq):
        return q[0] - 0.21

    options = METHODS["dop853"]
    plain = ARM.sensitivities(Q0, DQ0, **options)
    noted = ARM.sensitivities(Q0, DQ0, events=passes, **options)
    assert len(noted.motion.meta["events"]) == 1
    assert np.array_equal(noted.by("q0"), plain.by("q0"))
    ended = ARM.sensitivities(Q0, DQ0, events=event(passes, terminal=True), **options)
    count = len(ended.motion)
    assert 1 < count < len(plain.motion)
    assert np.array_equal(ended.by("q0"), plain.by("q0")[:count])
    wanted = np.einsum("ti,tij->j", np.ones((count, 6)), ended.by("q0"))
    assert np.allclose(ended.gradient(np.ones((count, 6)))["q0"], wanted, rtol=1e-12)


def test_costs_come_with_their_slopes():
    def final(q, dq):
        return (q - 1) @ (q - 1) + dq @ dq * 0.1

    def running(t, q, dq):
        return sin(q[0]) * dq[1] + t * dq @ dq

    def J(q0, tau):
        motion = ARM.simulate(q0, DQ0, tau=tau, **METHODS["rk4"])
        steps = zip(motion.t, motion.q[:-1], motion.dq[:-1], np.diff(motion.t), strict=False)
        total = sum(h * running(t, q, dq) for t, q, dq, h in steps)
        return np.array([final(motion.q[-1], motion.dq[-1]) + total])

    tau, v = np.linspace(-2, 2, 3), np.linspace(1, -1, 3)
    found = ARM.sensitivities(Q0, DQ0, tau=tau, wrt=("q0", "tau"), **SHORT)
    value, slopes = found.cost(final, running)
    assert value == pytest.approx(J(Q0, tau)[0], rel=1e-13)
    assert agrees("rk4", slopes["q0"][None], lambda d: J(Q0 + d, tau), v)
    assert agrees("rk4", slopes["tau"][None], lambda d: J(Q0, tau + d), v)


def test_newtons_steps_bring_a_swing_to_its_goal():
    """Forces over time that end at rest in a pose: exact slopes make errors fall quadratically."""
    robot = kt.robots.double_pendulum()
    t, values, goal = np.arange(20) * 0.05, np.zeros((20, 2)), np.array([0.5, 0.2, 0, 0])
    errors = []
    for _ in range(6):
        found = robot.sensitivities(
            [0.0, 0.0], tau=signal(t, values), duration=1.0, dt=0.025, wrt="tau"
        )
        error = np.concatenate([found.motion.q[-1], found.motion.dq[-1]]) - goal
        errors.append(np.linalg.norm(error))
        step = np.linalg.lstsq(found.by("tau")[-1].reshape(4, -1), -error)[0]
        values = values + step.reshape(values.shape)
    assert errors[-1] < 1e-12 < 0.1 < errors[0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"limits": "mind"}, "expected one of stop, record, ignore"),
        ({"method": "dop853", "rtol": -1.0}, "rtol is -1"),
        ({"max_step": 0.1}, "max_step is for adaptive methods"),
        ({"wrt": "friction_"}, "expected some of q0, dq0, tau"),
        ({"wrt": ()}, "wrt is empty"),
        ({"wrt": 5}, "wrt is 5; expected text in quotes or a list"),
        ({"events": lambda t, q, dq: q[0]}, "found by adaptive methods"),
        ({"wrt": ("q0", "q0")}, "twice"),
        ({"wrt": ("parameters", "mass")}, "among them"),
        ({"wrt": "parameters", "parameters": {"com": np.zeros((3, 3))}}, "among them"),
        ({"wrt": "tau", "tau": lambda t: np.zeros(3)}, "no numbers to differentiate by"),
        ({"tau": lambda t, q, dq: dq if q[0] > 0 else -dq}, "cannot be traced"),
        (
            {"tau": lambda t, q, dq: dq if q[0] > 0 else -dq, "method": "dop853"},
            "cannot be traced",
        ),
        ({"duration": 1e3, "dt": 1e-3, "wrt": "parameters"}, "Take fewer rollouts"),
        ({"duration": 2e4, "dt": 1e-3, "method": "dop853", "atol": 1e9}, "Take fewer rollouts"),
    ],
)
def test_what_has_no_derivative_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        ARM.sensitivities(Q0, DQ0, **{**SHORT, **options})


@both
@pytest.mark.filterwarnings("ignore:2 of 2 rollouts do not stay finite")
def test_a_rollout_that_ran_away_is_named_and_no_rollout_is_refused(method):
    dq0 = np.array([[0.0] * 3, [5.0] * 3])
    with pytest.raises(InputError, match=r"rollout \[1\] is not finite after t = "):
        ARM.sensitivities(Q0, dq0, tau=lambda t, q, dq: dq * dq * dq * 1e4, **METHODS[method])
    for run in (ARM.simulate, ARM.sensitivities):
        with pytest.raises(KinetreeError, match="give at least one state"):
            run(np.zeros((0, 3)), duration=0.1, method=method)


def test_robots_that_do_not_move_are_refused():
    still = kt.Builder("still").link("base").build()
    with pytest.raises(ModelError, match="no joint that moves"):
        still.sensitivities([], duration=1.0)


def pressed(**contacts):
    """An arm whose tip is 0.1 mm in the ground."""
    ground = kt.contacts.Plane((0, 0, 1), (0, 0, float(ARM.pose(Q0)[2, 3]) + 1e-4))
    tip = [kt.contacts.ContactPoint("tip", "tool")]
    return ARM.with_contacts(tip, ground, **({"compliance": 1e-4} | contacts))


def test_contacts_name_the_derivatives_that_they_do_not_have():
    soft = pressed()
    for options, text in (
        ({"method": "rk4"}, "expected one of semi_implicit_euler, implicit, implicitfast"),
        ({"method": "dop853"}, "expected one of semi_implicit_euler"),
        ({"wrt": "parameters"}, "a robot with contacts; ask for 'mass'"),
        ({"wrt": "friction"}, r"at a corner of its law.*robot\.with_friction"),
    ):
        with pytest.raises(InputError, match=text):
            soft.sensitivities(Q0, DQ0, **{**SHORT, **options})
    with pytest.raises(InputError, match=r"rigid contacts.*with_contacts\(feet, compliance=1e-6\)"):
        pressed(compliance=None).sensitivities(Q0, DQ0, **SHORT)
    assert soft.sensitivities(Q0, DQ0, **SHORT).motion.meta["method"] == "semi_implicit_euler"
    assert ARM.sensitivities(Q0, DQ0, **SHORT).mode_changes == {}


@pytest.mark.parametrize(("coulomb", "dq0"), [(0.03, FAST), (50.0, [0.4, -0.3, 0])])
def test_dry_friction_of_joints_is_solved_with_contacts(coulomb, dq0):
    """Joints that slide and one that its friction holds: the steps of both have derivatives."""
    rough = {x: kt.Friction(0.1, coulomb=0.03) for x in ARM.joint_names[:2]}
    rough[ARM.joint_names[2]] = kt.Friction(0.1, coulomb=coulomb)
    robot, dq0 = pressed().with_friction(rough), np.array(dq0)
    found = robot.sensitivities(Q0, dq0, wrt=("dq0", "mass"), **SHORT).by("mass")[-1]
    assert (coulomb > 1) == (not found[5].any())  # it is held

    def changed(d):
        motion = robot.simulate(Q0, dq0, parameters={"mass": ARM.model.m + d}, **SHORT)
        return np.concatenate([motion.q[-1], motion.dq[-1]])

    assert agrees("rk4", found, changed, np.array([0.5, -0.2, 0.3]))


def test_friction_given_to_a_robot_with_contacts_changes_no_derivative_where_it_is_zero():
    """Every joint may then have dry friction, of level zero: a corner of its law."""
    none, found = {"friction": np.zeros((3, 4))}, pressed().sensitivities(Q0, DQ0, **SHORT)
    given = pressed().sensitivities(Q0, DQ0, parameters=none, **SHORT)
    assert np.abs(given.A - found.A).max() < 1e-9 * np.abs(found.A).max()


CRANK = kt.robots.slider_crank()
TURNED = CRANK.project([1.0, -1.3, -0.1], keep=["crank"])
TURNING = CRANK.project_rates(TURNED, [3.0, 0, 0], keep=["crank"])


def test_constraints_name_the_derivatives_that_they_do_not_have():
    rough = CRANK.with_friction({"crank": kt.Friction(0.02, coulomb=0.05)})
    for method in ("rk4", "implicit"):
        with pytest.raises(InputError, match=r"joint 'crank' has dry friction.*method='dop853'"):
            rough.sensitivities(TURNED, TURNING, duration=0.05, dt=0.005, method=method)
    with pytest.raises(InputError, match=r"friction is given.*has constraints.*with_friction"):
        CRANK.sensitivities(TURNED, TURNING, wrt="friction", **SHORT)
    with pytest.raises(InputError, match=r"'parameters'.*implicit methods with a controller"):
        law = controllers.PD(TURNED, [5.0, 0, 0], [1.0, 0, 0])
        CRANK.sensitivities(
            TURNED, TURNING, wrt="parameters", controller=law, method="implicit", **SHORT
        )


def test_adaptive_steps_of_a_loop_with_dry_friction_that_slides():
    rough = CRANK.with_friction({"crank": kt.Friction(0.02, coulomb=0.05)})
    found = rough.sensitivities(TURNED, TURNING, wrt="mass", **METHODS["dop853"]).by("mass")[-1]

    def changed(d):
        return end(rough, "dop853", TURNED, TURNING, parameters={"mass": CRANK.model.m + d})

    assert agrees("dop853", found, changed, CRANK.model.m)


@pytest.mark.parametrize("method", ["rk4", "implicit", "dop853"])
def test_parameters_of_a_loop_are_its_masses(method):
    """pi is linear in the masses of links with given centres and inertias."""
    options = {"method": method, "duration": 0.05, "dt": 0.005}
    by_pi = CRANK.sensitivities(TURNED, TURNING, wrt="parameters", **options).by("parameters")
    by_mass = CRANK.sensitivities(TURNED, TURNING, wrt="mass", **options).by("mass")
    model = CRANK.model
    heavier = [model.replace(m=model.m + unit) for unit in np.eye(3)]
    pi = [np.asarray(kt.algorithms.parameters(x), float) for x in (*heavier, model)]
    along = np.array([x - pi[-1] for x in pi[:-1]]).T
    assert np.abs(by_pi @ along - by_mass).max() < 1e-11 * np.abs(by_mass).max()


def test_records_say_what_they_do_not_have():
    found = ARM.sensitivities(Q0, DQ0, wrt="q0", **SHORT)
    assert repr(found) == f"Sensitivities({ARM.name!r}, 10 steps, 0.05 s, by q0)"
    with pytest.raises(NameLookupError, match="only by q0"):
        found.by("tau")
    with pytest.raises(ShapeError, match=r"expected \(11, 6\)"):
        found.gradient(np.zeros((11, 3)))
    with pytest.raises(InputError, match="no parts"):
        found.cost()
    with pytest.raises(InputError, match="one number"):
        found.cost(final=lambda q, dq: q)
    with pytest.raises(InputError, match="cannot be traced"):
        found.cost(final=lambda q, dq: float(q[0]))
    limited = kt.robots.ur5e()
    with pytest.raises(SimulationError, match="beyond its limit"):
        limited.sensitivities(np.zeros(6), np.full(6, 20.0), duration=1.0, dt=0.01)

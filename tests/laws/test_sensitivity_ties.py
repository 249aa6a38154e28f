"""Derivatives of motions with compliant contacts and with closed loops, in fifty digits.

Every step is that of the plain algorithms on numbers of fifty digits, 50 of them one after the
other. Steps agree to rounding, 1e-15, which a motion magnifies by the size of its derivatives.
"""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank, slider_crank_position, tied_robot
from kinetree import algorithms
from kinetree.algorithms.stiction import without_dry_friction
from kinetree.contacts import ContactPoint, Plane
from kinetree.engine.kernels.free import free_values, with_free
from precise_robots import H, numbers, precise
from robot_states import relative

STEPS, DT = 50, 0.002
ACCURACY = 1e-11
EULER = "semi_implicit_euler"
STATE = ("q0", "dq0", "tau")
CONTACT_DATA = (*STATE, "mass", "contact_friction", "ground")


def differentiated(robot, q, dq, tau, names, method, steps=STEPS):
    return robot.sensitivities(
        q, dq, tau=tau, duration=steps * DT, dt=DT, method=method, wrt=names, limits="ignore"
    )


class Exact:
    """The same motion in fifty digits, with its inputs moved."""

    def __init__(self, robot, found, tau, method):
        self.own, self.model = robot.model, precise(robot.model)
        self.tau, self.method, self.motion = tau, method, found.motion
        self.free = [x.name for x in found.inputs if x.name not in STATE]
        shapes = {x.name: x.shape for x in found.inputs}
        self.zeros = {name: np.zeros(shapes[name]) for name in shapes}
        self.zeros |= {name: np.zeros(robot.n) for name in STATE}
        self.lengths = [mpmath.mpf(h) for h in np.diff(found.motion.t)]

    def end(self, size, along):
        """(q, dq) after the inputs moved by size times `along`."""
        moved = {name: size * numbers(x) for name, x in along.items()}
        free = [name for name in self.free if np.any(along[name])]
        data = [numbers(free_values(self.own, name)) + moved[name] for name in free]
        model = with_free(self.model, free, data)
        q = algorithms.integrate(self.model, _unit(self.own, self.motion.q[0]), moved["q0"])
        dq, tau = numbers(self.motion.dq[0]) + moved["dq0"], numbers(self.tau) + moved["tau"]
        for h in self.lengths:
            q, dq = algorithms.step(model, q, dq, tau, h, method=self.method)
        return q, dq

    def slope(self, along, sides=(1, -1)):
        """Derivative of the end, (2n,), q along tangent vectors; sides: of the difference."""
        (a, da), (b, db) = (self.end(side * H, along) for side in sides)
        N = algorithms.tangent_map(self.model, _unit(self.own, self.motion.q[-1]))
        back = N.T / (N * N).sum(0)[:, None]  # columns are orthogonal
        return (np.r_[back @ (a - b), da - db] / (H * (sides[0] - sides[1]))).astype(float)


def _unit(model, q):
    q = numbers(q)
    for joint in model.joints:
        if joint.type in ("free", "spherical"):
            own = list(joint.coords[:4])
            q[own] = q[own] / mpmath.sqrt(q[own] @ q[own])
    return q


def agrees(robot, q, dq, tau, names, method, *, apart, steps=STEPS):
    """Compare with differences by each input, or in a direction of all of them together."""
    found = differentiated(robot, q, dq, tau, names, method, steps)
    exact, rng = Exact(robot, found, tau, method), np.random.default_rng(0)
    for chosen in [(name,) for name in names] if apart else [names]:
        moved = {name: rng.normal(size=exact.zeros[name].shape) for name in chosen}
        wanted = exact.slope({**exact.zeros, **moved})
        got = sum(np.tensordot(found.by(name)[-1], x, x.ndim) for name, x in moved.items())
        assert np.abs(got - wanted).max() <= ACCURACY * max(1e-2, np.abs(wanted).max()), chosen
    return found


def modes_of(found):
    return {int(x) for modes in found.motion.meta["contact_modes"].values() for x in modes.flat}


Q, DQ, TAU = np.array([-0.6, 0.9]), np.array([-0.3, -0.5]), np.array([1.0, -4.0])


def arm(friction, depth, compliance=1e-4):
    """A planar arm whose tip is so deep in soft ground."""
    robot = kt.robots.planar_2r()
    ground = Plane((0, 1, 0), (0, float(robot.pose(Q)[1, 3]) + depth, 0))
    tip = [ContactPoint("tip", "tool")]
    return robot.with_contacts(tip, ground, friction=friction, compliance=compliance)


def hopper(base="free", gap=0.002, at=(0.0, 0.0, 0.0)):
    """A body on a springy leg with a round foot so high above the ground, on a base of this type.

    A planar base moves in the plane of x and y, with y up.
    """
    up = np.array((0, 1, 0) if base == "planar" else (0, 0, 1))
    built = kt.Builder("hopper", gravity=up * -9.81).link("world")
    built.link("body", 5, I_com=np.eye(3) * 0.1).link("foot", 0.5, I_com=np.eye(3) * 0.01)
    built.joint("base", base, "world", "body")
    built.joint("slide", "prismatic", "body", "foot", at=up * -0.5, axis=up)
    robot = built.build().with_springs({"slide": kt.Spring(4000, damping=100)})
    ground = Plane(up, up * (-0.55 - gap) + at)
    foot = ContactPoint("foot", "foot", radius=0.05)
    return robot.with_contacts([foot], ground, friction=0.5, compliance=1e-5)


def quadruped():
    """A quadruped on legs with springs, and its position just above the ground."""
    robot = kt.robots.quadruped()
    bent = {"swing": 0.6, "knee": -1.2}
    rest = {x: bent.get(x.rpartition("_")[2], 0.0) for x in robot.joint_names[1:]}
    robot = robot.with_springs({x: kt.Spring(60, rest=q, damping=2) for x, q in rest.items()})
    feet = [ContactPoint(x, x) for x in robot.model.frames if x.endswith("_foot")]
    robot = robot.with_contacts(feet, friction=0.4, compliance=1e-5)
    return robot, robot.on_ground(np.r_[robot.neutral()[:7], list(rest.values())], gap=1e-4)


CASES = [(9.0, 1e-4, EULER, {1}), (0.5, -1e-2, EULER, {0, 1, 2}), (0.3, 1e-4, "implicit", {2})]
CASES += [(0.1, 1e-4, "implicitfast", {0, 2})]


@pytest.mark.parametrize(("friction", "depth", "method", "modes"), CASES)
def test_contacts_that_stick_slip_land_and_leave(friction, depth, method, modes, fifty_digits):
    found = agrees(arm(friction, depth), Q, DQ, TAU, CONTACT_DATA, method, apart=friction == 0.5)
    assert modes_of(found) == modes


@pytest.mark.parametrize("base", ["free", "planar"])
def test_a_hopper_lands_and_slips(base, fifty_digits):
    robot = hopper(base)
    dq = np.array([0.3, 0.2, 0.1, 0.2, 0.3, -0.5, 0.0] if base == "free" else [0.1, 0.6, -0.5, 0.0])
    names = (*CONTACT_DATA, "springs", "gravity")
    found = agrees(robot, robot.neutral(), dq, np.zeros(robot.n), names, EULER, apart=False)
    assert modes_of(found) == {0, 1, 2}


def test_a_quadruped_on_four_feet(fifty_digits):
    robot, q = quadruped()
    dq = np.r_[0.1, 0.2, 0.3, 0.5, 0.2, -0.1, np.zeros(12)]
    found = agrees(robot, q, dq, np.zeros(18), CONTACT_DATA, EULER, apart=False, steps=10)
    assert modes_of(found) == {1, 2}


def test_a_contact_in_the_air_or_below_an_upright_body_has_derivatives():
    """Without a tangential velocity the friction is at a corner; a foot has two equal tangents."""
    for gap, dq in ((0.01, [0, 0, 0, 0, 0, -0.5, 0]), (-1e-4, np.zeros(7))):
        found = hopper(gap=gap).sensitivities(
            hopper().neutral(), np.array(dq, float), duration=0.05, dt=DT, wrt=CONTACT_DATA
        )
        assert all(np.isfinite(found.by(name)).all() for name in CONTACT_DATA)


def bisected(changes, low, high):
    """Numbers 1e-9 apart, between which a function changes from False to True."""
    while abs(high - low) > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if changes(middle) else (middle, high)
    return low, high


@pytest.mark.parametrize("switch", ["lands", "slips"])
def test_at_a_change_of_mode_they_are_those_of_its_side(switch, fifty_digits):
    """Two inputs next to each other have other modes in one step, and the slopes of either side."""
    robot, steps = arm(0.5, -0.0085 if switch == "lands" else 1e-4), 12
    name = "dq0" if switch == "lands" else "contact_friction"

    def motion(x, robot=robot):
        dq = np.array([x, -0.5]) if switch == "lands" else DQ
        data = {} if switch == "lands" else {"parameters": {"contact_friction": [x]}}
        return robot.sensitivities(Q, dq, tau=TAU, duration=steps * DT, dt=DT, wrt=name, **data)

    def switched(x):
        if switch == "lands":  # in step 4, not in step 5
            return motion(x).motion.meta["contact_forces"]["tip"][4, 1] > 0
        return np.abs(motion(x).by("contact_friction")).max() < 1e-10  # no step slips

    sides = bisected(switched, *((-0.2, -0.25) if switch == "lands" else (2.0, 9.0)))
    away, ends = np.sign(sides[0] - sides[1]), []
    for x, side in zip(sides, (away, -away), strict=True):
        found = motion(x)
        exact = Exact(robot if switch == "lands" else arm(x, 1e-4), found, TAU, EULER)
        v = np.eye(len(exact.zeros[name]))[0]
        wanted = exact.slope({**exact.zeros, name: v}, sides=(side, 0))
        ends.append(found.by(name)[-1] @ v)
        assert np.abs(ends[-1] - wanted).max() <= 1e-8 * max(1e-2, np.abs(wanted).max())
    assert relative(ends[0], ends[1]) > 1e-2  # the sides differ


def test_changes_of_mode_are_named():
    found = differentiated(arm(0.5, -1e-2), Q, DQ, TAU, ("q0",), EULER)
    modes, changes = found.motion.meta["contact_modes"]["tip"], found.mode_changes["tip"]
    assert changes.shape == (STEPS,)
    assert [int(k) for k in np.flatnonzero(changes)] == [
        k for k in range(1, STEPS) if modes[k] != modes[k - 1]
    ]
    assert changes.sum() == 2


def landing(q=None, dq=(0.3, 0.2, 0.1, 0.2, 0.3, -0.5, 0.0), at=(0.0, 0.0, 0.0), duration=0.06):
    """A hopper that lands at a place and slips."""
    robot = hopper(at=at)
    start = robot.neutral() + np.r_[np.zeros(4), at, 0] if q is None else q
    return robot.sensitivities(
        start, np.array(dq), tau=np.zeros(7), duration=duration, dt=DT, wrt=(*STATE, "mass")
    )


def test_shifting_the_world_moves_no_derivative():
    """Rounding of the place, 1e-16 of 3 m, is 1e-12 of the depth of a contact, 1e-4 m."""
    here, there = landing(), landing(at=(3.0, -2.0, 1.5))
    assert modes_of(here) == {0, 1, 2}
    for name in (*STATE, "mass"):
        assert relative(here.by(name)[-1], there.by(name)[-1]) < 1e-9, name


def composed(whole, first, second):
    """The largest relative error of the chain rule over two parts."""
    X = np.concatenate([second.by("q0")[-1], second.by("dq0")[-1]], -1)
    errors = [relative(whole.by(x)[-1], X @ first.by(x)[-1]) for x in ("q0", "dq0")]
    data = (x.name for x in whole.inputs if x.name not in ("q0", "dq0"))
    return max(
        [
            *errors,
            *(relative(whole.by(x)[-1], X @ first.by(x)[-1] + second.by(x)[-1]) for x in data),
        ]
    )


def test_motions_with_contacts_in_two_parts_follow_the_chain_rule():
    whole, first = landing(), landing(duration=0.02)
    q = _unit(whole.model, first.motion.q[-1]).astype(float)
    second = landing(q, first.motion.dq[-1], duration=0.04)
    assert composed(whole, first, second) < 1e-11


def test_backward_is_forward_in_batches_with_contacts():
    rng = np.random.default_rng(2)
    dq, friction = DQ + rng.normal(size=(3, 2)) * 0.1, np.array([[0.1], [0.4], [9.0]])
    found = arm(0.5, 1e-4).sensitivities(
        Q, dq, tau=TAU, duration=0.05, dt=DT, parameters={"contact_friction": friction},
        wrt=CONTACT_DATA, limits="ignore",
    )  # fmt: skip
    slopes = rng.normal(size=(len(found.motion), 3, 4))
    for name, got in found.gradient(slopes).items():
        wanted = np.einsum("tbi,tbi...->b...", slopes, found.by(name))
        assert relative(got, wanted) < 1e-12, name
    alone = arm(9.0, 1e-4).sensitivities(
        Q, dq[2], tau=TAU, duration=0.05, dt=DT, wrt="mass", limits="ignore"
    )
    assert relative(found.by("mass")[:, 2], alone.by("mass")) < 1e-12


def test_a_law_and_a_signal_act_on_a_robot_with_contacts():
    """Steps of a servo and of samples of a force, against differences of simulations."""
    robot, t = arm(0.3, 1e-4), np.array([0.0, 0.03, 0.07])
    values, law = np.array([[1.0, -4], [2, -3], [0, -5]]), kt.controllers.PD(Q, 20.0, 1.0)

    def run(x, method="simulate", **options):
        force = kt.simulate.signal(t, x, "linear")
        return getattr(robot, method)(
            Q, DQ, tau=force, controller=law, duration=0.1, dt=DT, limits="ignore", **options
        )

    found = run(values, "sensitivities", wrt="tau")
    v, h = np.random.default_rng(0).normal(size=(3, 2)), 1e-4
    ends = [run(values + side * h * v) for side in (1, -1)]
    wanted = [(a - b) / (2 * h) for a, b in zip(*((x.q[-1], x.dq[-1]) for x in ends), strict=True)]
    got = np.einsum("iab,ab->i", found.by("tau")[-1], v)
    assert np.abs(got - np.concatenate(wanted)).max() < 1e-6 * np.abs(got).max()


def loops():
    """Closed mechanisms by name: robot, position, rates, forces."""
    crank = slider_crank(actuated=["crank"])
    four = kt.robots.four_bar()
    parallel = kt.Builder("parallelogram", gravity=(0, -9.81, 0)).link("base")
    for k, (name, length) in enumerate((("left", 0.3), ("top", 0.5), ("right", 0.3))):
        parallel.link(name, 1 + k, (length / 2, 0, 0), np.eye(3) * 0.02)
    parallel.joint("left", "revolute", "base", "left")
    parallel.joint("top", "revolute", "left", "top", at=(0.3, 0, 0))
    parallel.joint("right", "revolute", "base", "right", at=(0.5, 0, 0))
    parallel.frame("a", "top", (0.5, 0, 0)).frame("b", "right", (0.3, 0, 0), tool=True)
    built = parallel.build().constrained({"loop": kt.constraints.Loop("a", "b", "axis")})
    coupled = kt.robots.spatial_3r()
    first, second, third = coupled.joint_names
    gear = {"gear": kt.constraints.Couple(third, {second: (0.5, 0.1), first: (0.2,)})}
    coupled = coupled.constrained(gear)
    tree, given, closed = tied_robot(3)  # with joints of all types and mimic joints
    tree = kt.Robot(without_dry_friction(tree.model))
    return {
        "slider-crank": (crank, slider_crank_position(0.7)),
        "four-bar": (four, four.neutral()),
        "parallelogram": (built, built.project([1.1, -1.1, 1.1])),
        "coupled": (coupled, coupled.project([0.3, -0.8, 0.4])),
        "random": (tree.constrained(given), closed),
    }


LOOPS = loops()


def closed_state(name):
    robot, q = LOOPS[name]
    rng = np.random.default_rng(4)
    return robot, q, robot.project_rates(q, rng.normal(size=robot.n)), rng.normal(size=robot.n)


LOOP_CASES = [(name, "semi_implicit_euler") for name in LOOPS]
LOOP_CASES += [("four-bar", x) for x in ("rk4", "implicit", "implicitfast", "euler")]


@pytest.mark.parametrize(("name", "method"), LOOP_CASES)
def test_closed_loops_and_couplings(name, method, fifty_digits):
    """All directions of the start, those that leave the constraints too: a step returns to them."""
    robot, q, dq, tau = closed_state(name)
    steps = 10 if name == "random" else STEPS  # which takes long in fifty digits
    agrees(robot, q, dq, tau, (*STATE, "gravity"), method, apart=False, steps=steps)


def allowed(robot, q, dq, h, along):
    """A start that the constraints allow, moved by h along independent rates."""
    q = robot.project(robot.integrate(q, h * along))
    return q, robot.project_rates(q, dq)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_loops_of_other_masses_and_other_closed_starts(method):
    """Differences of simulations; the adaptive one has tolerances that its own steps do not see."""
    robot, q, dq, tau = closed_state("four-bar")
    exact = {"rtol": 1e-12, "atol": 1e-13} if method == "dop853" else {}
    options = {"tau": tau, "duration": 0.2, "dt": 0.004, "method": method, **exact}
    found = robot.sensitivities(q, dq, wrt=("q0", "dq0", "mass", "com"), **options)
    N, m, h = robot.reduced_dynamics(q, dq)[2][:, 0], robot.model.m, 1e-4

    def slope(f):
        one, half = ((f(x) - f(-x)) / (2 * x) for x in (h, h / 2))
        return (4 * half - one) / 3

    def end(start, **data):
        motion = robot.simulate(*start, **options, **data)
        return np.r_[motion.q[-1], motion.dq[-1]]

    by_start = slope(lambda x: end(allowed(robot, q, dq, x, N)))
    start = slope(lambda x: np.concatenate(allowed(robot, q, dq, x, N)))
    got = found.by("q0")[-1] @ start[:3] + found.by("dq0")[-1] @ start[3:]
    assert relative(got, by_start) < 1e-8
    by_mass = slope(lambda x: end((q, dq), parameters={"mass": m * (1 + x)}))
    assert relative(found.by("mass")[-1] @ m, by_mass) < 1e-7


def test_motions_with_loops_in_two_parts_follow_the_chain_rule():
    robot, q, dq, tau = closed_state("coupled")
    options = {"tau": tau, "dt": DT, "limits": "ignore", "method": EULER}
    options["wrt"] = ("q0", "dq0", "tau", "mass")
    whole = robot.sensitivities(q, dq, duration=0.04, **options)
    first = robot.sensitivities(q, dq, duration=0.02, **options)
    second = robot.sensitivities(first.motion.q[-1], first.motion.dq[-1], duration=0.02, **options)
    assert composed(whole, first, second) < 1e-10


def test_changes_stay_on_the_constraints():
    """J dx = 0 for every change of a closed state, by any input, after a step."""
    robot, q, dq, tau = closed_state("slider-crank")
    found = robot.sensitivities(q, dq, tau=tau, duration=0.1, dt=DT, wrt=("q0", "tau", "mass"))
    J = robot.constraint_jacobian(found.motion.q[1:])
    for name in ("q0", "tau", "mass"):
        by = found.by(name)[1:, :3]
        assert np.abs(J @ by).max() < 1e-9 * max(1, np.abs(by).max()), name


def test_a_loop_stands_on_soft_ground(fifty_digits):
    """Contacts and constraints in one robot."""
    robot, q = LOOPS["slider-crank"]
    heel, level = ContactPoint("heel", "bar", (0.1, 0, 0)), {"friction": 0.4, "compliance": 1e-4}
    height = float(robot.with_contacts([heel], Plane((0, 1, 0))).contact_points(q)[1][0])
    soft = robot.with_contacts([heel], Plane((0, 1, 0), (0, height + 1e-4, 0)), **level)
    dq = robot.project_rates(q, [-1.0, 0, 0], keep=["crank"])
    found = agrees(soft, q, dq, np.zeros(3), (*STATE, "contact_friction"), EULER, apart=False)
    assert modes_of(found) & {1, 2}

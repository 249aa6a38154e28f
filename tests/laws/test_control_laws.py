"""Laws of controllers, of feedback of least cost, and of plans of least cost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import SCREWS, SEEDS, Units, build, close, mechanisms, number, slides, state

import kinetree as kt
from kinetree import controllers, dynamics, optimal
from kinetree.scalars import sin
from spacing import by

FREE = {"limits": "ignore"}
DRIVES = ("armature", "rotor", "spring", "offset", "mimic")
ARMS = mechanisms(3, types=SCREWS, drives=DRIVES, floating=False)


@settings(max_examples=10)
@given(ARMS, SEEDS, number(5, 50), number(2, 10))
def test_computed_torque_makes_the_error_a_damped_oscillator(mechanism, seed, kp, kd):
    """e'' + kd e' + kp e = 0, whatever the robot is."""
    robot = build(mechanism)
    q, dq, _ = state(robot, seed)
    goal = q + 0.3 * dq
    law = controllers.ComputedTorque(goal, kp=kp, kd=kd)
    motion = robot.simulate(
        q, duration=0.5, controller=law, **by("DOP853", 0.05, rtol=1e-10), **FREE
    )
    roots = np.roots([1, kd, kp]).astype(complex)
    assume(abs(roots[0] - roots[1]) > 1e-2)
    a = np.linalg.solve([[1, 1], roots], [1, 0])  # e(0) = 1, e'(0) = 0
    share = np.real(np.exp(np.outer(motion.t, roots)) @ a)
    close(goal - motion.q, np.outer(share, goal - q), 1e-6, np.abs(goal - q).max())


@settings(max_examples=10)
@given(ARMS, SEEDS)
def test_gravity_compensation_holds_still(mechanism, seed):
    robot = build(mechanism)
    q, *_ = state(robot, seed)
    law = controllers.GravityCompensation()
    motion = robot.simulate(q, duration=0.2, controller=law, **by("DOP853", 0.1), **FREE)
    close(motion.q, q + 0 * motion.q, 1e-7, 1)


@pytest.mark.filterwarnings("ignore:the motion of")  # coarse steps, on purpose
@settings(max_examples=8)
@given(ARMS, SEEDS, st.sampled_from(["rk4", "DOP853"]))
def test_one_law_in_every_form_makes_one_motion(mechanism, seed, method):
    """PID as such, with its state declared, and without the integral as functions of all kinds."""
    robot = build(mechanism)
    q, dq, goal = state(robot, seed)
    n, kp, kd = robot.n, 3.0, 1.0
    options = {"duration": 0.1, **by(method, 0.01, rtol=1e-10), **FREE}

    def pd(t, q, dq):
        return kp * (goal - q) - kd * dq + sin(9 * t)

    def pid(t, q, dq, z):
        return kp * (goal - q) - kd * dq + 2.0 * z, goal - q

    forms = [
        {"tau": pd},
        {"controller": pd},
        {"controller": controllers.Law(pd)},
        {"controller": controllers.Law(kt.simulate.python(pd))},
    ]
    first, *others = (robot.simulate(q, dq, **form, **options) for form in forms)
    for other in others:
        close(other.q, first.q, 1e-8, 1)
        close(other.tau, first.tau, 1e-7, 1)
    a = robot.simulate(q, dq, controller=controllers.PID(goal, kp, kd, 2.0), **options)
    b = robot.simulate(q, dq, controller=controllers.Stateful(pid, np.zeros(n)), **options)
    close(a.q, b.q, 1e-8, 1)


@settings(max_examples=8)
@given(ARMS, SEEDS)
def test_a_sampled_law_is_a_loop_over_samples(mechanism, seed):
    robot = build(mechanism)
    q, dq, goal = state(robot, seed)

    def law(t, q, dq, state):
        state["z"] = state["z"] + 0.02 * (goal - q)
        return 2 * (goal - q) - dq + state["z"]

    sampled = controllers.Sampled(law, 0.02, lambda: {"z": np.zeros(robot.n)})
    options = {"method": "rk4", **FREE}
    whole = robot.simulate(q, dq, controller=sampled, duration=0.1, dt=0.005, **options)
    memory = {"z": np.zeros(robot.n)}
    for _ in range(5):
        tau = law(0, q, dq, memory)
        part = robot.simulate(q, dq, tau=tau, duration=0.02, dt=0.005, **options)
        q, dq = part.q[-1], part.dq[-1]
    close(whole.q[-1], q, 1e-9, 1)
    close(whole.dq[-1], dq, 1e-9, 1)


# ------------------------------------------------------------------------- least cost


@settings(max_examples=20)
@given(mechanisms(3, drives=DRIVES), SEEDS, st.booleans())
def test_feedback_of_least_cost_solves_riccatis_equation(mechanism, seed, sampled):
    robot = build(mechanism)
    q, *_ = state(robot, seed)
    n, rng = robot.n, np.random.default_rng(seed)
    tau = dynamics.inverse_dynamics(robot.model, q, np.zeros(n), np.zeros(n))
    linear = robot.linearize(q, np.zeros(n), tau)
    linear = linear.discrete(0.02) if sampled else linear
    A, B = linear.A, linear.B
    assume(np.linalg.norm(A) < 1e3)
    Q, R = np.diag(rng.uniform(0.5, 2, 2 * n)), np.diag(rng.uniform(0.5, 2, n))
    found = optimal.lqr(A, B, Q, R, discrete=sampled)
    P, K = found.P, found.K
    if sampled:
        residual = A.T @ P @ (A - B @ K) + Q - P
        gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        assert np.abs(found.poles).max() < 1
    else:
        residual = A.T @ P + P @ A - P @ B @ K + Q
        gain = np.linalg.solve(R, B.T @ P)
        assert found.poles.real.max() < 0
    close(residual, 0 * P, 1e-7, np.abs(P).max() * (1 + np.linalg.norm(A)))
    close(np.abs(K), np.abs(gain), 1e-7, 1)
    close(np.sort_complex(np.linalg.eigvals(A - B @ gain)).real, np.sort_complex(found.poles).real,
          1e-4, 1)  # fmt: skip


@settings(max_examples=10)
@given(mechanisms(2, drives=("armature",)), SEEDS)
def test_held_forces_of_least_cost_have_the_cost_of_the_motion_between(mechanism, seed):
    """x P x = cost of a step of dt with u = -K x held + cost from its end; any other u has more."""
    robot, dt = build(mechanism), 0.05
    q, *_ = state(robot, seed)
    n, rng = robot.n, np.random.default_rng(seed)
    Q, R = np.diag(rng.uniform(0.5, 2, 2 * n)), np.diag(rng.uniform(0.5, 2, n))
    tau = dynamics.gravity_forces(robot.model, q)
    found = optimal.regulate(robot, q, Q, R, tau=tau, dt=dt)
    fine = robot.linearize(q, np.zeros(n), tau).discrete(dt / 200)
    x = rng.normal(size=2 * n)

    def cost(u):
        y, costs = x, []
        for _ in range(201):
            costs.append(y @ Q @ y + u @ R @ u)
            y, last = fine.A @ y + fine.B @ u, y
        shares = np.array([1, *[4, 2] * 99, 4, 1])  # Simpson
        return shares @ costs * dt / 600 + last @ found.P @ last

    u = -found.K @ x
    close(cost(u), x @ found.P @ x, 1e-6)
    assert cost(u + 0.1) > cost(u) and cost(u - 0.1) > cost(u)


@st.composite
def problems(draw, **options):
    """A small problem with costs of every kind, its start, and its numbers."""
    mechanism = draw(mechanisms(2, types=("revolute", "prismatic"), drives=("armature", "rotor"),
                                floating=False))  # fmt: skip
    robot = build(mechanism)
    q, dq, goal = state(robot, draw(SEEDS))
    assume(np.linalg.cond(dynamics.mass_matrix(robot.model, q)) < 1e3)
    goal = q + 0.3 * goal
    costs = {
        "posture": optimal.Posture(goal, 1.0, 20.0),
        "rates": optimal.Rates(None, 0.2, 1.0),
        "effort": optimal.Effort(None, 0.05),
        "place": optimal.FramePosition(dynamics.pose(robot.model, goal)[:3, 3], 1.0, 5.0),
        "turn": optimal.FrameRotation(dynamics.pose(robot.model, goal)[:3, :3], 0.5, 1.0),
        "centre": optimal.CenterOfMass(np.zeros(3), 0.3, 0.5),
    }
    problem = optimal.Problem(robot, dt=0.02, steps=8, costs=costs, limits=None, **options)
    return mechanism, problem, q, 0.3 * dq


@settings(max_examples=6)
@given(problems(), SEEDS)
def test_no_change_of_the_forces_lowers_the_cost_of_a_plan(posed, seed):
    """The cost is that of the plan's own numbers; its slope along any change is zero."""
    _, problem, q, dq = posed
    plan = problem.solve(q, dq, iterations=300, tolerance=1e-13)
    assume(plan.converged)
    change = np.random.default_rng(seed).normal(size=plan.tau.shape)

    def cost(h):
        return problem.solve(q, dq, guess=plan.tau + h * change, iterations=0).cost

    h, best = 1e-3, cost(0)
    close(best, plan.cost, 1e-10)
    ahead, back = cost(h) - best, cost(-h) - best
    assert ahead > 0 and back > 0
    assert abs(ahead - back) < 1e-2 * (ahead + back) + 1e-12


@settings(max_examples=6)
@given(problems(), SEEDS)
def test_a_plan_is_the_motion_of_its_forces_and_its_cost_their_sum(posed, seed):
    _, problem, q, dq = posed
    plan = problem.solve(q, dq, iterations=3)
    robot, dt = problem.robot, problem.dt
    total = 0.0
    for k, tau in enumerate(plan.tau):
        close(plan.q[k], q, 1e-10, 1)
        close(plan.dq[k], dq, 1e-10, 1)
        posture, rates = problem.costs["posture"], problem.costs["rates"]
        effort = problem.costs["effort"]
        apart = dynamics.difference(robot.model, np.asarray(posture.target), q)
        total += dt / 2 * (posture.weight * apart @ apart + rates.weight * dq @ dq)
        total += dt / 2 * effort.weight * tau @ tau
        q, dq = robot.step(q, dq, tau, dt)
    apart = dynamics.difference(robot.model, np.asarray(posture.target), q)
    total += (posture.final * apart @ apart + rates.final * dq @ dq) / 2
    found = sum(plan.costs[name] for name in ("posture", "rates", "effort"))
    close(found, total, 1e-9)


@settings(max_examples=5)
@given(problems(), st.sampled_from([2.0**7, 1 / 300]))
def test_weights_times_a_number_keep_the_plan(posed, factor):
    _, problem, q, dq = posed
    scaled = {
        name: replace(x, weight=factor * np.asarray(x.weight), final=factor * np.asarray(x.final))
        for name, x in problem.costs.items()
    }
    options = {"iterations": 3, "tolerance": 0}
    plan = problem.solve(q, dq, **options)
    other = problem.with_costs(**scaled).solve(q, dq, **options)
    close(other.tau, plan.tau, 1e-8, 1)
    close(other.cost, factor * plan.cost, 1e-9)


@settings(max_examples=5)
@given(problems())
def test_a_plan_is_the_same_in_other_units(posed):
    mechanism, problem, q, dq = posed
    units = Units(1e3, 1e3, 1e3)
    way = units.way(slides(mechanism))
    rate, force = way / units.time, units.force(slides(mechanism))
    sizes = {"posture": way, "rates": rate, "effort": force, "place": 1e3, "turn": 1.0}
    costs = {
        name: replace(
            cost,
            target=None if cost.target is None else sizes[name] * np.asarray(cost.target),
            weight=cost.weight / np.asarray(sizes[name]) ** 2 / units.time,
            final=cost.final / np.asarray(sizes[name]) ** 2,
        )
        for name, cost in problem.costs.items()
        if name in sizes
    }
    plain = replace(problem, costs={name: problem.costs[name] for name in costs})
    other = optimal.Problem(
        build(mechanism, units), dt=0.02 * units.time, steps=8, costs=costs, limits=None
    )
    options = {"iterations": 3, "tolerance": 0}
    a, b = plain.solve(q, dq, **options), other.solve(q * way, dq * rate, **options)
    close(b.q / way, a.q, 1e-8, 1)
    close(b.tau / force, a.tau, 1e-7, 1)
    close(b.cost, a.cost, 1e-8)


@settings(max_examples=4)
@given(problems())
def test_the_second_part_of_a_plan_is_the_plan_of_the_second_part(posed):
    _, problem, q, dq = posed
    options = {"iterations": 300, "tolerance": 1e-14}
    whole = problem.solve(q, dq, **options)
    assume(whole.converged)
    left = replace(problem, steps=5).solve(whole.q[3], whole.dq[3], **options)
    assume(left.converged and abs(left.cost) > 1e-9)
    close(left.tau, whole.tau[3:], 1e-4, 1)
    close(left.q, whole.q[3:], 1e-5, 1)


@settings(max_examples=4)
@given(problems())
def test_problems_at_once_and_ticks_of_mpc_are_plans(posed):
    _, problem, q, dq = posed
    options = {"iterations": 200, "tolerance": 1e-13}
    starts = q + np.array([[0.0], [0.1], [-0.2]])
    together = problem.solve(starts, dq, **options)
    alone = [problem.solve(x, dq, **options) for x in starts]
    assume(all(x.converged for x in alone))
    close(together.cost, [x.cost for x in alone], 1e-7)
    mpc = optimal.MPC(problem, iterations=200)
    close(mpc(starts[0], dq), alone[0].tau[0], 1e-4, 1)


@settings(max_examples=5)
@given(problems(), number(0.05, 2))
def test_limits_of_forces_are_kept(posed, limit):
    _, problem, q, dq = posed
    bounded = replace(problem, limits=limit)
    plan = bounded.solve(q, dq, iterations=20)
    assert np.abs(plan.tau).max() <= limit * (1 + 1e-12)
    free = problem.solve(q, dq, iterations=20)
    if np.abs(free.tau).max() < limit:
        close(plan.cost, free.cost, 1e-6)
    else:
        assert plan.cost >= free.cost * (1 - 1e-6)

"""Laws of control: switches in the state, saturation, references, wrenches, nonlinear friction."""

import numpy as np
from attack_case import law, note
from attack_plants import close, integrate, pendulum, pinocchio_rate, size, slider, tree

import kinetree as kt
from kinetree import controllers
from kinetree import motion as plans
from kinetree.scalars import clip, sin, where
from kinetree.simulate import signal

FREE = {"limits": "ignore"}


def law_a_one_sided_spring_throws_back(rng):
    """Free flight and contact with a stiff spring, in closed form, many times over."""
    m, k = float(rng.uniform(0.5, 2)), float(10 ** rng.uniform(2, 4.5))
    v, wall = float(rng.uniform(0.5, 3)), float(rng.uniform(0.1, 1))
    end = float(rng.uniform(1, 5))
    note(rng, m=m, k=k, v=v, wall=wall, end=end)
    robot = slider(m)  # between two springs at +wall and -wall

    def push(t, q, dq):
        return np.array(
            [-k * (where(q[0] - wall, q[0] - wall, 0) - where(-wall - q[0], -wall - q[0], 0))]
        )

    motion = robot.simulate([0.0], [v], duration=end, dt=0.05, tau=push, rtol=1e-9, **FREE)
    w = np.sqrt(k / m)
    flight, contact = 2 * wall / v, np.pi / w
    t = motion.t + flight / 2
    phase = np.mod(t, flight + contact)
    side = np.where(np.mod(np.floor(t / (flight + contact)), 2) == 0, 1.0, -1.0)
    flying = phase < flight
    q = np.where(flying, -wall + v * phase, wall + v / w * np.sin(w * (phase - flight))) * side
    bounces = 1 + end / (flight + contact)
    close(motion.q[:, 0], q, 2e-6 * bounces * (1 + v * end), "q")


def law_a_narrow_band_of_force_is_felt(rng):
    """A slider coasts through a band of positions that pushes it: its energy grows by F width."""
    m, v = float(rng.uniform(0.5, 2)), float(rng.uniform(0.5, 3))
    dt = 0.01
    width = v * dt * float(rng.uniform(1.2, 6))  # at least one result lies within
    force = float(rng.uniform(0.1, 1)) * m * v**2 / width * 0.2
    end = float(rng.uniform(3, 20))
    a = v * end * float(rng.uniform(0.1, 0.8))
    b = a + width
    note(rng, m=m, v=v, a=a, width=width, force=force, end=end)

    def push(t, q, dq):
        return np.array([force * where((q[0] - a) * (b - q[0]), 1, 0)])

    motion = slider(m).simulate([0.0], [v], duration=end, dt=dt, tau=push)
    after = np.sqrt(v**2 + 2 * force * width / m)
    reach, leave = a / v, a / v + (after - v) * m / force
    t = motion.t
    inside = np.clip(t - reach, 0, leave - reach)
    q = v * np.minimum(t, reach) + v * inside + force / m * inside**2 / 2
    q = q + after * np.clip(t - leave, 0, None)
    close(motion.dq[-1, 0], after, 1e-5 * after, "rate after the band")
    close(motion.q[:, 0], q, 1e-5 * size(q), "q")


def law_saturated_torques(rng):
    """clip(kp e - kd dq, -limit, limit) on a pendulum, against scipy."""
    kp, kd, limit = float(rng.uniform(5, 80)), float(rng.uniform(0.5, 5)), float(rng.uniform(1, 12))
    goal, q0 = float(rng.uniform(-3, 3)), float(rng.uniform(-2, 2))
    robot = pendulum(1.0, 1.0, 9.81)
    note(rng, kp=kp, kd=kd, limit=limit, goal=goal, q0=q0)

    def tau(t, q, dq):
        return np.array([clip(kp * (goal - q[0]) - kd * dq[0], -limit, limit)])

    motion = robot.simulate([q0], duration=2.0, dt=0.1, tau=tau, **FREE)

    def rate(t, x):
        push = min(max(kp * (goal - x[0]) - kd * x[1], -limit), limit)
        return [x[1], push - 9.81 * np.sin(x[0])]

    x = integrate(rate, [q0, 0.0], motion.t)
    close(motion.q[:, 0], x[:, 0], 5e-6 * size(x), "q")


def law_wrenches_in_every_form_give_one_motion(rng):
    """A wave of wrenches as a function, a law and a fine linear signal."""
    robot = tree(rng, 2)
    q0, dq0 = rng.normal(size=(2, robot.n))
    links = len(robot.model.links)
    amplitude = rng.normal(size=(links, 6))
    w = float(rng.uniform(0.5, 6))
    steps = 600
    knots = np.linspace(0, 0.6, steps + 1)
    forms = {
        "function": lambda t: amplitude * sin(w * t),
        "law": lambda t, q, dq: amplitude * sin(w * t),
        "signal": signal(knots, amplitude * np.sin(w * knots)[:, None, None], kind="linear"),
    }
    method = str(rng.choice(["dop853", "rk4"]))
    options = {"duration": 0.6, "method": method, **FREE}
    runs = {name: robot.simulate(q0, dq0, F_ext=form, **options) for name, form in forms.items()}
    scale = size(runs["law"].q) * size(runs["law"].dq) * size(amplitude)
    close(runs["function"].q[-1], runs["law"].q[-1], 1e-8 * scale, "function and law")
    close(runs["signal"].q[-1], runs["law"].q[-1], 1e-5 * scale, "signal and law")
    constant = robot.simulate(q0, dq0, F_ext=amplitude, **options)
    x = integrate(
        pinocchio_rate(robot, lambda t, q, dq: np.zeros(robot.n), amplitude),
        np.concatenate([q0, dq0]),
        np.array([0, 0.6]),
    )
    close(constant.q[-1], x[-1, : robot.n], 2e-6 * scale, "constant wrench")


def law_computed_torque_against_pinocchio(rng):
    """M (ddq_d + kd de + kp e) + h by rnea inside scipy, with a wrong model too."""
    import pinocchio as pin
    from pinocchio_model import twin

    robot = tree(rng, 3)
    n = robot.n
    q0, dq0 = rng.normal(size=(2, n)) * 0.5
    a, w = rng.normal(size=n), rng.uniform(0.5, 4, n)
    kp, kd = float(rng.uniform(10, 100)), float(rng.uniform(5, 20))
    wrong = rng.random() < 0.5
    other = robot.with_gravity(rng.normal(size=3) * 5) if wrong else robot
    double = twin(other.model)
    model, data, order = double.theirs, double.theirs.createData(), double.order
    back = np.argsort(order)

    def reference(t):
        s = [w[i] * t for i in range(n)]
        return (
            np.array([a[i] * sin(s[i]) for i in range(n)]),
            np.array([a[i] * w[i] * sin(s[i] + np.pi / 2) for i in range(n)]),
            np.array([-a[i] * w[i] ** 2 * sin(s[i]) for i in range(n)]),
        )

    def tau(t, q, dq):
        r, dr, ddr = (np.asarray(x, float) for x in reference(t))
        wanted = ddr + kd * (dr - dq) + kp * (r - q)
        return pin.rnea(model, data, double.q(q), dq[order], wanted[order])[back]

    law_ = controllers.ComputedTorque(reference, kp, kd, model=other if wrong else None)
    motion = robot.simulate(q0, dq0, duration=0.6, dt=0.05, controller=law_, rtol=1e-9, **FREE)
    x = integrate(pinocchio_rate(robot, tau), np.concatenate([q0, dq0]), motion.t)
    close(motion.q, x[:, :n], 1e-6 * size(x), "q")


def law_a_planned_reference_is_its_polynomial(rng):
    """PD on a quintic Trajectory and on the same polynomial as a function."""
    robot = slider(float(rng.uniform(0.5, 2)))
    goal, end = float(rng.normal()), float(rng.uniform(0.3, 2))
    kp, kd = float(rng.uniform(10, 200)), float(rng.uniform(2, 20))
    plan = plans.quintic(
        [0.0], [goal], duration=end, dt=float(rng.uniform(0.005, 0.05)), robot=robot
    )
    note(rng, goal=goal, end=end, kp=kp, kd=kd)

    def reference(t):
        s = where(t - end, 1, t / end)
        moving = where(t - end, 0, 1)
        return (
            np.array([goal * s**3 * (10 - 15 * s + 6 * s**2)]),
            np.array([goal * 30 * s**2 * (1 - s) ** 2 / end * moving]),
        )

    late = end * float(rng.uniform(0.5, 1.5))
    a = robot.simulate(
        [0.1], duration=late, dt=0.05, controller=controllers.PD(plan, kp, kd), **FREE
    )
    x = integrate(
        lambda t, x: [
            x[1],
            (kp * (float(reference(t)[0][0]) - x[0]) + kd * (float(reference(t)[1][0]) - x[1]))
            / float(robot.model.m[0]),
        ],
        [0.1, 0.0],
        a.t,
        [end],
    )
    close(a.q[:, 0], x[:, 0], 1e-6 * size(x) * size(goal), "q")


def law_gravity_compensation_holds_still(rng):
    robot = tree(rng, 4, types=("revolute", "prismatic", "helical", "spherical"))
    q0 = robot.random(rng=np.random.default_rng(int(rng.integers(2**40))))
    method = str(rng.choice(["dop853", "rk4"]))
    law_ = controllers.GravityCompensation(kd=float(rng.uniform(0, 2)))
    motion = robot.simulate(q0, duration=1.0, dt=0.01, method=method, controller=law_, **FREE)
    close(motion.q, np.broadcast_to(q0, motion.q.shape), 1e-9, "q")


def law_steps_by_hand_equal_the_simulation(rng):
    """Euler steps of a PID, taken one by one with step_by_step and the kernel."""
    robot = tree(rng, 2)
    n = robot.n
    goal, q, dq = rng.normal(size=(3, n))
    pid = controllers.PID(goal, kp=20.0, kd=4.0, ki=float(rng.uniform(1, 10)))
    dt, steps = 1 / 256, 50
    run = robot.simulate(
        q, dq, duration=steps * dt, dt=dt, method="semi_implicit_euler", controller=pid, **FREE
    )
    by_hand = controllers.step_by_step(pid, robot)
    z = np.array(by_hand.start, float)
    for k in range(steps):
        tau, dz = by_hand(k * dt, q, dq, z)
        dq = dq + dt * robot.forward_dynamics(q, dq, tau)
        q, z = q + dt * dq, z + dt * np.asarray(dz, float)
    close(run.q[-1], q, 1e-10 * size(q) * size(dq), "q")
    close(np.ravel(run.meta["controller_state"][-1]), np.ravel(z), 1e-10, "integral")


def law_nonlinear_friction_against_scipy(rng):
    """b(dq) = c dq^3 and viscous friction that differs by direction, without dry friction."""
    m, c = float(rng.uniform(0.5, 2)), float(rng.uniform(0, 2))
    up, down = (float(x) for x in rng.uniform(0, 3, 2))
    v0, w, a = float(rng.normal() * 2), float(rng.uniform(1, 8)), float(rng.normal() * 5)
    friction = kt.Friction(viscous=(up, down), function=lambda dq: c * dq * dq * dq)
    robot = slider(m, friction)
    note(rng, m=m, c=c, up=up, down=down, v0=v0, w=w, a=a)
    motion = robot.simulate(
        [0.0], [v0], duration=2.0, dt=0.1, tau=lambda t: np.array([a * sin(w * t)])
    )

    def rate(t, x):
        v = x[1]
        return [v, (a * np.sin(w * t) - (up if v > 0 else down) * v - c * v**3) / m]

    x = integrate(rate, [0.0, v0], motion.t)
    close(motion.q[:, 0], x[:, 0], 2e-6 * size(x), "q")


@law(ci=1)
def law_a_stiff_loop_is_slow_but_right(rng):
    """Gains far above the motion's own rates."""
    m, kp = float(rng.uniform(0.1, 1)), float(10 ** rng.uniform(3, 5))
    kd = 2 * np.sqrt(kp * m)
    goal = float(rng.normal())
    motion = slider(m).simulate(
        [0.0], duration=1.0, dt=0.02, controller=controllers.PD([goal], kp, kd), **FREE
    )
    w = np.sqrt(kp / m)
    expected = goal * (1 - (1 + w * motion.t) * np.exp(-w * motion.t))
    close(motion.q[:, 0], expected, 1e-6 * size(goal), "q")

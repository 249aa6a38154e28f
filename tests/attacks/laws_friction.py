"""Laws of dry friction: an independent time-stepping scheme, and what every motion obeys."""

import attack_friction as friction
import numpy as np
from attack_case import law, note
from attack_plants import close, size, slider

import kinetree as kt


def draw(rng):
    """A family and the data of a case."""
    family = str(rng.choice(list(friction.FAMILIES)))
    data = friction.draw(rng, family)
    note(rng, family=family, **data)
    return family, data


@law(ci=6, weight=4)
def law_motion_against_time_stepping(rng):
    family, data = draw(rng)
    motion = friction.simulate(family, data)
    difference = friction.compare(family, data, motion)
    assert difference is None, f"{family}: {difference}"


@law(ci=2, weight=2)
def law_fixed_steps_come_close_to_time_stepping(rng):
    """Fixed steps place a stop within a step: errors of first order in dt."""
    family, data = draw(rng)
    method = str(rng.choice(["rk4", "semi_implicit_euler"]))
    scale = 0.0
    for dt in (1e-3, 1e-4):
        every = round(friction.END / friction.SAMPLES / dt)
        motion = friction.simulate(family, data, method=method, dt=dt, every=every)
        scale = max(scale, float(np.abs(motion.ddq).max()), 1.0)
        difference = friction.compare(family, data, motion, extra=100 * dt * scale)
        assert difference is None, f"{family}, {method}, dt = {dt}: {difference}"


def law_recorded_friction_opposes_the_motion(rng):
    """tau - (M ddq + c + g) is Coulomb and viscous friction where a joint moves, less at rest."""
    family, data = draw(rng)
    motion = friction.simulate(family, data)
    robot = friction.build(family, data)
    smooth = robot.with_friction({name: kt.Friction() for name in robot.model.joint_names})
    rub = motion.tau - smooth.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    up, down = data["up"], data["down"]
    viscous = np.where(motion.dq > 0, data["b_up"], data["b_down"]) * motion.dq
    moving = np.abs(motion.dq) > 1e-7
    expected = viscous + np.where(motion.dq > 0, up, -down)
    tolerance = 1e-8 * size(motion.tau) * size(motion.ddq)
    close(np.where(moving, rub - expected, 0), 0.0, tolerance, "friction of a moving joint")
    assert (rub <= up + viscous + tolerance + 1e-6).all(), "friction above the Coulomb level"
    assert (rub >= -down + viscous - tolerance - 1e-6).all(), "friction below the Coulomb level"


def law_a_push_below_coulomb_moves_nothing(rng):
    """Random sliders at rest: not one bit changes."""
    family = str(rng.choice(["rail", "two sliders", "three sliders", "side by side"]))
    data = friction.draw(rng, family)
    n = len(data["q0"])
    data["v0"], data["g"], data["K"], data["pulse"] = (
        np.zeros(n),
        0.0,
        np.zeros((n, n)),
        np.zeros(n),
    )
    least = np.minimum(data["up"], data["down"])
    part = rng.uniform(0, 1, n)
    data["a1"], data["a0"] = part * least * 0.99, (1 - part) * least * 0.99 * rng.uniform(-1, 1, n)
    method = str(rng.choice(["dop853", "rk4", "semi_implicit_euler", "euler"]))
    note(rng, family=family, method=method, **data)
    motion = friction.simulate(family, data, method=method, dt=0.01)
    assert (motion.q == data["q0"]).all(), "a joint that friction holds has moved"
    assert (motion.dq == 0).all(), "a joint that friction holds has a rate"
    assert (motion.ddq == 0).all(), "a joint that friction holds accelerates"


def law_a_mirrored_case_moves_mirrored(rng):
    family, data = draw(rng)
    if family in ("double pendulum", "cart-pole"):
        mirrored = dict(data)
    else:
        mirrored = data | {"g": -data["g"]}
    for name in ("q0", "v0", "a0", "a1", "pulse"):
        mirrored[name] = -data[name]
    mirrored |= {"up": data["down"], "down": data["up"]}
    mirrored |= {"b_up": data["b_down"], "b_down": data["b_up"]}
    a, b = friction.simulate(family, data), friction.simulate(family, mirrored)
    close(-b.q, a.q, 1e-7 * size(a.q), "q")
    close(-b.dq, a.dq, 1e-6 * size(a.dq), "dq")


def law_equal_sliders_move_equally(rng):
    """Two equal sliders side by side are released, stopped and turned in the same instants."""
    data = friction.draw(rng, "side by side")
    for name, value in data.items():
        if name not in ("K", "g"):
            data[name] = np.repeat(np.asarray(value)[:1], 2)
    data["K"] = np.eye(2) * data["K"][0, 0]
    note(rng, **data)
    motion = friction.simulate("side by side", data)
    close(motion.q[:, 0], motion.q[:, 1], 1e-9, "q")
    difference = friction.compare("side by side", data, motion)
    assert difference is None, str(difference)


def law_batches_with_friction_equal_single_runs(rng):
    family, data = draw(rng)
    robot, tau = friction.build(family, data), friction.torque(data)
    n = len(data["q0"])
    count = int(rng.integers(2, 6))
    q0, v0 = rng.normal(size=(count, n)), rng.normal(size=(count, n))
    v0[0] = 0
    method = str(rng.choice(["dop853", "rk4"]))
    options = {"duration": 1.0, "tau": tau, "method": method, "limits": "ignore"}
    batch = robot.simulate(q0, v0, **options)
    k = int(rng.integers(count))
    single = robot.simulate(q0[k], v0[k], **options)
    for part in ("q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(batch, part)[:, k], getattr(single, part)), (
            f"{part}, {method}"
        )


def law_splitting_a_run_with_friction_changes_nothing(rng):
    family, data = draw(rng)
    robot, tau = friction.build(family, data), friction.torque(data)
    cut = int(rng.integers(1, friction.SAMPLES))
    whole = friction.simulate(family, data)
    shift = float(whole.t[cut])
    rest = robot.simulate(
        whole.q[cut],
        whole.dq[cut],
        duration=friction.END - shift,
        dt=friction.END / friction.SAMPLES,
        tau=lambda t, q, dq: tau(t + shift, q, dq),
        limits="ignore",
    )
    amplified = 1e-6 * size(whole.q) * size(whole.dq)
    close(rest.q[-1], whole.q[-1], amplified, "q at the end")


def law_a_sliding_mass_stops_where_it_must(rng):
    """v^2 = 2 a s on a level rail: where and when it stops, and that it stays."""
    m, level = float(rng.uniform(0.2, 5)), float(rng.uniform(0.5, 10))
    v0, way = float(rng.uniform(0.1, 5)), float(rng.choice([-1, 1]))
    slower = level / m
    end = v0 / slower * float(rng.uniform(0.5, 4))
    robot = slider(m, kt.Friction(0, level))
    dt = end / 20
    motion = robot.simulate([0.0], [way * v0], duration=end, dt=dt)
    t = np.minimum(motion.t, v0 / slower)
    close(motion.q[:, 0], way * (v0 * t - slower * t**2 / 2), 1e-9 * (1 + v0 * end), "q")
    close(motion.dq[:, 0], way * (v0 - slower * t), 1e-9 * (1 + v0), "dq")
    stopped = motion.t > v0 / slower * (1 + 1e-9)
    assert (motion.dq[stopped] == 0).all(), "the mass creeps after its stop"

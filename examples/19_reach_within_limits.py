"""A Panda turns its tool beyond the limit of joint 1, with a load that its controllers ignore.

The plan keeps effort limits exactly; limits of position and speed are barriers, costs that begin
before them. MPC and computed torque then follow it, both every 10 ms and with the same model. The
simulated robot has the friction that was identified for the real one, and carries 1.5 kg besides.
The movie of the documentation is made by

    python examples/19_reach_within_limits.py
    kinetree render panda turn.csv -o turn.gif --add trace --size 320x320 --fps 15 --camera 2.4 0.3
"""

import numpy as np

import kinetree as kt
from kinetree import controllers, motion, optimal
from kinetree.scalars import absolute, maximum

model = kt.robots.panda()
real = kt.robots.panda(friction=True).with_payload(1.5, (0, 0, 0.05))
start = np.array([2.5, -0.3, 0, -2.0, 0, 1.8, 0.5])
goal = model.pose([4.1, *start[1:]])  # joint 1 cannot turn that far
speeds = np.array([joint.limits.velocity for joint in model.model.joints])
DT, STEPS, REST, HORIZON = 0.01, 200, 100, 30  # s; steps of the plan, at rest, of MPC


def too_fast(t, q, dq, tau):
    """Speeds beyond 80 % of their limits, as shares of them."""
    return maximum(absolute(dq) / speeds - 0.8, 0.0)


reach = optimal.Problem(
    model,
    dt=DT,
    steps=STEPS,
    costs={
        "position": optimal.FramePosition(target=goal[:3, 3], weight=5.0, final=1e4),
        "rotation": optimal.FrameRotation(target=goal[:3, :3], weight=0.5, final=1e3),
        "still": optimal.Rates(weight=2.0, final=100.0),
        "effort": optimal.Effort(weight=1e-3),
        "limits": optimal.JointLimits(target=[0.05], weight=1e3),  # from 0.05 rad before them
        "speeds": optimal.Residual(function=too_fast, entries=7, weight=1e3),
    },
)
blind = reach.with_costs(
    limits=optimal.JointLimits(), speeds=optimal.Residual(function=too_fast, entries=7)
)
for name, problem in {"without barriers": blind, "with barriers": reach}.items():
    plan = problem.solve(start, iterations=200)
    verdict = kt.motion.check_limits(model, plan.trajectory)
    miss = 1e3 * np.linalg.norm((model.pose(plan.q[-1]) - goal)[:3, 3])
    print(f"{name}: {plan.reason}, {miss:.1f} mm beside the goal; limits violated:",
          len(verdict.violations))  # fmt: skip

# The reference of both controllers: a spline through the plan, then a second at rest.
spline = motion.spline(plan.q[::10], times=DT * np.arange(0, STEPS + 1, 10), dt=DT, robot=model)
rest = ((0, REST + HORIZON), (0, 0))
q, dq, ddq = np.pad(spline.q, rest, "edge"), np.pad(spline.dq, rest), np.pad(spline.ddq, rest)


def computed_torque(known, kp):
    """Computed torque of the known robot, critically damped."""
    path = motion.Trajectory(t=DT * np.arange(len(q)), q=q, dq=dq, ddq=ddq, model=model.model)
    law = controllers.ComputedTorque(path, kp=kp, kd=2 * np.sqrt(kp), model=known)
    step = controllers.step_by_step(law, real)
    return lambda t, x, dx: step(t, x, dx)[0]


def predictive(known):
    """MPC of the known robot: the next 0.3 s of the reference, one iteration a tick."""
    tau = known.inverse_dynamics(q, dq, ddq)

    def ahead(k):
        s = slice(k, k + HORIZON + 1)
        return {
            "path": optimal.Posture(target=q[s], weight=1e4, final=1e3),
            "rates": optimal.Rates(target=dq[s], weight=1e2, final=10.0),
            "effort": optimal.Effort(target=tau[s], weight=1e-3),
            "limits": optimal.JointLimits(weight=1e3),
        }

    mpc = optimal.MPC(optimal.Problem(known, dt=DT, steps=HORIZON, costs=ahead(0)))

    def law(t, x, dx):
        mpc.problem = mpc.problem.with_costs(**ahead(round(t / DT)))
        return mpc(x, dx)

    return law


def follow(law):
    """The real robot under a law: the run, and errors of its joints, rad."""
    law, last = controllers.Sampled(law, DT), STEPS + REST - 1
    options = {"method": "DOP853", "record": DT, "limits": "record"}
    run = real.simulate(start, controller=law, duration=last * DT, **options)
    return run, run.q - q[: last + 1]


cases = {
    "computed torque, kp = 400": computed_torque(model, 400.0),
    "computed torque, kp = 1600": computed_torque(model, 1600.0),
    "MPC": predictive(model),
    "computed torque, all known": computed_torque(real, 400.0),
    "MPC, all known": predictive(real),
}
runs = {name: follow(law) for name, law in cases.items()}


def rms(x):
    """Root of the mean square."""
    return np.sqrt((x**2).mean())


print(f"\n{'':26}   error, mrad           torque, N m\n{'':29}RMS   max  at rest     RMS   max")
for name, (run, e) in runs.items():
    print(f"{name:26}{1e3 * rms(e):6.1f}{1e3 * abs(e).max():6.1f}{1e3 * abs(e[-1]).max():9.1f}",
          f"{rms(run.tau):7.1f}{abs(run.tau).max():6.1f}")  # fmt: skip

print("\n        computed torque, kp = 400     MPC")
print("joint" + "    RMS   max  N m RMS   max" * 2)
pair = [runs["computed torque, kp = 400"], runs["MPC"]]
for j in range(model.n):
    row = f"{j + 1:5}"
    for run, e in pair:
        error, tau = 1e3 * e[:, j], run.tau[:, j]
        row += f"{rms(error):7.1f}{abs(error).max():6.1f}{rms(tau):9.1f}{abs(tau).max():6.1f}"
    print(row)
runs["MPC"][0].to_csv("turn.csv")

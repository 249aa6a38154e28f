"""A humanoid shifts its weight from foot to foot, on two feet that stay where they are.

Constraints hold both soles. MPC moves the centre of mass towards one foot and then towards the
other; the forces of the constraints show how much each foot carries, and that the ground never has
to pull. The movie of the documentation is made by

    python examples/20_shift_weight.py
    kinetree render humanoid shift.csv -o shift_weight.gif --size 320x320 --fps 12 --camera -0.5 0.1
"""

import numpy as np

import kinetree as kt
from kinetree import controllers, motion, optimal
from kinetree.constraints import mobility

# Knees bent; arms, neck and chest stiff. The legs have twelve joints and the waist two.
whole = kt.robots.humanoid()
legs = ("hip", "knee", "ankle", "waist", "base")
stiff = [name for name in whole.joint_names if not any(part in name for part in legs)]
body = whole.lock(dict.fromkeys(stiff, 0.0))
bend = {"hip_swing": -0.3, "knee": 0.6, "ankle_swing": -0.3}
q = body.neutral()
for side in ("left", "right"):
    for name, angle in bend.items():
        q[body.coordinate_names.index(f"{side}_{name}")] = angle
q[body.coordinate_names.index("base.z")] -= body.pose(q, frame="left_sole")[2, 3]

soles = {side: body.pose(q, frame=f"{side}_sole") for side in ("left", "right")}
holds = {side: kt.constraints.Hold(f"{side}_sole", "pose", T) for side, T in soles.items()}
robot = body.constrained(holds, actuated=body.joint_names[1:])
print(f"{robot.n} degrees of freedom, {len(mobility(robot).independent)} of them with held feet")

# The way of the centre of mass: 60 mm to the left, to the right, and back.
DT, TICKS, HORIZON = 0.04, 150, 20
t = DT * np.arange(TICKS + HORIZON + 1)


def smooth(t):
    """From 0 at t = 0 to 1 at t = 1, at rest at both ends."""
    t = np.clip(t, 0, 1)
    return t**3 * (10 - 15 * t + 6 * t**2)


aside = smooth((t - 0.2) / 1.3) - 2 * smooth((t - 2) / 1.8) + smooth((t - 4.3) / 1.3)
way = body.center_of_mass(q) + np.outer(aside, [0, 0.06, 0])

# Torques that tilt the feet are dear: the weight itself moves to the other foot.
tilt = np.array(["ankle_tilt" in name for name in robot.dof_names])
still = np.zeros(robot.n)
standing = np.where(tilt, 0.0, robot.inverse_dynamics(q, still, still))


def ahead(k):
    """The costs of the horizon that begins at tick k."""
    return {
        "weight": optimal.CenterOfMass(target=way[k : k + HORIZON + 1], weight=1e4, final=1e3),
        "posture": optimal.Posture(target=q, weight=1.0),
        "rates": optimal.Rates(weight=0.1, final=1.0),
        "effort": optimal.Effort(target=standing, weight=np.where(tilt, 1.0, 1e-4)),
    }


problem = optimal.Problem(robot, dt=DT, steps=HORIZON, limits=None, costs=ahead(0))
print(problem.solve(q))
mpc = optimal.MPC(problem, iterations=2)


def law(t, q, dq):
    """One tick, with the targets of its time."""
    mpc.problem = problem.with_costs(**ahead(round(t / DT)))
    return mpc(q, dq)


law = controllers.Sampled(law, DT)
run = robot.simulate(q, controller=law, duration=TICKS * DT, dt=0.01, method="rk4", every=4)
miss = np.abs(body.center_of_mass(run.q) - way[: len(run)]).max()
print(f"centre of mass within {1e3 * miss:.1f} mm of its way")
print("feet within 1e-12 m and rad of their places:", bool(run.meta["closure"].max() < 1e-12))
up = {side: run.meta["constraint_forces"][side][:, 5] for side in soles}  # moment first, then force
weight = 9.81 * body.model.m.sum()
for k in (0, 45, 100, 150):
    shares = ", ".join(f"{side} foot {force[k] / weight:.0%}" for side, force in up.items())
    print(f"t = {run.t[k]:.1f} s: {shares} of the weight")
print("the ground never pulls:", all((force > 0).all() for force in up.values()))

# The whole humanoid, for the movie.
q, dq = np.tile(whole.neutral(), (len(run), 1)), np.zeros((len(run), whole.n))
q[:, [whole.coordinate_names.index(name) for name in robot.coordinate_names]] = run.q
dq[:, [whole.dof_names.index(name) for name in robot.dof_names]] = run.dq
motion.Trajectory(t=run.t, q=q, dq=dq, model=whole.model).to_csv("shift.csv")

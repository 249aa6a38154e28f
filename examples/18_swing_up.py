"""Swing up a double pendulum whose shoulder has no motor: plan, follow, hold.

The plan is one of least cost within 10 N m of the elbow. Its gains correct what disturbs the swing,
and a linear regulator holds the arm upright. The movie of the documentation is made by

    python examples/18_swing_up.py
    kinetree render double_pendulum swing_up.csv -o swing_up.gif --add trace --size 320x320 --fps 15
"""

import numpy as np

import kinetree as kt
from kinetree import controllers, optimal

robot = kt.robots.double_pendulum()
upright, still, motor = np.array([np.pi, 0.0]), np.zeros(2), "elbow"
LIMIT = 10.0  # N m

problem = optimal.Problem(
    robot,
    dt=0.02,
    steps=150,
    actuated=[motor],
    limits=LIMIT,
    method="rk4",  # steps of 20 ms that a simulation confirms
    costs={
        "upright": optimal.Posture(target=upright, final=500.0),
        "still": optimal.Rates(weight=0.01, final=50.0),
        "effort": optimal.Effort(weight=0.01),
    },
)
plan = problem.solve([0.0, 0.0], iterations=300)
print(plan)
print("costs:", {name: round(cost, 2) for name, cost in plan.costs.items()})

# At the top, a linear regulator takes over. Of B it has the column of the elbow alone.
slopes = robot.linearize(upright, still, still)
elbow = robot.joint_names.index(motor)
hold = optimal.lqr(slopes.A, slopes.B[:, [elbow]], np.diag([10.0, 10.0, 1.0, 1.0]), [[0.1]])


def follow(t, q, dq):
    """The plan's force and its gains; after the plan, the regulator."""
    k = round(t / problem.dt)
    if k < problem.steps:
        error = np.concatenate([q - plan.q[k], dq - plan.dq[k]])
        force = plan.tau[k, elbow] + plan.gains[k, 0] @ error
    else:
        force = -(hold.K @ np.concatenate([q - upright, dq]))[0]
    return np.array([0.0, np.clip(force, -LIMIT, LIMIT)])


def swing(law, start):
    """Six seconds of the real pendulum; the law acts every 20 ms."""
    law = controllers.Sampled(law, problem.dt)
    return robot.simulate(start, controller=law, duration=6.0, method="DOP853", record=problem.dt)


# The same start a little aside: forces without feedback miss, the gains bring it back.
aside = [0.05, -0.05]
blind = swing(lambda t, q, dq: plan.tau[min(round(t / problem.dt), problem.steps - 1)], aside)
run = swing(follow, aside)
for name, motion in {"forces alone": blind, "with feedback": run}.items():
    error = np.abs(motion.q[problem.steps] - upright).max()
    print(f"{name}: {error:.2f} rad from upright after {problem.steps * problem.dt:g} s")
print(f"upright after 6 s, to {np.abs(run.q[-1] - upright).max():.3f} rad;",
      f"elbow at most {np.abs(run.tau[:, elbow]).max():.1f} N m")  # fmt: skip
run.to_csv("swing_up.csv")

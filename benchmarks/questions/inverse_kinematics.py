"""Inverse kinematics: how long a pose takes, in one call and in a batch, on one core.

Robotics Toolbox and PyRoki are no requirements of the benchmark: their numbers need peers here.
"""

import numpy as np

from benchmarks.robots import load
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.dynamics.joints.configuration import random_positions

COUNT = 4096
NEAR = 0.1  # rad or m from the solution to the start


def ask(robot: str, effort: Effort) -> Answer:
    """Poses near their starts, one by one and together, and random poses from one start."""
    answer, arm, rng = Answer(), load(robot).robot, np.random.default_rng(0)
    q = random_positions(arm.model, rng, COUNT)
    limits = np.array([(x.limits.lower, x.limits.upper) for x in arm.model.joints]).T
    near = np.clip(q + rng.uniform(-NEAR, NEAR, q.shape), *limits)
    T = arm.pose(q)
    cases = {
        "one pose near its start": (T[0], near[0], None),
        "poses near their starts": (T, near, COUNT),
        "random poses": (T, None, COUNT),
    }
    with one_core():
        for name, (poses, start, count) in cases.items():
            found = arm.inverse_kinematics(poses, start)
            answer.notes.append(f"{name}: {float(np.mean(found.reached)):.2%} reached")
            job = Job(
                "solve(T, start)",
                {"solve": arm.inverse_kinematics, "T": poses, "start": start},
                lambda found=found: found.q,
            )
            timings = side_by_side({"kinetree": job}, effort, count or 1)
            answer.rows += timing_rows("inverse_kinematics", robot, name, timings, count)
    return answer

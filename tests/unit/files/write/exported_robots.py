"""Random robots that a file format can say, and the comparison of two robots by their names."""

import numpy as np

from kinetree import Builder, Friction, Limits, Mimic, Rotor, algorithms
from kinetree.model import random_body, random_direction, random_pose
from robot_states import random_state, relative

SCREWS = ("revolute", "prismatic")


def plain_robot(seed, n, types=SCREWS, *, depth_first=False, mimic=True, rotors=True):
    """Everything that both formats have: symmetric friction, offsets, limits, frames."""
    rng = np.random.default_rng(seed)
    builder = Builder(f"plain {seed}").link("base", *random_body(rng))
    names, movers = ["base"], []
    for i in range(n):
        name, type = f"link{i + 1}", str(rng.choice(types))
        parent = names[-1] if depth_first else str(rng.choice(names))
        screw = type in SCREWS
        follows = mimic and screw and movers and rng.random() < 0.3
        at = np.eye(4) if type == "free" and depth_first else random_pose(rng)
        builder.link(name, *random_body(rng))
        builder.joint(
            f"joint{i + 1}",
            type,
            "base" if type == "free" and depth_first else parent,
            name,
            at=at,
            axis=random_direction(rng),
            point=rng.normal(size=3) * 0.2 * (rng.random() < 0.7),
            friction=Friction(*rng.uniform(0, 1, 2)) if screw else Friction(),
            offset=float(rng.normal()) * (screw and not follows),
            limits=_limits(float(rng.uniform(1, 2)), follows) if screw else Limits(),
            mimic=Mimic(str(rng.choice(movers)), float(rng.normal()), 0.1) if follows else None,
            rotor=Rotor(1e-4, float(rng.normal() * 20)) if rotors and screw else None,
        )
        movers += [f"joint{i + 1}"] if screw and not follows else []
        names.append(name)
        if rng.random() < 0.3:
            builder.link(f"{name}_tip", *random_body(rng))
            builder.joint(f"{name}_weld", "fixed", name, f"{name}_tip", at=random_pose(rng))
    builder.frame("flange", names[-1], random_pose(rng)).frame("eye", names[0], random_pose(rng))
    builder.frame("tool", names[-1], random_pose(rng), tool=True)
    model = builder.build_model()
    return model if len(model.tips) == 1 else model.replace(tool=None)  # as readers have it


def _limits(upper, follows):
    return Limits() if follows else Limits(-2.0, upper, np.inf, 50.0)


def places(names, others):
    return [others.index(name) for name in names]


def worst_difference(found, expected, seed):
    """Largest relative difference of tau, M, forward dynamics and all poses, joints by name."""
    x = random_state(expected, seed)
    coords = places(found.coordinate_names, expected.coordinate_names)
    dofs = places(found.dof_names, expected.dof_names)
    q, dq, ddq = x.q[coords], x.dq[dofs], x.ddq[dofs]
    F_tip = {name: np.full(6, 0.7) for name in expected.frames}
    tau = algorithms.inverse_dynamics(expected, *x.motion, F_tip=F_tip)
    M = algorithms.mass_matrix(expected, x.q)
    pairs = [
        (algorithms.inverse_dynamics(found, q, dq, ddq, F_tip=F_tip), tau[dofs]),
        (algorithms.mass_matrix(found, q), M[np.ix_(dofs, dofs)]),
    ]
    for name in expected.frames:
        T = algorithms.pose(expected, x.q, name)
        pairs.append((algorithms.pose(found, q, name), T))
    return max(relative(a, b) for a, b in pairs)


def limits_by_name(model):
    return {joint.name: joint.limits for joint in model.joints if joint.follows is None}

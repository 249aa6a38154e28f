"""Results do not depend on how the robot is written down."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from changed_robots import on_free_joint, places, renumbered, seen_from
from kinetree import algorithms as kt
from kinetree.model import random_pose
from kinetree.spatial import Ad
from robot_states import EPS, any_robot, random_state, relative

SEEDS = st.integers(0, 10**6)
# up to 30 links, each of them carried through a few products of 6x6 matrices
ROUNDING = 1000 * EPS


@settings(max_examples=30)
@given(SEEDS)
def test_renumbering_links_changes_nothing_but_the_order(seed):
    model = any_robot(seed)
    x = random_state(model, seed)
    other = renumbered(model, np.random.default_rng(seed))
    coords = places(model.coordinate_names, other.coordinate_names)
    dofs = places(model.dof_names, other.dof_names)
    links = places(model.link_names, other.link_names)

    def moved(vector, to):
        return np.array([row for _, row in sorted(zip(to, vector.tolist(), strict=True))])

    q, dq, ddq = moved(x.q, coords), moved(x.dq, dofs), moved(x.ddq, dofs)
    rest = x.all | {"F_ext": moved(x.F_ext, links)}
    ours = kt.newton_euler(model, *x.motion, **x.all)
    theirs = kt.newton_euler(other, q, dq, ddq, **rest)
    assert relative(theirs.tau[dofs], ours.tau) < ROUNDING
    assert relative(theirs.F[links], ours.F) < ROUNDING
    M, other_M = kt.mass_matrix(model, x.q), kt.mass_matrix(other, q)
    assert relative(other_M[np.ix_(dofs, dofs)], M) < ROUNDING
    wrenches = {"F_ext": rest["F_ext"], "F_tip": x.F_tip}
    fast = kt.forward_dynamics(model, *x.motion, **x.wrenches)
    other_fast = kt.forward_dynamics(other, q, dq, ddq, **wrenches)
    assert relative(other_fast[dofs], fast) < ROUNDING * np.linalg.cond(M)


@settings(max_examples=30)
@given(SEEDS)
def test_moving_the_base_frame_moves_poses_alone(seed):
    model = any_robot(seed)
    x = random_state(model, seed)
    T = random_pose(np.random.default_rng(seed))
    other = seen_from(model, T)
    rest = x.all | {"V_base": Ad(T) @ x.V_base, "dV_base": Ad(T) @ x.dV_base}
    ours = kt.newton_euler(model, *x.motion, **x.all)
    theirs = kt.newton_euler(other, *x.motion, **rest)
    for part in ("V", "dV", "F", "tau"):
        assert relative(getattr(theirs, part), getattr(ours, part)) < ROUNDING, part
    assert relative(theirs.T_si, T @ ours.T_si) < ROUNDING
    assert relative(kt.mass_matrix(other, x.q), kt.mass_matrix(model, x.q)) < ROUNDING
    assert relative(kt.gravity_forces(other, x.q), kt.gravity_forces(model, x.q)) < ROUNDING


@settings(max_examples=30)
@given(SEEDS, st.sampled_from(sorted(kt.FORMULATIONS)))
def test_a_moving_base_is_a_free_joint_that_is_driven(seed, formulation):
    model = any_robot(seed)
    x = random_state(model, seed)
    floating = on_free_joint(model)
    q = np.concatenate([[1, 0, 0, 0, 0, 0, 0], x.q])
    dq, ddq = np.concatenate([x.V_base, x.dq]), np.concatenate([x.dV_base, x.ddq])
    F_ext = np.concatenate([np.zeros((1, 6)), x.F_ext])
    tau = kt.inverse_dynamics(model, *x.motion, **x.all, formulation=formulation)
    driven = kt.inverse_dynamics(floating, q, dq, ddq, F_ext, F_tip=x.F_tip)
    assert relative(driven[6:], tau) < ROUNDING


@settings(max_examples=30)
@given(SEEDS)
def test_gravity_is_an_upward_acceleration_of_the_base_or_a_weight_on_every_link(seed):
    model = any_robot(seed)
    x = random_state(model, seed)
    g = kt.gravity_forces(model, x.q)
    weightless = model.with_gravity((0, 0, 0))
    scale = np.abs(model.m).sum() * np.linalg.norm(model.gravity)  # g may cancel, weights do not
    by_wrenches = kt.gravity_forces_by_wrenches(model, x.q)
    assert np.abs(by_wrenches - g).max() < ROUNDING * max(scale, np.abs(g).max())
    weights = kt.gravity_wrenches(model, x.q)
    upward = kt.inverse_dynamics(weightless, *x.motion, dV_base=-model.gravity)
    carried = kt.inverse_dynamics(weightless, *x.motion, weights)
    tau = kt.inverse_dynamics(model, *x.motion)
    assert relative(upward, tau) < ROUNDING
    assert relative(carried, tau) < ROUNDING

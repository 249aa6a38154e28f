"""Mechanisms without a regular position, dead centres, and links without mass."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import tied_robot
from kinetree import algorithms
from kinetree.constraints import Couple, Loop, Rod
from kinetree.errors import InputError, ModelError, SingularityError


def bars(base, *, turn=0.0, kind="axis", **options):
    """A four-bar with bars of 0.3, 0.5 and 0.3 m on a base that is turned in its plane."""
    builder = kt.Builder("bars", gravity=(0, -9.81, 0)).link("base")
    for name, length in (("a", 0.3), ("b", 0.5), ("c", 0.3)):
        builder.link(name, m=1, com=(length / 2, 0, 0), I_com=0.01 * np.eye(3))
    end = base * np.array([np.cos(turn), np.sin(turn), 0])
    builder.joint("ja", "revolute", "base", "a").joint("jb", "revolute", "a", "b", at=(0.3, 0, 0))
    builder.joint("jc", "revolute", "base", "c", at=end)
    builder.frame("fb", "b", (0.5, 0, 0)).frame("fc", "c", (0.3, 0, 0))
    return builder.build().constrained({"loop": Loop("fb", "fc", kind)}, **options)


@pytest.mark.parametrize("turn", [0.0, 0.4, np.pi / 2])
@pytest.mark.parametrize("kind", ["axis", "point"])
def test_bars_stretched_to_their_limit_are_refused_by_name(turn, kind):
    with pytest.raises(InputError, match="'loop' of 'bars' can be closed only in singular pos"):
        bars(1.1, turn=turn, kind=kind)
    near = [turn, 0, turn + np.pi]
    with pytest.raises(InputError, match="Make a bar or a rod longer or shorter"):
        bars(1.1, turn=turn, kind=kind, near=near)


@pytest.mark.parametrize("base", [1.1 - 1e-6, 1.0, 0.5, 0.3, 0.1 + 1e-6])
def test_bars_that_can_move_are_accepted(base):
    """A base of 0.5 m makes a parallelogram, whose flat position is singular and is no obstacle."""
    assert bars(base).mobility.degrees_of_freedom == 1
    assert bars(base, turn=1.0).mobility.degrees_of_freedom == 1


def test_a_start_at_a_singular_position_does_not_hide_the_others():
    assert bars(0.5, near=[0, 0, 0]).mobility.degrees_of_freedom == 1


def test_a_rod_at_full_reach_is_refused_and_a_shorter_one_is_not():
    arm = kt.robots.planar_2r()
    with pytest.raises(InputError, match="row 'a' of constraint 'a' loses its effect there"):
        arm.constrained({"a": Rod("base", "tool", 1.8)})
    robot = arm.constrained({"a": Rod("base", "tool", 1.79)})
    angle = arm.constrained({"a": Couple("joint2", {}, robot.project([0.3, 0.2])[1])})
    q = robot.project([0.3, 0.2])
    state = q, [1.0, 0.0], [2.0, 3.0]
    assert np.abs(robot.forward_dynamics(*state) - angle.forward_dynamics(*state)).max() < 1e-10


@pytest.mark.parametrize("powers", [(1, 1), (1, 0, 1)])
def test_couplings_that_touch_without_crossing_are_refused(powers):
    """q1 = q2 and q1 = q2 + q2^2 (or q2^3) agree at q2 = 0, where their slopes agree too."""
    touching = {"a": Couple("joint1", {"joint2": 1}), "b": Couple("joint1", {"joint2": powers})}
    with pytest.raises(InputError, match="only in singular positions"):
        kt.robots.planar_2r().constrained(touching)


@pytest.mark.parametrize("inertia", [{}, {"m": 1}])
@pytest.mark.parametrize("tie", [Couple("j2", {"j1": 1}), Rod("base", "tip", 0.3)])
def test_a_joint_that_moves_no_inertia_is_refused_by_name(inertia, tie):
    builder = kt.Builder("light").link("base").link("a", m=1, com=(0.1, 0, 0), I_com=np.eye(3))
    builder.link("b", **inertia).joint("j1", "revolute", "base", "a")
    builder.joint("j2", "revolute", "a", "b", at=(0.3, 0, 0)).frame("tip", "b", (0.2, 0, 0))
    with pytest.raises(SingularityError, match="joint 'j2', which moves link 'b', is 0"):
        builder.build().constrained({"tie": tie})


def engine(crank):
    """A slider-crank with its motor at the slider, and a closed position of it."""
    crank_moved = kt.robots.slider_crank()
    robot = crank_moved.unconstrained().constrained(
        crank_moved.model.constraints.given, independent=["slide"], actuated=["slide"]
    )
    lean = -np.arcsin(0.2 * np.sin(crank) / 0.6)
    q = np.array([crank, lean - crank, 0.2 * np.cos(crank) + 0.6 * np.cos(lean) - 0.8])
    return robot, crank_moved, q


@pytest.mark.parametrize("crank", [0.0, np.pi, 1e-8, 1e-7])
def test_dead_centres_give_not_a_number_instead_of_wrong_numbers(crank):
    robot, _, q = engine(crank)
    rest = np.zeros(3)
    M_r, h_r, N = robot.reduced_dynamics(q, rest)
    assert np.isnan(M_r).all() and np.isnan(h_r).all() and np.isnan(N[:2]).all()
    assert np.isnan(robot.inverse_dynamics(q, rest, rest)[2])
    tau, lam, left, _ = robot.constrained_inverse_dynamics(q, rest, rest)
    assert np.isnan(tau[2]) and np.isnan(lam).any() and np.isnan(left).any()
    with pytest.raises(SingularityError, match="'crank', 'rod' do not follow"):
        algorithms.reduced_dynamics(robot.model, q, rest)


@pytest.mark.parametrize("crank", [0.5, 1e-2, 1e-3, 3e-4, np.pi - 3e-4])
def test_next_to_a_dead_centre_results_are_those_of_the_other_coordinate(crank):
    """With n = d slide/d crank: N = N_x / n, M_r = M_x / n^2 and tau = tau_x / n."""
    robot, other, q = engine(crank)
    rest = np.zeros(3)
    M_r, h_r, N = robot.reduced_dynamics(q, rest)
    M_x, h_x, N_x = other.reduced_dynamics(q, rest)
    n = N_x[2, 0]
    assert np.abs(N * n - N_x).max() < 1e-9
    assert abs(M_r[0, 0] * n**2 / M_x[0, 0] - 1) < 1e-9 and abs(h_r[0] * n / h_x[0] - 1) < 1e-9
    assert abs(robot.inverse_dynamics(q, rest, rest)[2] * n / h_x[0] - 1) < 1e-6


def test_a_batch_marks_the_states_at_dead_centres_alone():
    robot, _, q = engine(0.0)
    fine = engine(0.7)[2]
    rest = np.zeros((3, 3))
    states = np.stack([fine, q, fine])
    assert np.isnan(robot.inverse_dynamics(states, rest, rest)[:, 2]).tolist() == [0, 1, 0]
    assert np.isnan(robot.reduced_dynamics(states, rest)[1][:, 0]).tolist() == [0, 1, 0]


def test_float32_results_are_numbers_away_from_dead_centres():
    robot, _, q = engine(0.7)
    single = [x.astype(np.float32) for x in (q, np.zeros(3), np.zeros(3))]
    for name, count in (("inverse_dynamics", 3), ("reduced_dynamics", 2)):
        kernel = getattr(robot, name)
        small, double = kernel(*single[:count]), kernel(q, *np.zeros((count - 1, 3)))
        pairs = zip(small, double, strict=True) if isinstance(small, tuple) else [(small, double)]
        for x, y in pairs:
            assert x.dtype == np.float32 and np.abs(x - y).max() < 1e-4 * np.abs(y).max()


@pytest.mark.parametrize("seed", range(3))
def test_forces_of_a_forbidden_motion_make_the_nearest_allowed_one(seed):
    """ddq that the constraints forbid: the motors make the one nearest to it, measured by M."""
    tree, given, q = tied_robot(seed, 4)
    robot = tree.constrained(given, near=q)
    rng = np.random.default_rng(seed)
    dq = algorithms.project_rates(robot.model, q, rng.normal(size=tree.n))
    wanted = rng.normal(size=tree.n)
    made = robot.forward_dynamics(q, dq, robot.inverse_dynamics(q, dq, wanted))
    M, J = robot.mass_matrix(q), robot.constraint_jacobian(q)
    gamma = robot.constraint_bias(q, dq)
    size = tree.n + len(J)
    matrix = np.zeros((size, size))
    matrix[: tree.n, : tree.n], matrix[: tree.n, tree.n :], matrix[tree.n :, : tree.n] = M, J.T, J
    right = np.concatenate([M @ wanted, -gamma])
    nearest = np.linalg.lstsq(matrix, right, rcond=1e-12)[0][: tree.n]
    assert np.abs(made - nearest).max() < 1e-7 * (1 + np.abs(nearest).max())


def fixed_arm():
    tied = {"a": Couple("joint1", {}, 0.3), "b": Couple("joint2", {}, 0.2)}
    return kt.robots.planar_2r().constrained(tied)


def test_robots_without_freedom_have_no_reduced_equation():
    robot, state = fixed_arm(), ([0.3, 0.2], [0, 0])
    doors = (
        lambda: robot.reduced_dynamics(*state),
        lambda: algorithms.reduced_dynamics(robot.model, *state),
        lambda: kt.export(robot, "reduced_dynamics", "c"),
        lambda: kt.symbolic(robot).M_r,
        lambda: kt.symbolic(robot).N,
        lambda: kt.symbolic(robot).h_r,
    )
    for door in doors:
        with pytest.raises(ModelError, match=r"needs a degree of freedom.*'a', 'b'.*leave it none"):
            door()
    assert kt.symbolic(robot).Phi.shape == (2, 1)


def test_the_margin_vanishes_at_singular_positions_as_the_square_of_the_distance():
    robot = bars(0.5)  # flat at 0, where the parallelogram can turn into its other branch
    angles = np.array([1.0, 1e-2, 1e-3, 0.0])
    q = np.stack([angles, -angles, angles], axis=1)
    assert np.abs(robot.constraint_errors(q)).max() < 1e-15
    margin = robot.constraint_margin(q)
    assert margin[0] > 0.05 and margin[3] < 1e-30
    assert abs(margin[1] / margin[2] - 100) < 0.1
    assert robot.constraint_margin(q[0]).shape == () and robot.constraint_margin(q[0]) == margin[0]
    assert (
        robot.constraint_margin(dict(zip(robot.coordinate_names, q[0], strict=True))) == margin[0]
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_margin_is_the_smallest_eigenvalue_of_the_scaled_matrix(seed):
    tree, given, q = tied_robot(seed, 4)
    robot = tree.constrained(given, near=q)
    found = robot.model.constraints
    J = robot.constraint_jacobian(q)[list(found.kept)]
    root = np.sqrt(np.outer(found.scales, found.scales))
    values = np.linalg.eigvalsh(J @ np.linalg.solve(robot.mass_matrix(q), J.T) / root)
    expected = values[len(found.kept) - len(found.basis)]
    assert abs(robot.constraint_margin(q) - expected) < 1e-10


def test_a_robot_without_constraints_has_no_margin():
    with pytest.raises(ModelError, match="constraint_margin needs a robot with constraints"):
        kt.robots.planar_2r().constraint_margin([0, 0])

"""Inverse kinematics: reachable targets are reached within the limits, others as near as SciPy.

Errors are computed again by `robot.pose`, without the solver.
"""

import numpy as np
import pytest
from scipy.optimize import least_squares

import kinetree as kt
from kinetree.errors import InputError, ShapeError
from kinetree.motion import IKResult, inverse_kinematics

CENTER = "center of mass"
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
TIPS = [f"{x}_tip" for x in ("index", "middle", "ring", "little", "thumb")]
CASES = {  # frames whose poses, or positions (names that end with *), are reached
    "panda": [None], "ur5e": [None], "iiwa_14": [None], "puma_560": [None], "scara": [None],
    "rp": [None], "cart_pole": [None], "spatial_3r": ["*"], "hand": [f"{x}*" for x in TIPS],
    "quadruped": ["trunk", *(f"{x}*" for x in FEET)],
    "humanoid": ["left_hand", "right_hand", "left_foot", "right_foot", f"{CENTER}*"],
    "delta": ["tip*"], "five_bar": ["tip*"], "two_arms": ["middle"],
}  # fmt: skip


def places(robot, name, q):
    """Targets of a case at positions q, (..., nq)."""
    found = {}
    for frame in CASES[name]:
        own = (frame or "").rstrip("*")
        if own == CENTER:
            found[own] = robot.center_of_mass(q)
        else:
            T = robot.pose(q, own or None)
            found[own] = T[..., :3, 3] if (frame or "").endswith("*") else T
    return found if "" not in found else found[""]


def errors(robot, targets, q):
    """Largest distance, m, and angle, rad, by the poses of frames."""
    named = targets if isinstance(targets, dict) else {"": targets}
    far, turned = np.zeros(q.shape[:-1]), np.zeros(q.shape[:-1])
    for frame, target in named.items():
        if frame == CENTER:
            p = robot.center_of_mass(q)
        else:
            T = robot.pose(q, frame or None)
            p = T[..., :3, 3]
        if target.shape[-2:] == (4, 4):
            off = T[..., :3, :3] - target[..., :3, :3]
            turned = np.maximum(turned, np.sqrt((off**2).sum(axis=(-1, -2)) / 2))
            target = target[..., :3, 3]
        far = np.maximum(far, np.linalg.norm(p - target, axis=-1))
    return far, turned


def drawn(name, count):
    """A robot, and random positions within its limits that close its loops."""
    robot = kt.load(name)
    q = [robot.random(rng=k) for k in range(count)]
    if robot.model.constraints is not None:
        q = [kt.constraints.project(robot, x) for x in q]
    return robot, np.array([x for x in q if within(robot, x)])


def within(robot, q):
    for joint in robot.model.joints:
        if len(joint.coords) == 1:
            x = q[..., joint.coords[0]]
            if joint.follows is not None:
                x = float(joint.scale) * x + float(joint.offset)
            if not ((joint.limits.lower - 1e-9 <= x) & (x <= joint.limits.upper + 1e-9)).all():
                return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_reachable_targets_are_reached_within_the_limits(name):
    robot, goals = drawn(name, 200)
    targets = places(robot, name, goals)
    found = inverse_kinematics(robot, targets, restarts=1000 if name == "humanoid" else 100)
    assert found.reached.mean() >= 0.999, found
    far, turned = errors(robot, targets, found.q)
    assert far[found.reached].max() < 2e-9 and turned[found.reached].max() < 2e-9
    assert (far <= found.position_error + 1e-12).all()  # which has the gaps of loops, too
    assert within(robot, found.q)
    if robot.model.constraints is not None:
        assert np.abs(kt.constraints.errors(robot, found.q)).max() < 1e-9


def test_a_result_does_not_depend_on_the_batch():
    robot, goals = drawn("panda", 70)
    T = robot.pose(goals)
    every = robot.inverse_kinematics(T)
    for some in (slice(0, 1), slice(3, 20), slice(20, 70)):
        part = robot.inverse_kinematics(T[some])
        for x in ("q", "reached", "position_error", "rotation_error", "restarts"):
            assert np.array_equal(getattr(part, x), getattr(every, x)[some]), x
    shaped = robot.inverse_kinematics(T.reshape(7, 10, 4, 4))
    assert np.array_equal(shaped.q.reshape(70, 7), every.q)
    one = robot.inverse_kinematics(T[5])
    assert np.array_equal(one.q, every.q[5]) and one.reached.shape == ()


def test_one_pose_near_its_start_has_the_bits_of_a_batch():
    """It enters machine code without the search; poses that need more than a call take it."""
    robot, goals = drawn("panda", 40)
    low, high = np.array([(x.limits.lower, x.limits.upper) for x in robot.model.joints]).T
    starts = np.clip(goals + np.random.default_rng(1).uniform(-0.6, 0.6, goals.shape), low, high)
    T = np.array(robot.pose(goals))
    T[3, 0, 3] += 5.0
    T[4, :3, :3] = np.round(T[4, :3, :3], 6)
    every = robot.inverse_kinematics(T, starts, restarts=20)
    for k in range(len(T)):
        one = robot.inverse_kinematics(T[k], starts[k], restarts=20)
        for x in ("q", "reached", "position_error", "rotation_error", "restarts"):
            assert np.array_equal(getattr(one, x), getattr(every, x)[k]), x
    T[0, 3, 3], T[1, :3, 0], T[2, 0, 3] = 2.0, -T[1, :3, 0], np.nan
    for k in range(3):
        with pytest.raises(InputError):
            robot.inverse_kinematics(T[k], starts[k])
    with pytest.raises(InputError):
        robot.inverse_kinematics(T[5], high + 0.1)


def residuals(robot, T, weights=(1, 1)):
    from kinetree.spatial import log_so3

    def residual(q):
        now = robot.pose(q)
        turn = log_so3(now[:3, :3].T @ T[:3, :3])
        return np.concatenate([weights[0] * turn, weights[1] * (T[:3, 3] - now[:3, 3])])

    return residual


@pytest.mark.parametrize("name", ["panda", "ur5e", "spatial_3r"])
def test_targets_out_of_reach_are_flagged_and_as_near_as_those_of_scipy(name):
    """Bounded least squares from many starts, with the same weight of m and rad."""
    robot, goals = drawn(name, 4)
    lower, upper = np.array([(x.limits.lower, x.limits.upper) for x in robot.model.joints]).T
    T = robot.pose(goals)
    T[:, :3, 3] = 3 * T[:, :3, 3] / np.linalg.norm(T[:, :3, 3], axis=1)[:, None]
    found = robot.inverse_kinematics(T)
    assert not found.reached.any() and within(robot, found.q)
    for k in range(len(T)):
        residual = residuals(robot, T[k])
        starts = [robot.random(rng=100 + i) for i in range(8)]
        best = min(least_squares(residual, x, bounds=(lower, upper)).cost for x in starts)
        own = residual(found.q[k])
        assert own @ own / 2 <= 1.01**2 * best


def test_errors_are_those_of_the_position_that_is_found():
    robot = kt.robots.planar_2r()
    T = np.array(robot.pose([0.3, 0.4]))
    T[:3, :3] = T[:3, :3] @ kt.spatial.exp_so3([0.5, 0.2, 0.0])  # out of the plane
    T[2, 3] = 0.25
    found = robot.inverse_kinematics(T)
    T_q = robot.pose(found.q)
    angle = np.arccos((np.trace(T_q[:3, :3].T @ T[:3, :3]) - 1) / 2)
    assert not found.reached and angle > 0.1
    assert found.rotation_error == pytest.approx(angle, rel=1e-9)
    assert found.position_error == pytest.approx(np.linalg.norm(T_q[:3, 3] - T[:3, 3]), rel=1e-9)


def test_near_its_start_the_nearest_solution_is_found():
    robot, starts = drawn("panda", 20)
    found = robot.inverse_kinematics(robot.pose(starts), starts)
    np.testing.assert_allclose(found.q, starts, atol=1e-8)
    assert not found.restarts.any()


def test_two_links_reach_a_place_as_the_law_of_cosines_says():
    built = kt.Builder("arm").link("base").link("upper", 1.0).link("lower", 1.0)
    limits = {"limits": kt.joints.Limits(-2, 2)}
    built.joint("shoulder", "revolute", "base", "upper", **limits)
    built.joint("elbow", "revolute", "upper", "lower", at=(1, 0, 0), **limits)
    robot = built.frame("tip", "lower", (0.8, 0, 0), tool=True).build()
    x, y = 1.1, 0.7
    elbow = np.arccos((x * x + y * y - 1 - 0.64) / 1.6)
    shoulder = np.arctan2(y, x) - np.arctan2(0.8 * np.sin(elbow), 1 + 0.8 * np.cos(elbow))
    found = robot.inverse_kinematics([x, y, 0], [0.1, 0.5])
    np.testing.assert_allclose(found.q, [shoulder, elbow], atol=1e-8)
    away = robot.inverse_kinematics([[3, 0, 0], [-1.7, 0, 0]])
    assert not away.reached.any()
    assert away.position_error[0] == pytest.approx(1.2, abs=1e-4)


def test_a_posture_is_approached_where_the_targets_leave_a_choice():
    robot, goals = drawn("iiwa_14", 10)
    T, home = robot.pose(goals), np.array([0, 0.5, 0, -1.0, 0, 0.8, 0])
    plain = robot.inverse_kinematics(T)
    found = robot.inverse_kinematics(T, posture=home)
    assert found.reached.all()
    nearer = np.linalg.norm(found.q - home, axis=1) <= np.linalg.norm(plain.q - home, axis=1)
    assert nearer.all()
    k = int(np.argmax([abs(robot.pose(x)[2, 3]) for x in goals]))
    J = robot.body_jacobian(found.q[k])
    free = np.linalg.svd(J)[2][6:]  # at the optimum the rest of the way is not a free motion
    bounds = [(x.limits.lower, x.limits.upper) for x in robot.model.joints]
    at_limit = any(x in pair for x, pair in zip(found.q[k], bounds, strict=True))
    assert at_limit or np.abs(free @ (home - found.q[k])).max() < 1e-5


def test_weights_and_limits_are_those_of_the_call():
    robot, goals = drawn("panda", 6)
    T = robot.pose(goals)
    lower, upper = goals.min(axis=0), goals.max(axis=0)
    found = robot.inverse_kinematics(T, (lower + upper) / 2, lower=lower, upper=upper)
    assert (found.q >= lower).all() and (found.q <= upper).all() and found.reached.all()
    T[:, :3, 3] = 2 * T[:, :3, 3] / np.linalg.norm(T[:, :3, 3], axis=1)[:, None]
    near = robot.inverse_kinematics(T, weights=(1e-2, 1))
    turned = robot.inverse_kinematics(T, weights=(1, 1e-2))
    assert (near.position_error < turned.position_error).all()
    assert (turned.rotation_error < near.rotation_error).all()


def test_rotations_of_six_digits_are_replaced_by_the_nearest_and_named():
    robot, goals = drawn("panda", 5)
    T = robot.pose(goals)
    assert robot.inverse_kinematics(T).rotation_defect == 0
    found = robot.inverse_kinematics(T.round(6))
    assert found.reached.all() and 1e-7 < found.rotation_defect < 1e-5
    np.testing.assert_allclose(robot.pose(found.q), T, atol=2e-6)


def test_all_solutions_of_an_arm_with_a_spherical_wrist_are_found():
    """A UR5e has eight positions for a pose, a Puma four of each wrist."""
    robot, goals = drawn("ur5e", 5)
    T = robot.pose(goals)
    found = robot.inverse_kinematics(T, solutions=10)
    assert found.q.shape == (5, 10, 6) and (found.reached.sum(axis=1) == 8).all()
    for k in range(5):
        own = found.q[k][found.reached[k]]
        assert np.abs(robot.pose(own) - T[k]).max() < 1e-8
        apart = np.abs(own[:, None] - own).max(axis=-1) + np.eye(8)
        assert apart.min() > 1e-3


def test_a_path_is_followed_without_jumps_and_its_end_is_named():
    robot = PANDA
    start = np.array([0.1, -0.5, 0.2, -2, 0.3, 1.5, 0.4])
    path = np.tile(robot.pose(start), (80, 1, 1))
    path[:, 2, 3] += np.linspace(0, 0.15, 80)
    for q0 in (None, start):
        way = kt.motion.follow(robot, path, q0)
        assert way.ok and way.fails_at is None and way.largest_step < 0.05
        assert np.abs(robot.pose(way.q) - path).max() < 1e-8
    np.testing.assert_allclose(way.q[0], start, atol=1e-7)
    path[:, 2, 3] += np.linspace(0, 1.5, 80)
    way = kt.motion.follow(robot, path, start)
    assert not way.ok and 0 < way.fails_at < 80 and str(way.fails_at) in repr(way)
    assert way.reached[: way.fails_at].all() and within(robot, way.q)
    with pytest.raises(ShapeError, match="one target a row"):
        kt.motion.follow(robot, path[None])


@pytest.mark.parametrize("package", ["torch", "jax"])
@pytest.mark.parametrize("kind", ["pose", "position"])
def test_the_gradient_by_the_target_is_that_of_differences(package, kind):
    """Along a motion of the target; a joint at its limit stays there."""
    xp = pytest.importorskip(package)
    robot, start = PANDA, np.array([0.1, -0.5, 0.2, -2, 0.3, 1.5, 0.4])
    w, v, h = np.array([0.1, -0.2, 0.3]), np.array([0.05, 0.1, -0.1]), 1e-6
    T = robot.pose(start)

    def moved(h):
        turned = T @ kt.spatial.pose(kt.spatial.exp_so3(w * h), v * h)
        return turned if kind == "pose" else turned[:3, 3]

    dT = (moved(h) - moved(-h)) / (2 * h)
    q = [robot.inverse_kinematics(moved(x), start, tolerance=1e-13).q for x in (h, -h)]
    expected = (q[0] - q[1]) / (2 * h)
    if package == "torch":
        given = xp.tensor(moved(0), requires_grad=True)
        found = robot.inverse_kinematics(given, start).q
        rows = [xp.autograd.grad(x, given, retain_graph=True)[0].numpy() for x in found]
    else:
        with xp.enable_x64():
            given = xp.numpy.asarray(moved(0))
            rows = xp.jacobian(lambda T: robot.inverse_kinematics(T, start).q)(given)
            q = xp.jit(lambda T: robot.inverse_kinematics(T, start).q)(given)
            np.testing.assert_allclose(q, start, atol=1e-9)
    slopes = np.array([np.sum(np.asarray(row) * dT) for row in rows])
    np.testing.assert_allclose(slopes, expected, atol=1e-5)


PANDA = kt.robots.panda()
POSE = PANDA.pose(PANDA.random(rng=0))
BAD = {
    "not a rotation": lambda: PANDA.inverse_kinematics(2 * np.eye(4)),
    "is not a pose": lambda: PANDA.inverse_kinematics(np.diag([1, 1, -1, 1])),
    "last row": lambda: PANDA.inverse_kinematics(np.vstack([POSE[:3], [0, 0, 1, 1]])),
    "not finite": lambda: PANDA.inverse_kinematics(POSE * np.nan),
    "shape": lambda: PANDA.inverse_kinematics(np.eye(3)[:, :2]),
    "elbow": lambda: PANDA.inverse_kinematics(POSE, frame="elbow"),
    "leading shape": lambda: PANDA.inverse_kinematics({
        "panda_link4": np.zeros((3, 3)), "panda_link7": np.zeros((2, 3))}),
    "frame=... is left out": lambda: PANDA.inverse_kinematics({"panda_link4": POSE}, frame="x"),
    "panda_joint4": lambda: PANDA.inverse_kinematics(POSE, np.zeros(7)),
    "q0 has shape": lambda: PANDA.inverse_kinematics(POSE, np.zeros(6)),
    "exclude everything": lambda: PANDA.inverse_kinematics(POSE, lower=np.full(7, 9.0)),
    "weights": lambda: PANDA.inverse_kinematics(POSE, weights=(-1, 1)),
    "tolerance": lambda: PANDA.inverse_kinematics(POSE, tolerance=-1),
    "restarts": lambda: PANDA.inverse_kinematics(POSE, restarts=-1),
}  # fmt: skip


@pytest.mark.parametrize("word", BAD)
def test_bad_input_is_refused_with_its_element(word):
    with pytest.raises((InputError, ShapeError, LookupError)) as refused:
        BAD[word]()
    assert word in str(refused.value) or word == "not a rotation"


def test_the_result_is_a_record_with_a_line():
    found = PANDA.inverse_kinematics(POSE)
    assert isinstance(found, IKResult) and "1 of 1 reached" in repr(found)

"""Task space by kernels: every variant against the algorithm, batches, and singular positions."""

import numpy as np
import pandas as pd
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.lean import lean_frame, lean_model, lean_tree
from kinetree.algorithms.task_space import Task, tree_task_space
from kinetree.errors import InputError, NameLookupError, ShapeError, SingularityError
from kinetree.model import ALL_TYPES, random_model
from precise_robots import numbers
from robot_states import EPS, random_state, size

FIELDS = ("J", "dJ", "Lambda", "eta", "mu", "p", "J_bar", "N")
LINEAR = (3, 4, 5)


def chain(n, types=("revolute",), seed=1):
    model = random_model(seed, n, types=types, chain=True)
    return kt.Robot(model), random_state(model, seed)


def close(found, expected):
    """To the digits that the condition of the task leaves."""
    slack = 1e3 * EPS * np.linalg.cond(expected.J) ** 2
    for name in FIELDS:
        x = getattr(expected, name)
        terms = size(x) + size(expected.J_bar) * size(expected.J) * (name == "N")
        if name in ("eta", "mu", "p"):
            terms = sum(size(getattr(expected, own)) for own in ("eta", "mu", "p"))
        assert size(getattr(found, name) - x) <= slack * (1 + terms), name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rows": LINEAR, "expressed": "space"},
        {"rows": (5, 0), "expressed": "aligned", "frame": "link3"},
        {"V": np.arange(1.0, 4.0), "rows": LINEAR},
        {"damping": 0.3},
        {"tolerance": 1e-3, "rows": LINEAR},
        {"V": np.arange(1.0, 3.0), "rows": (1, 3), "damping": 0.1},
    ],
    ids=str,
)
def test_every_variant_gives_what_the_algorithm_gives(options):
    robot, x = chain(6 if not options else 4)
    dq = None if "V" in options else x.dq
    found = robot.task_space(x.q, dq, **options)
    close(found, algorithms.task_space(robot.model, x.q, dq, **options))


@pytest.mark.parametrize(("n", "types", "seed"), [(3, ("revolute",), 1), (2, ALL_TYPES, 7)])
def test_joints_of_all_types_and_too_few_joints(n, types, seed):
    robot, x = chain(n, types, seed)
    found = robot.task_space(x.q, x.dq)
    close(found, algorithms.task_space(robot.model, x.q, x.dq))


def test_eta_is_made_of_its_parts():
    """mu of c, p of g, and the rest of springs and friction."""
    robot = kt.robots.spatial_3r()
    springs = {robot.joint_names[1]: kt.Spring(20.0, 0.3)}
    friction = {robot.joint_names[0]: kt.Friction(0.7, 0.4)}
    robot = robot.with_springs(springs).with_friction(friction)
    q, dq = robot.random(rng=1), np.array([0.4, -0.7, 0.9])
    found = robot.task_space(q, dq, rows=LINEAR)
    T = found.J_bar.T
    parts = {
        "mu": T @ robot.coriolis_forces(q, dq) - found.Lambda @ found.dJ @ dq,
        "p": T @ robot.gravity_forces(q),
        "rest": T @ (robot.spring_forces(q) + robot.friction_forces(dq)),
    }
    slack = 1e-11 * sum(map(size, parts.values()))
    assert size(found.mu - parts["mu"]) < slack and size(found.p - parts["p"]) < slack
    assert size(found.eta - sum(parts.values())) < slack and size(parts["rest"]) > 0.1


def test_the_kernel_is_right_to_the_digits_of_its_condition(fifty_digits):
    robot, x = chain(6)
    model = robot.model
    lean, task = lean_model(model), Task(lean_frame(lean_model(model), None), "body", LINEAR)
    exact = tree_task_space(lean_tree(lean, numbers(x.q)), task, numbers(x.dq))
    found = robot.task_space(x.q, x.dq, rows=LINEAR)
    slack = 64 * EPS * np.linalg.cond(found.J) ** 2
    for name in FIELDS:
        expected = getattr(exact, name)
        assert size(numbers(getattr(found, name)) - expected) < slack * (1 + size(expected)), name


def test_a_batch_has_the_bits_of_its_states_and_nan_where_it_is_singular():
    robot = kt.robots.planar_2r()
    q = np.array([[0.1, 0.2], [0.3, 0.0], [0.5, 1e-7], [-0.4, np.pi], [0.2, 1.0]])
    dq = np.arange(10.0).reshape(5, 2)
    found = robot.task_space(q, dq, rows=(3, 4))
    lost = [False, True, True, True, False]
    for name in FIELDS[2:]:
        assert np.isnan(getattr(found, name)).reshape(5, -1).all(1).tolist() == lost, name
    assert np.isfinite(found.J).all() and np.isfinite(found.dJ).all()
    assert found.singular_values.shape == (5, 2)
    for k in (0, 4):
        alone = robot.task_space(q[k], dq[k], rows=(3, 4))
        for name in FIELDS:
            assert getattr(alone, name).tobytes() == getattr(found, name)[k].tobytes()
    for k in (1, 2, 3):
        with pytest.raises(SingularityError, match=r"'tool' has smallest singular value .*damping"):
            robot.task_space(q[k], dq[k], rows=(3, 4))
    assert np.isfinite(robot.task_space(q, dq, rows=(3, 4), damping=0.1).Lambda).all()
    narrow = robot.task_space(q.astype("f4"), dq.astype("f4"), rows=(3, 4))
    assert narrow.Lambda.dtype == np.float32
    assert np.isnan(narrow.Lambda[:, 0, 0]).tolist() == lost


@pytest.mark.parametrize("scale", [0.999, 1.001])
def test_the_tolerance_bounds_the_smallest_singular_value(scale):
    """For fewer rows than joints, as many, and more."""
    for n, rows in ((7, LINEAR), (3, LINEAR), (3, None)):
        robot, x = chain(n)
        sigma = algorithms.task_space(robot.model, x.q, rows=rows).singular_values[-1]
        batch = np.array([x.q, x.q])
        found = robot.task_space(batch, rows=rows, tolerance=sigma * scale)
        assert np.isnan(found.Lambda).all() == (scale > 1)


def test_slopes_of_the_kernel_are_those_of_the_closed_form():
    robot, q, dq = kt.robots.planar_2r(), [0.1, 0.7], [1.0, -0.5]
    kernel = robot.derivative("task_space", ("q", "dq"), rows=(3, 4))
    names = [port.name for port in kernel.graph.outputs]
    found = dict(zip(names, kernel(q, dq), strict=True))
    expected = robot.task_space_derivatives(q, dq, rows=(3, 4))
    pairs = {"dLambda_dq": "dLambda_dq", "dJ_dq": "dJ_dq", "deta_dq": "deta_dq"}
    for name, own in (pairs | {"deta_ddq": "deta_dv"}).items():
        wanted = getattr(expected, own)
        assert size(found[name] - wanted) < 1e-12 * (1 + size(wanted))


def test_records_are_plain_and_kernels_are_labelled():
    robot = kt.robots.planar_2r()
    q, dq = pd.Series({"joint2": 0.2, "joint1": 0.1}), {"joint2": 0.5, "joint1": 1.0}
    found = robot.task_space(q, [1.0, 0.5], rows=(3, 4))
    assert type(found.Lambda) is np.ndarray
    assert np.array_equal(found.eta, robot.task_space([0.1, 0.2], dq, rows=(3, 4)).eta)
    J, _, Lambda, *_ = robot.compile("task_space", rows=(3, 4))(q, [1.0, 0.5])
    assert J.index.tolist() == Lambda.columns.tolist() == ["linear_x", "linear_y"]
    assert J.columns.tolist() == list(robot.joint_names)


def test_kernels_are_made_once_for_a_task():
    robot, x = chain(4)
    robot.task_space(x.q, x.dq, rows=LINEAR)
    made = len(robot.model.memo)
    for damping in (0.1, 0.2, 0.3):
        robot.task_space(x.q, x.dq, rows=list(LINEAR), damping=damping)
    robot.task_space(x.q, rows=list(LINEAR))
    assert len(robot.model.memo) == made + 1  # the damped one


def test_what_is_wrong_is_named():
    robot = kt.robots.planar_2r()
    q = [0.1, 0.2]
    with pytest.raises(NameLookupError, match="no frame 'hand'"):
        robot.task_space(q, frame="hand")
    with pytest.raises(InputError, match="expected body, space or aligned"):
        robot.task_space(q, expressed="tool")
    with pytest.raises(InputError, match="rows are"):
        robot.task_space(q, rows=(7,))
    with pytest.raises(InputError, match="not both"):
        robot.task_space(q, q, V=np.zeros(6))
    with pytest.raises(InputError, match="damping is -1"):
        robot.task_space(q, damping=-1)
    with pytest.raises(InputError, match=r"q\[1\] is nan"):
        robot.task_space([0.1, np.nan], rows=(3, 4))
    with pytest.raises(ShapeError):
        robot.task_space([0.1, 0.2, 0.3])
    with pytest.raises(ShapeError, match="V"):
        robot.task_space(q, V=np.zeros(5))


def test_a_task_that_is_singular_everywhere_is_refused_at_the_state_of_the_caller():
    """A planar arm of three joints cannot move along z."""
    body = {"m": 1.0, "com": (0.5, 0, 0)}
    builder = kt.Builder("flat").link("l0")
    for k in range(3):
        builder.link(f"l{k + 1}", **body)
        builder.joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", at=(1.0 * (k > 0), 0, 0))
    robot = builder.frame("tip", "l3", (1, 0, 0), tool=True).build()
    with pytest.raises(SingularityError, match=r"at q = \[0.1, 0.2, 0.3\]"):
        robot.task_space([0.1, 0.2, 0.3], rows=LINEAR)
    with pytest.raises(SingularityError, match="Choose fewer rows"):
        robot.compile("task_space", rows=LINEAR)
    assert np.isfinite(robot.task_space([0.1, 0.2, 0.3], rows=LINEAR, damping=0.1).Lambda).all()
    with pytest.raises(SingularityError, match="Choose fewer rows"):
        robot.compile("task_space", rows=LINEAR, free=["mass"])
    with pytest.raises(SingularityError, match=r"at q = \[0.1, 0.2, 0.3\]"):
        robot.task_space([0.1, 0.2, 0.3], rows=LINEAR, tolerance=1e-4)

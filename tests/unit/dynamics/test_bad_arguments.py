"""Every algorithm refuses every kind of bad argument, and names it; none leaks or passes it on."""

import inspect

import numpy as np
import pytest

import kinetree as kt
from kinetree import Builder, dynamics
from kinetree.constraints import Rod
from kinetree.contacts import ContactPoint, Contacts, Plane
from kinetree.errors import InputError, KinetreeError, NameLookupError, ShapeError
from random_robots import random_model

MODEL = random_model(11, 4, chain=True)
STATE = ("q", "dq", "ddq", "dq_r", "ddq_r", "tau", "v", "q0", "q1")
VECTORS = {name: np.full(4, 0.3) for name in STATE}
SIXES = {name: np.full(6, 0.3) for name in ("V", "dV", "F")}
PARAMETERS = {"pi": dynamics.parameters(MODEL)}
GOOD = VECTORS | SIXES | PARAMETERS | {"G": np.eye(6)}
GOOD |= {"model": MODEL, "rng": np.random.default_rng(0), "dt": 0.01}
REACH = float(np.linalg.norm(dynamics.pose(MODEL, GOOD["q"])[:3, 3]))
GOOD |= {"constraints": {"rod": Rod("base", MODEL.tool, REACH)}}
TIED = kt.Robot.constrained(MODEL, GOOD["constraints"], near=GOOD["q"])
FEET = (ContactPoint("tip", MODEL.tool),)
TOUCHING = MODEL.replace(contacts=Contacts(FEET, Plane(), 0.8))
NEEDS_CONSTRAINTS = ("constraint", "constrained_", "project", "reduced_", "mobility")
BAD = {
    "too long": (lambda x: np.zeros((len(x) + 1, *x.shape[1:])), ShapeError),
    "too short": (lambda x: np.zeros((0, *x.shape[1:])), ShapeError),
    "of two states": (lambda x: np.stack([x, x]), ShapeError),
    "one number": (lambda x: 1.0, ShapeError),
    "none": (lambda x: None, ShapeError),
    "ragged": (lambda x: [[1], [2, 3]], ShapeError),
    "NaN": (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 1, np.nan, x), InputError),
    "infinite": (lambda x: x + np.inf, InputError),
    "NaN among objects": (lambda x: (x * np.nan).astype(object), InputError),
    "words": (lambda x: ["a"] * len(x), InputError),
    "complex": (lambda x: x * 1j, InputError),
    "a list of records": (lambda x: [{} for _ in x], InputError),
}
FUNCTIONS = {
    name: f
    for name, f in ((x, getattr(dynamics, x)) for x in dynamics.__all__)
    if inspect.isfunction(f)
}


def required(f):
    parameters = inspect.signature(f).parameters.values()
    good = {p.name: GOOD[p.name] for p in parameters if p.default is p.empty}
    if f.__name__.startswith("contact_"):
        return good | {"model": TOUCHING}
    return good | ({"model": TIED} if f.__name__.startswith(NEEDS_CONSTRAINTS) else {})


CASES = [
    (name, argument)
    for name, f in FUNCTIONS.items()
    for argument in required(f)
    if argument not in ("model", "rng", "dt", "constraints")
]


def test_every_function_is_looked_at():
    assert len(FUNCTIONS) >= 41 and len(CASES) >= 66


@pytest.mark.parametrize("dt", [0, -0.01, np.nan, np.inf, None, "0.01", [0.01, 0.02], 1j])
def test_a_bad_time_step_is_refused_and_named(dt):
    given = required(dynamics.step) | {"dt": dt}
    with pytest.raises(KinetreeError):
        dynamics.step(**given)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_a_bad_vector_is_refused_and_named(name, argument):
    f = FUNCTIONS[name]
    good = required(f)
    for fault, (spoil, error) in BAD.items():
        with pytest.raises(error) as caught:
            f(**(good | {argument: spoil(np.asarray(good[argument]))}))
            pytest.fail(f"{fault} was accepted")
        assert isinstance(caught.value, InputError), fault
        assert argument in str(caught.value), fault


@pytest.mark.parametrize(
    "name", [n for n, f in FUNCTIONS.items() if "frame" in str(inspect.signature(f))]
)
def test_an_unknown_frame_is_refused_with_those_that_exist(name):
    f = FUNCTIONS[name]
    with pytest.raises(NameLookupError):
        f(**required(f), frame="hand")


@pytest.mark.parametrize("formulation", dynamics.FORMULATIONS)
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"F_ext": np.zeros(6)}, ShapeError, r"F_ext must have shape \(4, 6\), found \(6,\)"),
        ({"F_ext": np.full((4, 6), np.nan)}, InputError, r"F_ext\[0, 0\] is nan"),
        (
            {"F_tip": np.zeros(5)},
            ShapeError,
            r"F_tip at 'tool' must have shape \(6,\), found",
        ),
        ({"F_tip": {"hand": np.zeros(6)}}, NameLookupError, "is 'hand'; expected"),
        ({"F_tip": {"base": np.full(6, np.nan)}}, InputError, r"F_tip at 'base'\[0\] is nan"),
        ({"V_base": np.zeros(3)}, ShapeError, r"V_base must have shape \(6,\), found \(3,\)"),
        ({"dV_base": [np.inf] * 6}, InputError, r"dV_base\[0\] is inf"),
    ],
)
def test_bad_wrenches_and_base_motions_are_refused(change, error, words, formulation):
    q = np.zeros(4)
    with pytest.raises(error, match=words):
        dynamics.inverse_dynamics(MODEL, q, q, q, formulation=formulation, **change)


def test_an_unknown_formulation_is_refused_with_those_that_exist():
    q = np.zeros(4)
    with pytest.raises(InputError):
        dynamics.inverse_dynamics(MODEL, q, q, q, formulation="euler")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": [6]}, r"rows are \[6\]; expected some of 0, 1, 2 \(angular\), 3, 4, 5"),
        ({"rows": [-1]}, r"rows are \[-1\]"),
        ({"rows": [0, 0]}, r"rows are \[0, 0\]; .* each once"),
        ({"rows": []}, r"rows are \[\]"),
        ({"rows": 3}, "rows are 3"),
        ({"rows": "xy"}, "rows are 'xy'"),
        ({"damping": -1}, "damping is -1.0; expected >= 0"),
        ({"damping": np.nan}, "damping is nan"),
        ({"tolerance": -1}, "tolerance is -1.0; expected >= 0"),
        ({"expressed": "tool"}, "expressed is 'tool'; expected one of body, space, aligned"),
        ({"V": np.zeros(6), "dq": np.zeros(4)}, "give the joint rates dq or the twist V, not both"),
        ({"rows": [3, 4], "V": np.zeros(6)}, r"V has shape \(6,\); expected \(\.\.\., 2\)"),
    ],
)
def test_bad_options_of_task_space_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        dynamics.task_space(MODEL, np.full(4, 0.3), **change)


def test_a_robot_without_joints_has_empty_quantities():
    model = Builder("stone").link("base", 2.0, (0, 0, 1), np.eye(3)).build_model()
    empty = {name: np.zeros(0) for name in VECTORS | PARAMETERS}
    for name, f in FUNCTIONS.items():
        arguments = {p: empty.get(p, model if p == "model" else GOOD[p]) for p in required(f)}
        needs = ("task_space", "constrain", "contact_", *NEEDS_CONSTRAINTS)
        if "model" not in arguments or name.startswith(needs):
            continue
        f(**arguments)
    assert dynamics.mass_matrix(model, []).shape == (0, 0)
    assert dynamics.forward_dynamics_by_articulated_bodies(model, [], [], []).shape == (0,)
    assert dynamics.potential_energy(model, []) == pytest.approx(2 * 9.81, rel=1e-15)
    with pytest.raises(KinetreeError, match="smallest singular value 0"):
        dynamics.task_space(model, [])

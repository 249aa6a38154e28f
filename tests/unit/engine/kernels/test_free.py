"""Robot data left free: with the model's own data nothing changes, with others the robot does."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from compiled_robots import Terms, arguments, textbook, tolerance
from kinetree import algorithms
from kinetree.engine.kernels import free_values, with_free
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.errors import InputError
from kinetree.model import ALL_TYPES, random_model
from robot_states import size

MODELS = {
    "puma": kt.robots.puma_560().model.with_springs({"joint2": kt.Spring(3, 0.2)}),
    "tree": random_model(3, 4, types=ALL_TYPES, mimic=True, springs=True),
}
FREE = ["mass", "com", "inertia", "gravity", "friction", "springs"]  # contacts have their own tests
CHOICES = [*([name] for name in FREE), FREE, ["friction", "mass"]]


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]


def changed_data(model, rng, batch=()):
    """Other data for every free name: heavier links, moved centres, another planet."""
    return {
        "mass": free_values(model, "mass") * rng.uniform(0.5, 2, (*batch, len(model.links))),
        "com": free_values(model, "com") + rng.normal(size=(*batch, len(model.links), 3)) / 10,
        "inertia": free_values(model, "inertia") * rng.uniform(0.5, 2, (*batch, 1, 1, 1)),
        "gravity": rng.normal(size=(*batch, 3)) * 5,
        "friction": rng.uniform(0, 1, (*batch, len(model.links), 4)),
        "springs": rng.uniform(1, 2, (*batch, len(model.springs), 2)),
    }


@pytest.mark.parametrize("free", CHOICES, ids=", ".join)
def test_the_models_own_data_give_the_constant_kernel(model, free):
    kernel = compile_kernel(model, "inverse_dynamics", free=free)
    constant = compile_kernel(model, "inverse_dynamics")
    own = [free_values(model, name) for name in free]
    assert [port.name for port in kernel.graph.inputs[3:]] == free
    assert [port.shape for port in kernel.graph.inputs[3:]] == [x.shape for x in own]
    for seed in range(3):
        terms = Terms.at(model, seed)
        given = arguments("inverse_dynamics", False, terms.x)
        slack = 2 * tolerance(model) * terms.of("inverse_dynamics")
        assert size(kernel(*given, *own) - constant(*given)) <= slack


@pytest.mark.parametrize("free", CHOICES, ids=", ".join)
def test_other_data_are_another_robot(model, free):
    kernel = compile_kernel(model, "inverse_dynamics", free=free)
    rng = np.random.default_rng(0)
    for seed in range(3):
        data = changed_data(model, rng)
        values = [data[name] for name in free]
        other = with_free(model, free, values)
        terms = Terms(other, Terms.at(model, seed).x)
        given = arguments("inverse_dynamics", False, terms.x)
        expected = algorithms.inverse_dynamics(other, *given)
        slack = 2 * tolerance(model) * terms.of("inverse_dynamics")
        assert size(kernel(*given, *values) - expected) <= slack
        assert size(expected - algorithms.inverse_dynamics(model, *given)) > 1e3 * slack


def test_a_batch_of_robots_meets_a_batch_of_states():
    """Domain randomisation: 5 robots along one axis, 7 states along the other."""
    model = MODELS["puma"]
    free = FREE
    kernel = compile_kernel(model, "inverse_dynamics", free=free)
    rng = np.random.default_rng(1)
    data = changed_data(model, rng, batch=(5, 1))
    state = [algorithms.random(model, rng) + np.zeros((7, 1)), *rng.normal(size=(2, 7, 6))]
    tau = kernel(*state, *(data[name] for name in free))
    assert tau.shape == (5, 7, 6)
    for i, j in itertools.product(range(5), range(7)):
        alone = kernel(*(x[j] for x in state), *(data[name][i, 0] for name in free))
        assert alone.tobytes() == tau[i, j].tobytes()


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix", "center_of_mass", "momentum"])
def test_other_quantities_have_free_masses_too(model, name):
    kernel = compile_kernel(model, name, free=["mass"])
    mass = changed_data(model, np.random.default_rng(2))["mass"]
    terms = Terms(with_free(model, ["mass"], [mass]), Terms.at(model, 0).x)
    given = arguments(name, False, terms.x)
    expected = textbook(terms.model, name, given)
    slack = 2 * tolerance(model) * terms.of(name)
    assert size(kernel(*given, mass) - expected) <= slack


def test_wrenches_stand_before_free_data(model):
    kernel = compile_kernel(model, "inverse_dynamics", wrenches=True, free=["gravity"])
    assert [port.name for port in kernel.graph.inputs] == ["q", "dq", "ddq", "F_ext", "gravity"]
    terms = Terms.at(model, 4)
    given = arguments("inverse_dynamics", True, terms.x)
    slack = 2 * tolerance(model) * terms.of("inverse_dynamics", True)
    expected = algorithms.inverse_dynamics(model, *given)
    assert size(kernel(*given, model.gravity[3:]) - expected) <= slack


def test_springs_are_free_only_where_there_are_some():
    with pytest.raises(InputError, match="'springs' cannot be left free: 'planar 2R' has no"):
        kt.robots.planar_2r().compile("inverse_dynamics", free=["springs"])


def test_free_friction_keeps_a_friction_function():
    builder = kt.Builder("rubbing").link("base").link("arm", 1, (0, 0, 1))
    friction = kt.Friction(viscous=2, function=lambda dq: 3 * dq * dq * dq)
    builder.joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0), friction=friction)
    robot = builder.build()
    kernel = robot.compile("friction_forces", free=["friction"])
    assert kernel([2.0], [[2.0, 2.0, 0.0, 0.0]]) == robot.friction_forces([2.0]) == [28.0]
    assert kernel([2.0], [[5.0, 5.0, 1.0, 1.0]]) == [35.0]


@pytest.mark.parametrize(
    ("free", "words"),
    [
        (["masses"], "'masses' cannot be left free; choose from mass, com, inertia"),
        ("mass", r"free is 'mass'; expected a list of names, such as \['mass'\]"),
        (["com", "mass", "com"], "'com' is left free twice"),
    ],
)
def test_wrong_names_are_refused(model, free, words):
    with pytest.raises(InputError, match=words):
        compile_kernel(model, "inverse_dynamics", free=free)

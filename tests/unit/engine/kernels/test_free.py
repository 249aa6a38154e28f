"""Robot data left free: with the model's own data nothing changes, with others the robot does."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.engine.kernels import FREE as ALL
from kinetree.engine.kernels import free_values, with_free
from kinetree.engine.kernels.free import check_free
from random_robots import ALL_TYPES, random_model

MODELS = {
    "puma": kt.robots.puma_560().with_springs({"joint2": kt.joints.Spring(3, 0.2)}).model,
    "tree": random_model(3, 4, types=ALL_TYPES, mimic=True, springs=True),
}
FREE = ["mass", "com", "inertia", "gravity", "friction", "springs"]  # contacts have their own tests


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


def test_a_batch_of_robots_meets_a_batch_of_states():
    """Domain randomisation: 5 robots along one axis, 7 states along the other."""
    model = MODELS["puma"]
    free = FREE
    kernel = kt.Robot(model).compile("inverse_dynamics", free=free)
    rng = np.random.default_rng(1)
    data = changed_data(model, rng, batch=(5, 1))
    state = [dynamics.random(model, rng) + np.zeros((7, 1)), *rng.normal(size=(2, 7, 6))]
    tau = kernel(*state, *(data[name] for name in free))
    assert tau.shape == (5, 7, 6)
    for i, j in itertools.product(range(5), range(7)):
        alone = kernel(*(x[j] for x in state), *(data[name][i, 0] for name in free))
        assert alone.tobytes() == tau[i, j].tobytes()


def test_free_friction_keeps_a_friction_function():
    builder = kt.Builder("rubbing").link("base").link("arm", 1, (0, 0, 1))
    friction = kt.friction.Friction(viscous=2, function=lambda dq: 3 * dq * dq * dq)
    builder.joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0), friction=friction)
    robot = builder.build()
    kernel = robot.compile("friction_forces", free=["friction"])
    assert kernel([2.0], [[2.0, 2.0, 0.0, 0.0]]) == robot.friction_forces([2.0]) == [28.0]
    assert kernel([2.0], [[5.0, 5.0, 1.0, 1.0]]) == [35.0]


def test_every_kind_of_free_data_is_read_and_written_in_its_own_place():
    """Each number of the model belongs to one kind, and what was written is read again."""
    model = MODELS["puma"]
    points = [
        kt.contacts.ContactPoint("one", model.link_names[-1], (0, 0, 0.1), 0.01, 0.5, 0.25),
        kt.contacts.ContactPoint("two", model.link_names[-2], (0, 0, 0.2), 0.01),
    ]
    ground = kt.contacts.Plane((0, 0, 1), (0, 0, 0.5))
    model = model.replace(contacts=kt.contacts.Contacts(points, ground, 0.75, 0.125))
    assert free_values(model, "contact_friction").tolist() == [0.5, 0.75]
    assert free_values(model, "restitution").tolist() == [0.25, 0.125]
    assert free_values(model, "ground").tolist() == [0, 0, 1, 0, 0, 0.5]
    for name in ALL:
        values = free_values(model, name)
        other = with_free(model, [name], [values * 0.5 + 0.25])
        np.testing.assert_array_equal(free_values(other, name), values * 0.5 + 0.25)
        for untouched in set(ALL) - {name}:
            found = free_values(other, untouched)
            np.testing.assert_array_equal(found, free_values(model, untouched))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("mass", (1,), -1.0),
        ("inertia", (1, 0, 0), 100.0),  # above the sum of the other two
        ("inertia", (1, 0, 1), 5.0),  # not symmetric
        ("friction", (2, 3), -0.1),
        ("springs", (0, 0), -1.0),
    ],
)
def test_numbers_that_no_robot_has_are_refused(name, place, value):
    model = MODELS["puma"]
    values = np.stack([free_values(model, name)] * 3) * 1.5
    if name == "inertia":  # those of this robot are no body's
        values[...] = np.eye(3)
    check_free(model, name, values)
    values[(2, *place)] = value
    with pytest.raises(kt.errors.ModelError):
        check_free(model, name, values)
    check_free(with_free(model, [name], [values[2]]), name, values[2:])  # it is so already

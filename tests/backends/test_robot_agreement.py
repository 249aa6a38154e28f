"""Every kernel agrees with the textbook, on floats and on fifty digits, to 8 and 24 eps.

Among the robots are arms of six and seven joints and a humanoid of 44.
"""

from functools import cache, partial

import pytest

from compiled_robots import CASES, Terms, arguments, case_name, check_kernel, textbook, tolerance
from example_robots import example
from kinetree import Spring, robots
from kinetree.algorithms.quantities import QUANTITIES
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.model import ALL_TYPES, WORLD, random_model
from robot_states import size

mpmath = pytest.importorskip("mpmath")


def sprung(model):
    """The robot with springs on its first and last joint, and one between two joints."""
    first, second, *_, last = [joint.name for joint in model.joints]
    between = Spring(3.5, -0.2, joints={first: 1, second: -0.5})
    springs = {first: Spring(12.5, 0.3), last: Spring(8.0), "between": between}
    return model.with_springs(springs)


BUILT_IN = {
    name: lambda name=name: getattr(robots, name)().model
    for name in (
        "planar_2r",
        "scara",
        "puma_560",
    )
}
RANDOM = {
    "free and planar chain": lambda: random_model(8, 3, types=ALL_TYPES, chain=True),
    "tree of all types": lambda: random_model(3, 4, types=ALL_TYPES, mimic=True),
    "tree of screws": lambda: sprung(random_model(7, 10, mimic=True)),
    "chain of screws": lambda: sprung(random_model(16, 7, chain=True)),
    "spherical chain": lambda: random_model(5, 2, types=("spherical", "revolute"), chain=True),
    "one slide": lambda: random_model(10, 1, types=("prismatic",)),
}
EXAMPLES = {name: partial(example, name) for name in ("panda", "ur5", "talos")}
ROBOTS = BUILT_IN | RANDOM | EXAMPLES


@cache
def model_of(robot):
    return ROBOTS[robot]()


@cache
def precise_model(robot):
    return model_of(robot).astype(mpmath.mpf)


@cache
def terms_of(robot, seed):
    return Terms.at(model_of(robot), seed)


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("robot", ROBOTS)
def test_kernels_agree_with_floats_and_with_fifty_digits(robot, case, fifty_digits):
    model = model_of(robot)
    frame = model.tips[-1] if QUANTITIES[case[0]].framed and model.tool is None else None
    kernel = compile_kernel(model, case[0], wrenches=case[1], frame=frame)
    check_kernel(kernel, precise_model(robot), terms_of(robot, 0), case, frame)


@pytest.mark.parametrize("name", [name for name, x in QUANTITIES.items() if x.framed])
@pytest.mark.parametrize("robot", ["puma_560", "tree of all types"])
def test_kernels_of_every_frame_agree(robot, name, fifty_digits):
    model, terms = model_of(robot), terms_of(robot, 0)
    for frame in model.frames:
        kernel = compile_kernel(model, name, frame=frame)
        check_kernel(kernel, precise_model(robot), terms, (name, False), frame)


def test_the_robots_have_everything_on_them():
    models = [model_of(robot) for robot in ROBOTS]
    joints = [joint for model in models for joint in model.joints]
    assert {joint.type for joint in joints} == set(ALL_TYPES)
    assert any(joint.follows for joint in joints)
    assert any(joint.friction.function for joint in joints)
    assert any(joint.friction.coulomb[0] != joint.friction.coulomb[1] for joint in joints)
    assert any(joint.offset != 0 for joint in joints)
    assert any(len(spring.coords) == 2 for model in models for spring in model.springs)
    rotors = [(model, rotor) for model in models for rotor in model.rotors]
    carriers = {
        "base" if r.link == WORLD else "parent" if r.link == m.parent[r.joint] else "elsewhere"
        for m, r in rotors
    }
    assert carriers == {"base", "parent", "elsewhere"}
    assert any(frame.link == WORLD for model in models for frame in model.frames.values())


@pytest.mark.parametrize("seed", range(100, 108))
def test_random_robots_move_as_the_textbook_says(seed):
    """More robots, against floats: their own error of 8 eps comes on top."""
    model = random_model(
        seed, 1 + seed % 10, types=ALL_TYPES, chain=seed % 2 == 0, mimic=seed % 3 == 0
    )
    for name in ("inverse_dynamics", "forward_dynamics"):
        kernel = compile_kernel(model, name, wrenches=True)
        for k in range(5):
            terms = Terms.at(model, k)
            given = arguments(name, True, terms.x)
            slack = 2 * tolerance(model) * terms.of(name, True)
            assert size(kernel(*given) - textbook(model, name, given)) <= slack

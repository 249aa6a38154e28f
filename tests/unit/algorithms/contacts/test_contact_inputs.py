"""Contacts and starts that are refused, each with a sentence that names it and the way out."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import Box, Boxes, ContactPoint, ContactRim, HeightField, Plane
from kinetree.errors import InputError, KinetreeError

CORNERS = [(-0.1, -0.1, -0.1), (0.1, -0.1, -0.1), (0, 0.1, -0.1)]
NAN = float("nan")


def body(ground=None, **options):
    built = kt.Builder("block").link("world").link("body", m=2.0, I_com=0.02 * np.eye(3))
    robot = built.joint("free", "free", "world", "body").build()
    feet = [ContactPoint(f"p{k}", "body", p) for k, p in enumerate(CORNERS)]
    return robot.with_contacts(options.pop("feet", feet), ground, **options)


def at(height):
    return [1, 0, 0, 0, 0, 0, height]


def run(robot, q=None, dt=1e-3, **options):
    return kt.simulate(robot, at(0.1) if q is None else q, duration=0.1, dt=dt, **options)


def many(count):
    return [ContactPoint(f"p{k}", "body", (0, 0, k)) for k in range(count)]


STEP = Boxes([Box((0, 0, 0.5), (1, 1, 1))])
FAULTS = {
    "friction": (lambda: body(friction=-1), "friction of the contacts is -1; expected 0 or more"),
    "no number": (lambda: body(friction=NAN), "friction of the contacts is nan; expected a finite"),
    "of a point": (lambda: ContactPoint("a", "body", friction=NAN), "friction of contact 'a' is"),
    "radius": (lambda: ContactPoint("a", "body", radius=-1), "radius of contact 'a' is -1"),
    "axis": (lambda: ContactRim("a", "body", (0, 0, 0), (0, 0, 0), 1), "axis of contact 'a'"),
    "restitution": (lambda: body(restitution=2), "restitution of the contacts is 2; expected 0 to"),
    "compliance": (lambda: body(compliance=-1), "compliance of the contacts is -1; expected 0"),
    "normal": (lambda: Plane((0, 0, 0)), "normal of the plane is zero; expected a vector"),
    "heights": (lambda: HeightField([[0, NAN], [0, 0]], 0.1), "heights of the height field"),
    "thousand": (lambda: body(feet=many(1000)), "there are 1000 contacts; expected 128 at most"),
    "twice": (lambda: body(feet=2 * many(1)), "two contacts have the name 'p0'"),
    "below": (lambda: run(body(), at(-0.5)), "q0 puts contact 'p0' 0.6 m inside the ground"),
    "of many": (
        lambda: run(body(), [at(0.2), at(0.05)]), "q0 puts contact 'p0' of rollout [1] 0.05 m",
    ),
    "in a box": (lambda: run(body(STEP), at(0.4)), "0.4 m inside the ground, and 2 more contacts"),
    "below a box": (lambda: run(body(STEP), at(0.1)), "0.4 m inside the ground"),
    "step": (lambda: run(body(), dt=0.1), "dt is 0.1 s, and 'block' has contacts"),
    "parameter": (
        lambda: run(body(), parameters={"contact_friction": [1, -1, 1]}), "entry 'p1' is -1",
    ),
    "parameter nan": (
        lambda: run(body(), parameters={"contact_friction": [1, NAN, 1]}),
        "contact_friction[1] is nan",
    ),
    "ground": (
        lambda: run(body(), parameters={"ground": [[0, 0, 1, 0, 0, 0], [0] * 6]}),
        "a plane whose normal is zero",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input_is_named(fault):
    make, words = FAULTS[fault]
    with pytest.raises(KinetreeError) as found:
        make()
    assert words in str(found.value)


def test_a_robot_inside_a_box_is_raised_onto_it():
    robot = body(STEP)
    q = robot.on_ground(at(0.1))
    assert q[6] == pytest.approx(1.1, abs=1e-9)
    assert run(robot, q).q[-1, 6] == pytest.approx(1.1, abs=1e-6)
    assert body(STEP).on_ground([1, 0, 0, 0, 3, 0, 0.5])[6] == pytest.approx(0.1, abs=1e-9)


def test_the_longest_step_is_allowed():
    run(body(), dt=0.05)
    with pytest.raises(InputError, match=r"better 0\.001 to 0\.005 s"):
        run(body(), dt=0.051)

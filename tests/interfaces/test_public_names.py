"""The front door is small: its names are those of a stored list, each with one import path.

A name that is added or removed on purpose is added to or removed from public_names.txt.
"""

from pathlib import Path
from types import ModuleType

import kinetree

STORED = Path(__file__).parent / "public_names.txt"
MAX_NAMES, MAX_ATTRIBUTES = 25, 60


def test_public_names_are_those_of_the_stored_list():
    assert sorted(kinetree.__all__) == STORED.read_text(encoding="utf-8").split()


def test_public_names_are_few_sorted_and_there():
    names = [name for name in kinetree.__all__ if not name.startswith("_")]
    assert len(names) <= MAX_NAMES and len(set(names)) == len(names)
    assert all(hasattr(kinetree, name) for name in kinetree.__all__)


def test_a_robot_has_few_attributes():
    """What belongs to a subject is a function of its module."""
    robot = kinetree.robots.planar_2r()
    names = {name for name in (*dir(kinetree.Robot), *vars(robot)) if not name.startswith("_")}
    assert len(names) <= MAX_ATTRIBUTES


def test_dir_lists_the_public_names():
    assert dir(kinetree) == sorted(kinetree.__all__)


def test_nothing_else_is_in_the_door_but_modules():
    others = set(vars(kinetree)) - set(kinetree.__all__)
    public = {name for name in others if not name.startswith("_")}
    assert all(isinstance(getattr(kinetree, name), ModuleType) for name in public)


def test_public_names_are_documented():
    for name in kinetree.__all__:
        if not name.startswith("_"):
            assert getattr(kinetree, name).__doc__, name


def test_a_star_gives_the_public_names():
    names = {}
    exec("from kinetree import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == sorted(kinetree.__all__)

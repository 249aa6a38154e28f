"""documented: the `Args:` section of a function of a model, from the names of its parameters.

q, dq, tau, F_ext and others mean the same in every function, so their shapes and units are stated
once: in ARGUMENTS of quantity.py for those that quantities have, and in OTHERS for the rest.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc
from textwrap import fill
from typing import Any, TypeVar, cast

from kinetree.model.quantity import ARGUMENTS

Function = TypeVar("Function", bound=Callable[..., Any])

GROUPS = ("link", "joint", "rotor", "spring", "motor")  # kinds of parameters
OTHERS = {
    "model": "the robot.",
    "robot": "a Robot or a Model.",
    "F_ext": (
        "wrenches (moment, force) from the world onto the links, each in its link's frame, shape "
        "(l, 6), N m and N; None: no wrench."
    ),
    "F_tip": (
        "the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, N m "
        "and N; or {frame: wrench}; None: no wrench."
    ),
    "frame": "name of a frame of the robot; None: the tool.",
    "expressed": '"body", "space" or "aligned": the axes and reference point of the twist.',
    "parent": "number of each link's parent for a tree, -1 for the base; None: a chain.",
    "unphysical": (
        'reaction to a mass or inertia that no body can have: "error", "warn" or "allow".'
    ),
    "options": (
        "name, gravity (3,) in m/s^2, joint_names, link_names, base_name, and of each joint "
        "friction, armature (n,) in kg m^2 or kg, rotors, limits, drives."
    ),
}
SECTION = re.compile(r"^Args:\n((?: {4}.*\n?)+)", re.MULTILINE)
PLACE = re.compile(r"(?=^(?:Returns|Raises):$|\Z)()", re.MULTILINE)  # of a new one
ENTRY = re.compile(r"^ {4}\w.*(?:\n {5,}.*)*", re.MULTILINE)  # "a, b: text" describes both


def documented(function: Function) -> Function:
    """Complete the `Args:` section of a function's docstring; entries that it has are kept."""
    return _completed(function, "")


def entries_of(names: Iterable[str]) -> list[str]:
    """Entries of an `Args:` section for names that mean the same everywhere."""
    return [entry for name in names if (entry := _common(name, ""))]


def documented_batch(function: Function) -> Function:
    """The same of a function that takes any leading axes of states."""
    return _completed(function, "..., ")


def _entries(section: str) -> dict[str, str]:
    """Entries of an `Args:` section by the names of the parameters."""
    entries: dict[str, str] = {}
    for entry in ENTRY.findall(section):
        entries |= dict.fromkeys(entry.partition(":")[0].strip().split(", "), entry)
    return entries


def _completed(function: Function, leading: str) -> Function:
    doc, code = cleandoc(function.__doc__ or ""), function.__code__
    section = cast(re.Match[str], SECTION.search(doc) or PLACE.search(doc))
    text, sections = doc[: section.start()], doc[section.end() :]
    entries = _entries(section[1])
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    names = code.co_varnames[:count]
    parts = dict.fromkeys(entries.get(name) or _common(name, leading) for name in names)
    arguments = "\n".join(["Args:", *filter(None, parts)])
    function.__doc__ = "\n\n".join(x.strip("\n") for x in (text, arguments, sections) if x.strip())
    return function


@cache
def _common(name: str, leading: str) -> str:
    """The entry of a parameter that means the same everywhere; empty for others."""
    meaning = OTHERS.get(name)
    if meaning is None and name in ARGUMENTS:
        x = ARGUMENTS[name]
        dims = x.dims.split()
        last = "," if len(dims) == 1 and not leading else ""
        shape = f"shape ({leading}{', '.join(dims)}{last}), " if dims else ""
        meaning = f"{x.meaning}, {shape}{x.unit}."
    return "" if meaning is None else fill(f"    {name}: {meaning}", 96, subsequent_indent=" " * 8)

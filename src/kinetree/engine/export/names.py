"""Names of exported functions: identifiers of every language."""

import re

from kinetree.errors import InputError

LONGEST = 63  # characters of a name in MATLAB


def identifier(text: str) -> str:
    """Make an identifier: ASCII, a letter first, at most 63 characters.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    return name[:LONGEST].rstrip("_")


def chosen_name(name: str) -> str:
    """Return the name that the caller chose, or raise an error that proposes another one.

    It is not changed: two different names must give two functions.
    """
    if not isinstance(name, str):
        raise InputError(f"name is {name!r}; expected the name of a function, such as 'my_arm'.")
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or len(name) > LONGEST:
        raise InputError(
            f"name is {name[:80]!r}; expected ASCII letters, digits and underscores, a letter "
            f"first, at most {LONGEST} of them, such as {identifier(name)!r}."
        )
    return name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame; the robot's name is cut if the whole would be too long."""
    tail = "_".join(map(identifier, words))[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail

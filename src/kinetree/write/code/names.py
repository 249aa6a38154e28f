"""Names of robots as identifiers, and as words of a comment, whatever they are made of."""

import re

LONGEST = 63  # of a name in MATLAB

# words that one of the languages keeps for itself, or that its mathematics is called by
RESERVED = frozenset(
    """
    abs and arguments as assert async atan2 auto await baremodule begin bool break catch char class
    classdef const constexpr continue cos def default del delete do double elif else elseif end
    enum except exp export extern false finally float fma for fmaf from function global goto if
    import in inline int is lambda let local log long macro main module mutable namespace new nan
    nonlocal not np operator or otherwise parfor pass persistent pow private protected public
    quote raise register restrict return short sign signed sin sizeof spmd sqrt static std struct
    switch template this throw true try type typedef typename union unsigned using virtual void
    volatile wchar_t where while with yield ca casadi numpy
    """.split()
)


def identifier(text: str) -> str:
    """A name that every language takes: ASCII, a letter first, at most 63 characters, not reserved.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    name = name[:LONGEST].rstrip("_")
    return f"{name}_" if name.lower() in RESERVED else name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame, with the robot's name cut where the whole would be too long."""
    tail = identifier("_".join(words))
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail


def plain(text: str) -> str:
    """A name within a comment of any language: one line of harmless characters."""
    return re.sub(r"[^A-Za-z0-9 .,:;()\[\]{}<>=+/^_|@#~&$!'-]", "_", text)

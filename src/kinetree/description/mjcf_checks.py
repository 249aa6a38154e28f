"""What is refused before MuJoCo sees it: numbers it would misread, sizes that would exhaust memory.

Each table has one line per fact.
"""

import re
from collections.abc import Sequence

from kinetree.description.mjcf_nodes import Node, with_ancestors
from kinetree.description.xml import clip
from kinetree.errors import ParseError

# Attributes that hold names or words: "inf" and "nan" are lawful there.
WORDS = frozenset(
    "name class childclass model prefix file content_type joint joint1 joint2 jointinparent body "
    "body1 body2 site site1 site2 sidesite cranksite slidersite refsite geom geom1 geom2 mesh "
    "hfield material texture tendon tendon1 tendon2 actuator camera target frame objname refname "
    "subtree1 subtree2 key value plugin instance flex data meshdir texturedir assetdir builtin "
    "type mode objtype reftype".split()
)
ODD_NUMBER = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?|0x[0-9a-f.p+-]*)", re.IGNORECASE)

# What makes MuJoCo allocate or repeat: (tag, attribute, largest value).
SIZES = (
    ("replicate", "count", 1000),
    ("mesh", "params", 200),
    ("user", "dim", 1000),
    ("contact", "num", 1000),
    ("*", "nsample", 10_000),
    ("*", "actdim", 1000),
)
MAX_COPIES = 200_000  # elements once every replicate is written out
MAX_JOINTS = 2_000  # of them that are joints

# Elements whose motion is no tree of rigid bodies, or whose content lies in another model.
REFUSED = {
    "flexcomp": "a soft body, which is no tree of rigid bodies",
    "flex": "a soft body, which is no tree of rigid bodies",
    "composite": "a generated structure, which recent versions of MuJoCo no longer read",
    "attach": "part of another model",
    "model": "another model",
}


def check_nodes(nodes: Sequence[Node]) -> None:
    """Raise unless every node can be handed to MuJoCo."""
    copies = joints = 0
    for node, around in with_ancestors(nodes):
        if node.tag in REFUSED and not _is_reference(node, around):
            raise ParseError(
                f"{node.where}: {node} is {REFUSED[node.tag]}; expected bodies and joints. "
                f"Remove the <{node.tag}> element, or save the model from MuJoCo with its parts "
                "written out."
            )
        for attribute, value in node.attributes.items():
            if attribute not in WORDS:
                _check_numbers(node, around, attribute, value)
        _check_sizes(node, around)
        times = _copies(around)
        copies, joints = copies + times, joints + times * (node.tag in ("joint", "freejoint"))
        if copies > MAX_COPIES or joints > MAX_JOINTS:
            raise ParseError(
                f"{node.where}: with every <replicate> written out the model has more than "
                f"{MAX_COPIES} elements or {MAX_JOINTS} joints."
            )


def owner(node: Node, around: Sequence[Node]) -> str:
    """The element as a user would name it: itself, and the nearest named body it belongs to."""
    for outer in reversed(around):
        if outer.tag == "body" and "name" in outer.attributes:
            return f"{node} of body {clip(outer.attributes['name'])!r}"
    return str(node)


def _is_reference(node: Node, around: Sequence[Node]) -> bool:
    """An equality constraint on a flex is called <flex> as well; MuJoCo judges that one."""
    return node.tag == "flex" and any(outer.tag == "equality" for outer in around)


def _check_numbers(node: Node, around: Sequence[Node], attribute: str, value: str) -> None:
    if len(value) > 4 * 65536:
        return  # a mesh or height field in the file; its numbers are checked once compiled
    for token in value.split():
        if ODD_NUMBER.fullmatch(token):
            if attribute.endswith("range") and "inf" in token.lower():
                continue  # no limit on that side
            raise ParseError(
                f"{node.where}: {attribute} of {owner(node, around)} is {clip(value)!r}; "
                f"expected finite decimal numbers, found {token!r}."
            )


def _check_sizes(node: Node, around: Sequence[Node]) -> None:
    for tag, attribute, most in SIZES:
        if tag in ("*", node.tag) and attribute in node.attributes:
            value = node.attributes[attribute]
            if any(_integer(token) > most for token in value.split()):
                raise ParseError(
                    f"{node.where}: {attribute} of {owner(node, around)} is {clip(value)!r}; "
                    f"expected at most {most}."
                )


def _copies(around: Sequence[Node]) -> int:
    """How often an element appears, through replicates inside replicates."""
    times = 1
    for outer in around:
        if outer.tag == "replicate":
            times *= max(1, _integer(outer.attributes.get("count", "1")))
    return times


def _integer(text: str) -> int:
    """The integer MuJoCo would read, or 0 where it will refuse the text itself."""
    try:
        return int(min(float(text), 1e18))
    except (ValueError, OverflowError):
        return 0

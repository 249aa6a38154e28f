"""Checks before MuJoCo compiles: numbers that it would misread, sizes that exhaust memory.

Each table has one line per fact.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import ParseError
from kinetree.files.description.mjcf.nodes import (
    Node,
    document_name,
    documents,
    owner,
    with_ancestors,
)
from kinetree.files.description.xml import clip

# Attributes that hold names or words: "inf" and "nan" are valid there.
WORDS = frozenset(
    "name class childclass model prefix file content_type joint joint1 joint2 jointinparent body "
    "body1 body2 site site1 site2 sidesite cranksite slidersite refsite geom geom1 geom2 mesh "
    "hfield material texture tendon tendon1 tendon2 actuator camera target frame objname refname "
    "subtree1 subtree2 key value plugin instance flex data meshdir texturedir assetdir builtin "
    "type mode objtype reftype".split()
)
ODD_NUMBER = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?|0x[0-9a-f.p+-]*)", re.IGNORECASE)

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")  # "1-2" are two, as for MuJoCo

# Attributes that make MuJoCo allocate or repeat: (tag, attribute, largest value).
SIZES = (
    ("replicate", "count", 1000),
    ("mesh", "params", 200),
    ("user", "dim", 1000),
    ("contact", "num", 1000),
    ("*", "nsample", 10_000),
    ("*", "actdim", 1000),
)
MAX_COPIES = 200_000  # elements once every replicate and attach is written out
MAX_JOINTS = 4_000  # of them that are joints
MAX_CHARACTERS = 256 * 2**20  # in their attributes

# Attributes of <inertial> -> options of <compiler> that replace negative numbers.
BOUNDS = {"mass": ("boundmass",), "diaginertia": ("boundinertia", "balanceinertia")}

# Elements whose motion is not that of a tree of rigid bodies.
REFUSED = {
    "flexcomp": "a soft body, which is not a tree of rigid bodies",
    "flex": "a soft body, which is not a tree of rigid bodies",
    "composite": "a generated structure, which recent versions of MuJoCo no longer read",
}


def check_nodes(nodes: Sequence[Node]) -> None:
    """Raise ParseError unless MuJoCo can be given every node."""
    _check_bodies(nodes)
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
    _check_inertias(nodes)
    _check_copies(nodes)


def check_keyframes(nodes: Sequence[Node], nq: int) -> None:
    """Raise if qpos of a keyframe does not fit the compiled model; keyframes are not read further.

    Where parts of the model are copies, MuJoCo writes keyframes anew; their length is not checked.
    """
    if any(node.tag in ("attach", "replicate") for node in nodes):
        return
    for node in nodes:
        entries = len(NUMBER.findall(node.attributes.get("qpos", "")))
        if node.tag == "key" and entries not in (0, nq):
            raise ParseError(
                f"{node.where}: {node} has {counted(entries, 'entry')} in qpos; expected {nq}, as "
                "the joints of the model need. Correct the keyframe or remove it; keyframes do not "
                "enter the dynamics."
            )


def _check_bodies(nodes: Sequence[Node]) -> None:
    root = nodes[0]
    if not any(node.tag == "worldbody" for node in nodes):
        raise ParseError(
            f"{root.where}: the file has no <worldbody>, so it has no bodies and joints. It may be "
            "a part of a model: read the file that includes it."
        )


def _check_inertias(nodes: Sequence[Node]) -> None:
    """Raise for negative masses and moments, which MuJoCo sets to 0 where a body has no joint.

    Bounds of <compiler>, and balanceinertia, say what to put in their place.
    """
    options = [node.attributes.items() for node in nodes if node.tag == "compiler"]
    chosen = {key for pairs in options for key, value in pairs if value not in ("0", "false")}
    for node, around in with_ancestors(nodes):
        for attribute, bounds in BOUNDS.items() if node.tag == "inertial" else ():
            value = node.attributes.get(attribute, "")
            if chosen.isdisjoint(bounds) and any(float(x) < 0 for x in NUMBER.findall(value)):
                raise ParseError(
                    f"{node.where}: {attribute} of {owner(node, around)} is {clip(value)!r}; "
                    f"expected numbers >= 0. Correct it, or set {bounds[0]} of <compiler>."
                )


def _check_copies(nodes: Sequence[Node]) -> None:
    """Bound the model that MuJoCo builds, once every <replicate> and <attach> is written out.

    A document is counted before the ones that attach it, which have smaller numbers.
    """
    by_document = documents(nodes)
    totals: dict[int, Array] = {}
    for k in sorted(by_document, reverse=True):
        totals[k] = _document_amount(by_document[k], by_document, totals)


def _document_amount(
    nodes: Sequence[Node], all_nodes: Mapping[int, Sequence[Node]], totals: Mapping[int, Array]
) -> Array:
    """Amount of one document; a part of another model counts as the whole of it."""
    models = _attachable(nodes, all_nodes, totals)
    bodies: dict[str, Array] = {}  # complete subtrees by the name of their <body> or <frame>
    open_bodies: list[tuple[Node, int, Array]] = []
    total = _amount()
    for node, around in with_ancestors(nodes):
        while open_bodies and open_bodies[-1][0].depth >= node.depth:
            body, times, before = open_bodies.pop()
            bodies[body.attributes["name"]] = (total - before) // times
        times = _copies(around)
        if node.tag in ("body", "frame") and "name" in node.attributes:
            open_bodies.append((node, times, total))
        size = sum(len(value) for value in node.attributes.values())
        total = total + _amount(1, int(node.tag in ("joint", "freejoint")), size) * times
        if node.tag == "attach":
            part = node.attributes.get("body", node.attributes.get("frame", ""))
            if "model" in node.attributes:
                total = total + models.get(node.attributes["model"], _amount()) * times
            else:  # a part of this model; one that is not complete yet has at most all there is
                total = total + bodies.get(part, total) * times
        if np.any(total > _amount(MAX_COPIES, MAX_JOINTS, MAX_CHARACTERS)):
            raise ParseError(
                f"{node.where}: with every <replicate> and <attach> written out the model has more "
                f"than {MAX_COPIES} elements, {MAX_JOINTS} joints or {MAX_CHARACTERS} characters."
            )
    return total


def _amount(elements: int = 0, joints: int = 0, characters: int = 0) -> Array:
    """Numbers of elements, joints and characters of attributes, which may be very large."""
    return np.array([elements, joints, characters], object)


def _attachable(
    nodes: Sequence[Node], all_nodes: Mapping[int, Sequence[Node]], totals: Mapping[int, Array]
) -> dict[str, Array]:
    """Amount of each <model> asset of a document, by the name that <attach> uses."""
    amounts: dict[str, Array] = {}
    names = {document_name(k): k for k in totals}
    for node in nodes:
        k = names.get(node.attributes.get("file", "")) if node.tag == "model" else None
        if k is not None:
            root = all_nodes[k][0]
            default = root.attributes.get("model", "MuJoCo Model")
            name = node.attributes.get("name", default)
            amounts[name] = amounts.get(name, _amount()) + totals[k]
    return amounts


def _is_reference(node: Node, around: Sequence[Node]) -> bool:
    """Return True for a <flex> of <equality>, a constraint on a flex, which MuJoCo checks."""
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
    """Number of copies of an element, through replicates inside replicates."""
    times = 1
    for outer in around:
        if outer.tag == "replicate":
            times *= max(1, _integer(outer.attributes.get("count", "1")))
    return times


def _integer(text: str) -> int:
    """The integer that MuJoCo reads, or 0 where it raises an error itself."""
    try:
        return int(min(float(text), 1e18))
    except (ValueError, OverflowError):
        return 0

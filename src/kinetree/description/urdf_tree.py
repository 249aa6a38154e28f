"""Whether the links and joints of a URDF form one tree."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kinetree.description.records import JointDescription, LinkDescription, Note
from kinetree.description.urdf_values import show
from kinetree.errors import ParseError

WORLD_NAME = "world"


def check_names(entries: Sequence[LinkDescription | JointDescription], kind: str) -> None:
    """Every link and every joint has a name of its own."""
    first: dict[str, str] = {}
    for entry in entries:
        if entry.name in first:
            raise ParseError(
                f"{entry.where}: two {kind}s are called {show(entry.name)}, the other at "
                f"{first[entry.name]}; every {kind} needs its own name."
            )
        first[entry.name] = entry.where


def add_world(
    links: list[LinkDescription], joints: list[JointDescription]
) -> tuple[list[LinkDescription], list[Note]]:
    """The links, with 'world' when joints hang on it though it is not declared."""
    if any(link.name == WORLD_NAME for link in links):
        return links, []
    users = [joint for joint in joints if joint.parent == WORLD_NAME]
    if not users:
        return links, []
    where = users[0].where
    text = f"joint {show(users[0].name)} has parent 'world', which is not declared; a massless "
    return (
        [LinkDescription(WORLD_NAME, where=where), *links],
        [Note(f"{text}link 'world' is added as the root.", where)],
    )


def check_tree(
    links: Sequence[LinkDescription], joints: Sequence[JointDescription], place: str
) -> None:
    """Links and joints form one tree; `place` is where the robot stands in its file."""
    if not links:
        raise ParseError(
            f"{place}: the robot has no <link>; expected at least one, in lower case and directly "
            "under <robot>. A xacro file must be expanded first."
        )
    check_names(links, "link")
    check_names(joints, "joint")
    parents = _parents({link.name for link in links}, joints)
    _check_loops(parents)
    roots = [link for link in links if link.name not in parents]
    if len(roots) > 1:
        found = ", ".join(f"{show(root.name)} ({root.where})" for root in roots[:8])
        more = "" if len(roots) <= 8 else f" and {len(roots) - 8} more"
        raise ParseError(
            f"{roots[1].where}: {len(roots)} links have no parent: {found}{more}; expected one "
            "root. Connect the others by joints (of type 'fixed' if they do not move)."
        )


def _parents(names: set[str], joints: Sequence[JointDescription]) -> dict[str, JointDescription]:
    """The joint above each link."""
    parents: dict[str, JointDescription] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                raise ParseError(
                    f"{joint.where}: joint {show(joint.name)} has {end} {show(link)}, which is no "
                    f"link of the file.{suggest(link, names)}"
                )
        if joint.parent == joint.child:
            raise ParseError(
                f"{joint.where}: joint {show(joint.name)} joins {show(joint.child)} to itself; "
                "expected two different links as parent and child."
            )
        if joint.child in parents:
            other = parents[joint.child]
            raise ParseError(
                f"{joint.where}: link {show(joint.child)} is the child of two joints, "
                f"{show(other.name)} ({other.where}) and {show(joint.name)}; a tree allows one. "
                "Cut the loop at one of them."
            )
        parents[joint.child] = joint
    return parents


def _check_loops(parents: dict[str, JointDescription]) -> None:
    """No link is above itself; each link is visited once."""
    safe: set[str] = set()
    for start in parents:
        trail: dict[str, JointDescription] = {}
        link = start
        while link in parents and link not in safe:
            if link in trail:
                _refuse_loop(link, trail)
            trail[link] = parents[link]
            link = parents[link].parent
        safe.update(trail)


def _refuse_loop(link: str, trail: dict[str, JointDescription]) -> None:
    loop = list(trail.values())[list(trail).index(link) :]
    names = ", ".join(show(joint.name) for joint in loop[:8])
    raise ParseError(
        f"{loop[0].where}: joints {names} form a loop of links, here {show(link)}; expected "
        "a tree with one link that is nobody's child. Cut the loop at one joint."
    )


def suggest(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest of the known names, or a few of them."""
    known = sorted(names)
    same = [other for other in known if other.strip().lower() == name.strip().lower()]
    near = same or get_close_matches(name[:60], known[:2000], 1)
    if near:
        return f" Was {show(near[0])} meant? (Case and blanks count.)"
    some = ", ".join(map(show, known[:8]))
    return f" There are {some}{' and more' if len(known) > 8 else ''}."

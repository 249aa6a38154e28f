"""Groups: a cut of the robot for forward dynamics, chosen for the fewest operations.

Every group has its own small mass matrix, and the link that carries it sees it as one articulated
body (`articulated.py`). Small groups pay 6 x 6 inertias at every joint; large groups pay for a mass
matrix whose factor grows with the cube of its depth. Links that share a degree of freedom, as a
joint and its rotor on another link, cannot be cut apart, and the joints of a motor neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kinetree.dynamics.drives import drive_links
from kinetree.model import WORLD, Model

# Operations, measured on chains of generic joints in lean frames. A link on its own: taken inward
# as an articulated body, its acceleration outward; the same for a leaf, for a link on the world.
HINGE_OPS, LEAF_OPS, FIRST_OPS = 363, 250, 100
# A group: its inertia handed to its carrier. Each of its degrees of freedom: the rigid body taken
# inward, its column handed to the carrier, its momentum past one ancestor, and its share of the
# factor, which grows with the square of the ancestors.
HANDED_OPS, BODY_OPS, COLUMN_OPS, PASSED_OPS, SOLVED_OPS = 130, 20, 147, 37, 6
INNER_OPS = 200  # an articulated body taken inward past one link of a group
MAX_SHARE_OF_CUT = 0.95  # share of the operations of one group that a cut must stay below
MAX_BRANCH_DOFS = 24  # degrees of freedom up to which a branch may be one group


@dataclass(frozen=True)
class Group:
    """Links that are eliminated together, parents first, on the link that carries them.

    Drives that turn beside the robot, or on its base, are the last of them. dofs: their degrees of
    freedom. moving: the links whose motion another group needs.
    """

    links: tuple[int, ...]
    dofs: tuple[int, ...]
    carrier: int
    moving: frozenset[int]


def finest(model: Model) -> list[Group]:
    """The robot cut at every joint where it may be cut."""
    parts = Parts(model)
    return parts.groups(parts.head)


def cheapest(model: Model) -> list[Group]:
    """The robot as one group, or cut: articulated at the base, whole branches at the ends.

    Each branch is one group or cut at its first joints, whichever is estimated to need fewer
    operations, from the leaves to the base.
    """
    parts = Parts(model)
    parent, head = parts.parent, parts.head
    pieces: dict[int, list[int]] = {}
    for i in parts.linked:
        pieces.setdefault(head[i], []).append(i)
    carried: dict[int, list[int]] = {head: [] for head in pieces}
    for first in pieces:
        if parent[first] != WORLD:
            carried[head[parent[first]]].append(first)
    best: dict[int, int] = {}
    kept: dict[int, bool] = {}  # whether the branch of a piece is one group
    branch: dict[int, list[int]] = {}
    for first in reversed(pieces):
        links, children = pieces[first], carried[first]
        last = parent[first] == WORLD
        cut = sum(best[child] for child in children)
        size = len({d for i in links for d in parts.dofs[i]})
        cut += _piece_cost(size, len(links), bool(children), last)
        branch[first] = [*links, *(i for child in children for i in branch[child])]
        one = cut + 1
        if len(branch[first]) <= MAX_BRANCH_DOFS:
            one = parts.cost(sorted(branch[first]), last)
        else:
            branch[first] = branch[first][: MAX_BRANCH_DOFS + 1]  # too many, whatever they are
        kept[first], best[first] = one <= cut, min(one, cut)
    total = sum(best[first] for first in pieces if parent[first] == WORLD)
    one = parts.cost(parts.linked, True)
    if one * MAX_SHARE_OF_CUT <= total:
        return parts.groups([0] * len(parent))
    name: dict[int, int] = {}
    for first in pieces:
        name[first] = first
        if parent[first] != WORLD:
            above = head[parent[first]]
            joined = kept[above] or name[above] != above
            name[first] = name[above] if joined else first
    return parts.groups([name.get(x, x) for x in head])


def _piece_cost(size: int, links: int, carries: bool, last: bool) -> int:
    """Operations of a group of `size` degrees of freedom, with articulated bodies on it."""
    if size == links == 1:
        return FIRST_OPS if last else HINGE_OPS if carries else LEAF_OPS
    depth = size * (size - 1) // 2
    inner = INNER_OPS if carries else BODY_OPS
    handed = 0 if last else HANDED_OPS + COLUMN_OPS * size
    return (
        handed + inner * links + PASSED_OPS * depth + size * size * size // 3 + SOLVED_OPS * depth
    )


class Parts:
    """The links and drives of a robot, and the sets of links that stay together.

    parent, dofs: of every link of its tree. linked: numbers of those that hang on others. loose:
    numbers of the drives beside the robot or on its base. head: the least link of the set of each.
    """

    def __init__(self, model: Model) -> None:
        drives = drive_links(model)
        self.parent = [*model.parent, *(x.parent for x in drives)]
        self.dofs = [*(x.dofs for x in model.joints), *(x.dofs for x in drives)]
        self.head = list(range(len(self.parent)))
        drive = range(len(model.links), len(self.parent))
        self.loose = [i for i in drive if self.parent[i] <= WORLD]
        self.linked = [i for i in self.head if i not in self.loose]
        movers: dict[int, list[int]] = {}
        for i in self.linked:
            for d in self.dofs[i]:
                movers.setdefault(d, []).append(i)
        for links in movers.values():
            self.bind(links)
        for i in self.loose:
            self.bind([j for d in self.dofs[i] for j in movers[d]])

    def bind(self, links: Sequence[int]) -> None:
        """Join links, and those between them, up to the link that carries them all."""
        if len(links) < 2:
            return
        paths = [self.path(self.parent[i]) for i in links]
        shared = set(paths[0]).intersection(*paths[1:])
        above = max(shared)  # the nearest link that all hang on
        self.join({j for i in links for j in self.path(i) if j > above and j not in shared})

    def path(self, i: int) -> list[int]:
        """Links from link i to the world, which is the last."""
        path = [i]
        while i != WORLD:
            i = self.parent[i]
            path.append(i)
        return path

    def join(self, links: Iterable[int]) -> None:
        """Make one set of the sets of some links."""
        heads = {self.head[i] for i in links}
        for i, head in enumerate(self.head):
            self.head[i] = min(heads) if head in heads else head

    def cost(self, links: Sequence[int], last: bool) -> int:
        """Operations of rigid links as one group; `last`: it hangs on the world."""
        depth: dict[int, int] = {}  # degrees of freedom of the links on the way to the carrier
        cost = 0 if last else HANDED_OPS
        for i in links:
            before = depth.get(self.parent[i], 0)
            depth[i] = before + len(self.dofs[i])
            cost += BODY_OPS
            for k in range(before, depth[i]):
                cost += (
                    PASSED_OPS * k + k * k + SOLVED_OPS * k + (0 if last else COLUMN_OPS + 12 * k)
                )
        return cost

    def groups(self, name: Sequence[int]) -> list[Group]:
        """Groups from the name of the set of every link, each behind the one that carries it."""
        members: dict[int, list[int]] = {}
        for i in self.linked:
            members.setdefault(name[i], []).append(i)
        needed = set[int]()  # links whose motion another group needs
        for i in reversed(self.linked):
            p = self.parent[i]
            if p != WORLD and (i in needed or name[p] != name[i]):
                needed.add(p)
        groups: list[Group] = []
        for links in members.values():
            dofs = sorted({d for i in links for d in self.dofs[i]})
            loose = [i for i in self.loose if set(self.dofs[i]) <= set(dofs)]
            moving = frozenset(needed.intersection(links))
            carrier = self.parent[links[0]]
            groups.append(Group((*links, *loose), tuple(dofs), carrier, moving))
        return groups

"""Groups: a cut of the robot for forward dynamics, chosen for the fewest operations.

Every group has its own small mass matrix, and the link that carries it sees it as one articulated
body (`articulated.py`). Small groups pay 6 x 6 inertias at every joint; large groups pay for a mass
matrix whose factor grows with the cube of its depth. Joints that share a degree of freedom, and a
joint with a rotor elsewhere, cannot be cut apart.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

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

    dofs: their degrees of freedom. moving: the links whose motion another group needs.
    """

    links: tuple[int, ...]
    dofs: tuple[int, ...]
    carrier: int
    moving: frozenset[int]
    is_hinge: bool

    def carries(self, i: int) -> bool:
        """Return True if the motion of link i is needed outside the joints of the group."""
        return i in self.moving


def whole(model: Model) -> list[Group]:
    """The robot as one group."""
    return _groups(model, [0] * len(model.links))


def finest(model: Model) -> list[Group]:
    """The robot cut at every joint where it may be cut."""
    return _groups(model, Bonds(model).heads())


def cheapest(model: Model) -> list[Group]:
    """The robot as one group, or cut: articulated at the base, whole branches at the ends."""
    return estimated(model)[0]


def around(model: Model, dofs: Collection[int]) -> list[Group]:
    """Degrees of freedom and all before them as one group on the world, and what hangs on it cut.

    The robot as one group where that needs fewer operations.
    """
    return estimated(model, dofs)[0]


def estimated(model: Model, core: Collection[int] = ()) -> tuple[list[Group], int]:
    """The cheapest groups, and the operations that they need besides the wrenches of the motion.

    Each branch is one group or cut at its first joints, whichever is estimated to need fewer
    operations, from the leaves to the base. Degrees of freedom of `core` are in one group.
    """
    bonds = Bonds(model)
    moved = [i for i, joint in enumerate(model.joints) if not set(core).isdisjoint(joint.dofs)]
    together = {j for i in moved for j in bonds.way(i) if j != WORLD}
    for j in together:
        bonds.join(min(together), j)
    heads = bonds.heads()
    pieces: dict[int, list[int]] = {}
    for i, head in enumerate(heads):
        pieces.setdefault(head, []).append(i)
    size = {
        head: len({d for i in links for d in model.joints[i].dofs})
        for head, links in pieces.items()
    }
    carried: dict[int, list[int]] = {head: [] for head in pieces}
    for head, links in pieces.items():
        if model.parent[links[0]] != WORLD:
            carried[heads[model.parent[links[0]]]].append(head)
    best: dict[int, int] = {}
    kept: dict[int, bool] = {}  # whether the branch of a piece is one group
    branch: dict[int, list[int]] = {}
    for head in reversed(pieces):
        last = model.parent[pieces[head][0]] == WORLD
        cut = sum(best[child] for child in carried[head])
        if together.isdisjoint(pieces[head]):
            cut += _piece_cost(size[head], len(pieces[head]), bool(carried[head]), last)
        else:
            inner = INNER_OPS if carried[head] else 0
            cut += _group_cost(model, pieces[head], last) + inner * len(pieces[head])
        branch[head] = [*pieces[head], *(i for child in carried[head] for i in branch[child])]
        one = cut + 1
        if len(branch[head]) <= MAX_BRANCH_DOFS and together.isdisjoint(pieces[head]):
            one = _group_cost(model, sorted(branch[head]), last)
        else:
            branch[head] = branch[head][: MAX_BRANCH_DOFS + 1]  # too many, whatever they are
        kept[head], best[head] = one <= cut, min(one, cut)
    total = sum(best[head] for head in pieces if model.parent[pieces[head][0]] == WORLD)
    one = _group_cost(model, list(model.links), True)
    if one * MAX_SHARE_OF_CUT <= total:
        return whole(model), one
    name: dict[int, int] = {}
    for head in pieces:
        p = model.parent[pieces[head][0]]
        above = None if p == WORLD else heads[p]
        joined = above is not None and (kept[above] or name[above] != above)
        name[head] = name[above] if above is not None and joined else head
    return _groups(model, [name[head] for head in heads]), total


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


def _group_cost(model: Model, links: Sequence[int], last: bool) -> int:
    """Operations of rigid links as one group; `last`: it hangs on the world."""
    depth: dict[int, int] = {}  # degrees of freedom of the links on the way to the carrier
    cost = 0 if last else HANDED_OPS
    for i in links:
        before = depth.get(model.parent[i], 0)
        of_joint = len(model.joints[i].dofs)
        depth[i] = before + of_joint
        cost += BODY_OPS
        for k in range(before, before + of_joint):
            cost += PASSED_OPS * k + k * k + SOLVED_OPS * k + (0 if last else COLUMN_OPS + 12 * k)
    return cost


class Bonds:
    """Sets of links that stay together, each named by its least link."""

    def __init__(self, model: Model) -> None:
        self.parent = model.parent
        self.head = list(model.links)
        movers: dict[int, list[int]] = {}
        for i, joint in enumerate(model.joints):
            for d in joint.dofs:
                movers.setdefault(d, []).append(i)
        for links in movers.values():
            if len(links) > 1:
                self.bind(links, WORLD - 1)
        for rotor in model.rotors:
            if rotor.link != WORLD:
                self.bind(movers[rotor.dof], rotor.link)
        for motor in model.motors:
            links = [i for d in motor.dofs for i in movers[d]]
            if len(links) > 1:
                self.bind(links, WORLD - 1)

    def bind(self, links: Sequence[int], carrier: int) -> None:
        """Join links, and those between them and a carrier, up to the link that carries them all.

        carrier: a link that must be among them or carry them; WORLD - 1 for no such link.
        """
        ways = [self.way(self.parent[i]) for i in links]
        if carrier >= WORLD:
            ways.append(self.way(carrier))
        shared = set(ways[0]).intersection(*ways[1:])
        above = max(shared)  # the nearest link that all hang on
        ends = [*links, *([carrier] if carrier > above else [])]
        together = {j for i in ends for j in self.way(i) if j > above and j not in shared}
        first = min(together)
        for j in together:
            self.join(first, j)

    def way(self, i: int) -> list[int]:
        """Links from link i to the world, which is the last."""
        path = [i]
        while i != WORLD:
            i = self.parent[i]
            path.append(i)
        return path

    def find(self, i: int) -> int:
        """The least link of the set of link i."""
        while self.head[i] != i:
            self.head[i] = self.head[self.head[i]]
            i = self.head[i]
        return i

    def join(self, i: int, j: int) -> None:
        """Make one set of two."""
        a, b = sorted((self.find(i), self.find(j)))
        self.head[b] = a

    def heads(self) -> list[int]:
        """The name of the set of every link."""
        return [self.find(i) for i in range(len(self.head))]


def _groups(model: Model, heads: Sequence[int]) -> list[Group]:
    """Groups from the name of the set of every link, each behind the one that carries it."""
    members: dict[int, list[int]] = {}
    for i, head in enumerate(heads):
        members.setdefault(head, []).append(i)
    needed: list[bool] = [False] * len(heads)  # the motion of the link is needed by another group
    for i in reversed(range(len(heads))):
        p = model.parent[i]
        if p != WORLD and (needed[i] or heads[p] != heads[i]):
            needed[p] = True
    driven = {rotor.dof for rotor in model.rotors} | {d for x in model.motors for d in x.dofs}
    groups = []
    for links in members.values():
        dofs = sorted({d for i in links for d in model.joints[i].dofs})
        hinge = len(links) == len(dofs) == 1 and not driven & set(dofs)
        moving = frozenset(i for i in links if needed[i])
        groups.append(Group(tuple(links), tuple(dofs), model.parent[links[0]], moving, hinge))
    return groups

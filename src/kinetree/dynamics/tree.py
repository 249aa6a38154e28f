"""Tree: the robot at one position as data, the input of every recursion in this folder.

A recursion is written once, over a Tree, and runs on floats, symbols, fifty-digit numbers and
traced scalars alike. `book.py` makes the Tree in the link frames of the model; `lean.py` makes it
in frames in which the same recursion needs the fewest operations, and kernels are traced from that
one. Joint forces, M, C, energies and momentum do not depend on the choice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics import joints
from kinetree.model import WORLD, Model
from kinetree.model.inputs import coordinates, link_pose, zeros
from kinetree.scalars import Scalar
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments, mirrored, rotated

Pair = tuple[Array, Array]  # force and moment, linear and angular momentum, or (a, alpha)
X = TypeVar("X")  # a quantity of a link in the frame of the link

BESIDE = WORLD - 1  # parent of what turns beside the robot: nothing is passed on from there


def plus(x: Pair, y: Pair) -> Pair:
    """The sum of two wrenches or momenta in one frame."""
    return x[0] + y[0], x[1] + y[1]


@dataclass(frozen=True, eq=False)
class Turn:
    """Rotation about z by an angle, given as its cosine and sine."""

    c: Scalar
    s: Scalar

    def outward(self, x: Array) -> Array:
        """Express a vector of the unturned frame in the turned one."""
        return np.array([self.c * x[0] + self.s * x[1], self.c * x[1] - self.s * x[0], x[2]])

    def inward(self, x: Array) -> Array:
        """Express a vector of the turned frame in the unturned one."""
        return np.array([self.c * x[0] - self.s * x[1], self.s * x[0] + self.c * x[1], x[2]])

    def matrix_inward(self, K: Array) -> Array:
        """R K R^T, (3, 3)."""
        half = np.array([self.inward(row) for row in K]).T
        return np.array([self.inward(row) for row in half]).T

    def symmetric_inward(self, S: Array) -> Array:
        """R S R^T of a symmetric S: 13 operations for the xy-block instead of 27."""
        c, s = self.c, self.s
        e, twice = S[1, 1] - S[0, 0], S[0, 1] + S[0, 1]
        shift = s * (s * e - c * twice)
        xy = S[0, 1] - s * (c * e + s * twice)
        xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
        return np.array([[S[0, 0] + shift, xy, xz], [xy, S[1, 1] - shift, yz], [xz, yz, S[2, 2]]])


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotation by a full matrix, (3, 3)."""

    R: Array

    def outward(self, x: Array) -> Array:
        """Express a vector of the unturned frame in the turned one."""
        return self.R.T @ x

    def inward(self, x: Array) -> Array:
        """Express a vector of the turned frame in the unturned one."""
        return self.R @ x

    def matrix_inward(self, K: Array) -> Array:
        """R K R^T, (3, 3)."""
        return self.R @ K @ self.R.T

    def symmetric_inward(self, S: Array) -> Array:
        """R S R^T of a symmetric S."""
        return rotated(S, self.R)


@dataclass(frozen=True, eq=False)
class JointTransform:
    """The way from the parent's frame to a link's: rotations one after the other, and its origin p.

    p is seen from the parent. Vectors pass through the rotations, such as a sparse constant one and
    the turn of the joint; their 3x3 product is never formed, which saves most of its operations.
    """

    rotations: tuple[Turn | Rotation, ...]
    p: Array

    def outward(self, x: Array) -> Array:
        """Express a vector of the parent in the link's frame."""
        for rotation in self.rotations:
            x = rotation.outward(x)
        return x

    def inward(self, x: Array) -> Array:
        """Express a vector of the link in the parent's frame."""
        for rotation in reversed(self.rotations):
            x = rotation.inward(x)
        return x

    def matrix_inward(self, K: Array) -> Array:
        """Express a matrix of the link, (3, 3), in the parent's frame."""
        for rotation in reversed(self.rotations):
            K = rotation.matrix_inward(K)
        return K

    def symmetric_inward(self, S: Array) -> Array:
        """The same of a symmetric matrix."""
        for rotation in reversed(self.rotations):
            S = rotation.symmetric_inward(S)
        return S

    def twist_outward(self, omega: Array, v: Array) -> Pair:
        """The twist that the parent alone would give the link: the joint is at rest."""
        return self.outward(omega), self.outward(v + cross(omega, self.p))

    def pair_inward(self, f: Array, n: Array) -> Pair:
        """A force and its moment about the link's origin, or a momentum, as the parent's."""
        f = self.inward(f)
        return f, self.inward(n) + cross(self.p, f)

    def body_inward(self, x: Moments) -> Moments:
        """Moments of a body of the link in the parent's frame."""
        S, h = self.symmetric_inward(x.Sigma), self.inward(x.h)
        first = h + self.p * x.m
        mixed = np.outer(self.p, h)
        shifted = [
            [S[a, b] + (mixed[a, b] + first[a] * self.p[b]) for b in range(3)] for a in range(3)
        ]
        return Moments(x.m, first, mirrored(np.array(shifted)))


@dataclass(frozen=True, eq=False)
class TreeLink:
    """One link and the joint that it hangs on, in the frames of the tree.

    dofs: the entries of dq that move the joint. A: twist of the link for their unit rates, (6, k).
    load: force and moment that the world exerts, in the link's frame.
    """

    parent: int
    dofs: tuple[int, ...]
    A: Array
    to: JointTransform
    body: Moments
    load: Pair | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """The links, parents before children, of which the last ones are drives (`drives.py`).

    The joints and motors of `model` have friction; positions, masses and gravity of `model` itself
    are not used. up: acceleration of the base, (3,), which stands for gravity. springs: the
    Springs of `model` at this position (joints/springs.py); None if it has none.
    """

    model: Model
    links: tuple[TreeLink, ...]
    up: Array
    springs: Any = None

    def path_inward(self, i: int) -> list[int]:
        """Links from link i to the base, both ends included; empty for WORLD."""
        path: list[int] = []
        while i > WORLD:
            path.append(i)
            i = self.links[i].parent
        return path

    def outward(
        self, base: X, step: Callable[[int, TreeLink, X], X], links: Iterable[int] | None = None
    ) -> dict[int, X]:
        """Pass a quantity from the base to the leaves: x_i = step(i, link, x_p), x_WORLD = base.

        links: only these, parents first, with x = base for the link that carries the first of them;
        None: all.
        """
        x = {WORLD: base}
        for i in self._numbers(links):
            link = self.links[i]
            x[i] = step(i, link, x.get(link.parent, base))
        return x

    def inward(
        self, x: dict[int, X], onto: Callable[[int, TreeLink, X, X], X]
    ) -> Iterator[tuple[int, X]]:
        """Gather a quantity from the leaves to the base, and visit every link on the way.

        A link and its x are given when all its children have been added; what x is set to then is
        what its parent gets. The order of operations decides the last bits of kernels.

        x: what each link begins with, by link; nothing is carried to links, and to WORLD, that are
        not in it. onto: x of the parent, the last argument, with that of link i.
        """
        for i in sorted((i for i in x if i != WORLD), reverse=True):
            yield i, x[i]
            link = self.links[i]
            if link.parent in x:
                x[link.parent] = onto(i, link, x[i], x[link.parent])

    def gathered(self, x: dict[int, X], onto: Callable[[int, TreeLink, X, X], X]) -> dict[int, X]:
        """Gather a quantity inward without a visit of the links; the result is `x` itself."""
        for _ in self.inward(x, onto):
            pass
        return x

    def couplings(
        self,
        own: Callable[[int, TreeLink], Iterable[X]],
        carry: Callable[[int, TreeLink, X], X],
        links: Iterable[int] | None = None,
    ) -> Iterator["Coupling[X]"]:
        """Every link with every degree of freedom at it or beyond it, from the leaves inward.

        own: what each degree of freedom of a link gives, such as the momentum of its unit rate;
        none for a link that only carries others.
        carry: the same, seen from the parent. links: only these; None: all.
        """
        beyond: dict[int, tuple[Coupling[X], ...]] = {i: () for i in self._numbers(links)}

        def onto(
            i: int, link: TreeLink, x: tuple[Coupling[X], ...], parent: tuple[Coupling[X], ...]
        ) -> tuple[Coupling[X], ...]:
            seen = (Coupling(link.parent, y.dof, None, carry(i, link, y.x)) for y in x)
            return *parent, *seen

        for i, carried in self.inward(beyond, onto):
            link = self.links[i]
            given = zip(link.dofs, own(i, link), strict=False)
            new = (Coupling(i, d, k, x) for k, (d, x) in enumerate(given))
            beyond[i] = *new, *carried
            yield from beyond[i]

    def _numbers(self, links: Iterable[int] | None) -> Iterable[int]:
        return range(len(self.links)) if links is None else links

    def each(self, of: Callable[[TreeLink, int], X]) -> dict[int, X]:
        """A quantity of every link by itself."""
        return {i: of(link, i) for i, link in enumerate(self.links)}

    def twists(self, rates: Array) -> dict[int, Pair]:
        """Angular velocity of every link and velocity of its origin for joint rates, in {i}.

        rates: (n,), or (n, k) for k motions at once. The base, WORLD, is at rest.
        """

        def step(_: int, link: TreeLink, parent: Pair) -> Pair:
            twist = link.A @ rates[list(link.dofs)]
            return plus(link.to.twist_outward(*parent), (twist[:3], twist[3:]))

        still = np.zeros((3, *rates.shape[1:]), int)
        return self.outward((still, still), step)

    def gathered_pairs(
        self, own: Callable[[TreeLink, int], Pair], links: Iterable[int] | None = None
    ) -> dict[int, Pair]:
        """Wrenches or momenta of all links beyond each joint, from those of single links, in {i}.

        links: only these, or WORLD; None: all links.
        """
        sums = dict.fromkeys(self._numbers(links), (zeros(3), zeros(3)))
        for i, beyond in self.inward(sums, pair_onto):
            sums[i] = plus(beyond, own(self.links[i], i))
        return sums

    def composite_bodies(self, base: Moments | None = None) -> dict[int, Moments]:
        """All bodies beyond each joint as one, in {i}; with `base`, the whole robot for WORLD."""
        bodies = self.each(lambda link, _: link.body)
        if base is not None:
            bodies[WORLD] = base
        return self.gathered(bodies, lambda _, x, body, parent: parent + x.to.body_inward(body))

    def joint_forces(self, wrenches: Mapping[int, Pair]) -> Array:
        """A^T (n, f) of every joint, (n,), from pairs (f, n); joints that move together add up."""
        total: list[Any] = [0] * self.model.n
        for i, (f, n) in wrenches.items():
            link = self.links[i]
            for d, part in zip(link.dofs, link.A.T @ np.concatenate([n, f]), strict=True):
                total[d] = total[d] + part
        return np.array(total)


@dataclass(frozen=True, eq=False)
class Coupling(Generic[X]):
    """A link, and what a degree of freedom at it or beyond it gives, seen from the link.

    axis: its number among those of the link's joint; None for one beyond.
    """

    link: int
    dof: int
    axis: int | None
    x: X


def pair_onto(_: int, link: TreeLink, pair: Pair, parent: Pair) -> Pair:
    """The wrench or momentum of a link added to that of its parent."""
    return plus(parent, link.to.pair_inward(*pair))


def weightless(tree: Tree) -> Tree:
    """The tree without gravity, friction, springs and loads: tau at rest is then M ddq."""
    links = tuple(replace(link, load=None) for link in tree.links)
    model = joints.without_passive_forces(tree.model)
    return replace(tree, model=model, links=links, up=zeros(3), springs=None)


def placed_tree(model: Model, q: StateLike) -> Tree:
    """The links at q, (nq,), without drives, springs and wrenches."""
    q = coordinates(model, q)
    links = tuple(book_link(model, q, i) for i in model.links)
    return Tree(model, links, -model.gravity[3:])


def book_link(model: Model, q: Array, i: int) -> TreeLink:
    """Link i of the robot at q, (nq,)."""
    T_pi = link_pose(model, i, q)
    to = JointTransform((Rotation(T_pi[:3, :3]),), T_pi[:3, 3])
    return TreeLink(model.parent[i], model.joints[i].dofs, model.A[i], to, model.moments[i])

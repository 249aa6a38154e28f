"""Tree: the robot at one position as data, the input of every recursion in this folder.

A recursion is written once, over a Tree, and runs on floats, symbols, fifty-digit numbers and
traced scalars alike. `book.py` makes the Tree in the link frames of the model; `lean.py` makes it
in frames in which the same recursion needs the fewest operations, and kernels are traced from that
one. Joint forces, M, C, energies and momentum do not depend on the choice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
class Step:
    """The way from the parent's frame to a link's: a constant R, then the turn of the joint.

    p is the origin of the link seen from the parent. Vectors pass through the sparse R and the turn
    one after the other; their 3x3 product is never formed, which saves most of its operations.
    """

    R: Array
    turn: Turn | Rotation | None
    p: Array

    def outward(self, x: Array) -> Array:
        """Express a vector of the parent in the link's frame."""
        x = self.R.T @ x
        return x if self.turn is None else self.turn.outward(x)

    def inward(self, x: Array) -> Array:
        """Express a vector of the link in the parent's frame."""
        return self.R @ (x if self.turn is None else self.turn.inward(x))

    def matrix_inward(self, K: Array) -> Array:
        """Express a matrix of the link, (3, 3), in the parent's frame."""
        return self.R @ (K if self.turn is None else self.turn.matrix_inward(K)) @ self.R.T

    def pair_inward(self, f: Array, n: Array) -> Pair:
        """A force and its moment about the link's origin, or a momentum, as the parent's."""
        f = self.inward(f)
        return f, self.inward(n) + cross(self.p, f)

    def body_inward(self, x: Moments) -> Moments:
        """Moments of a body of the link in the parent's frame."""
        S, h = x.Sigma, x.h
        if self.turn is not None:
            S, h = self.turn.symmetric_inward(S), self.turn.inward(h)
        S, h = rotated(S, self.R), self.R @ h
        first = h + self.p * x.m
        mixed = np.outer(self.p, h)
        shifted = [
            [S[a, b] + (mixed[a, b] + first[a] * self.p[b]) for b in range(3)] for a in range(3)
        ]
        return Moments(x.m, first, mirrored(np.array(shifted)))


@dataclass(frozen=True, eq=False)
class Load:
    """A wrench F, (6,), that the world exerts on a link, in the frame of the model.

    X: the link's frame in the tree, seen from that of the model, (4, 4); None where they are one.
    """

    F: Array
    X: Array | None = None

    def wrench(self) -> Pair:
        """Moment and force in the link's frame."""
        moment, force = self.F[:3], self.F[3:]
        if self.X is None:
            return moment, force
        R, p = self.X[:3, :3], self.X[:3, 3]
        return R.T @ (moment - cross(p, force)), R.T @ force


@dataclass(frozen=True, eq=False)
class TreeLink:
    """One link and the joint that it hangs on, in the frames of the tree.

    dofs: the entries of dq that move the joint. A: twist of the link for their unit rates, (6, k).
    """

    parent: int
    dofs: tuple[int, ...]
    A: Array
    to: Step
    body: Moments
    load: Load | None = None


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

    @property
    def numbers(self) -> range:
        """Numbers of the links."""
        return range(len(self.links))

    def path_inward(self, i: int) -> list[int]:
        """Links from link i to the base, both ends included; empty for WORLD."""
        path = []
        while i > WORLD:
            path.append(i)
            i = self.links[i].parent
        return path

    def axes(self) -> list[tuple[int, int, Array, Array]]:
        """Link, degree of freedom and axis (w, l) in {i} of every axis on the robot."""
        return [
            (i, d, axis[:3], axis[3:])
            for i, link in enumerate(self.links)
            if link.parent != BESIDE
            for d, axis in zip(link.dofs, link.A.T, strict=True)
        ]

    def outward(
        self,
        base: X,
        step: Callable[[int, TreeLink, X], X],
        links: Iterable[int] | None = None,
    ) -> dict[int, X]:
        """Pass a quantity from the base to the leaves: x_i = step(i, link, x_p), x_WORLD = base.

        links: only these, parents first, with x = base for the link that carries the first of them;
        None: all.
        """
        x = {WORLD: base}
        for i in self.numbers if links is None else links:
            link = self.links[i]
            x[i] = step(i, link, x.get(link.parent, base))
        return x

    def inward(
        self, x: dict[int, X], onto: Callable[[int, TreeLink, X, X], X], *, after: bool = False
    ) -> Iterator[tuple[int, X]]:
        """Gather a quantity from the leaves to the base, and visit every link on the way.

        A link and its x are given when all its children have been added; what x is set to then is
        what its parent gets. The order of operations decides the last bits of kernels.

        x: what each link begins with, by link; nothing is carried to links, and to WORLD, that are
        not in it. onto: x of the parent, the last argument, with that of link i. after: visit a
        link after it has been added to its parent.
        """
        for i in sorted((i for i in x if i != WORLD), reverse=True):
            if not after:
                yield i, x[i]
            link = self.links[i]
            if link.parent in x:
                x[link.parent] = onto(i, link, x[i], x[link.parent])
            if after:
                yield i, x[i]

    def gathered(self, x: dict[int, X], onto: Callable[[int, TreeLink, X, X], X]) -> dict[int, X]:
        """Gather a quantity inward without a visit of the links; the result is `x` itself."""
        for _ in self.inward(x, onto):
            pass
        return x

    def each(self, of: Callable[[TreeLink, int], X]) -> dict[int, X]:
        """A quantity of every link by itself."""
        return {i: of(link, i) for i, link in enumerate(self.links)}

    def with_loads_in_frames(self) -> "Tree":
        """Express every load in its link's frame once, for recursions that share it."""
        loads = [None if link.load is None else link.load.wrench() for link in self.links]
        links = [
            link if load is None else replace(link, load=Load(np.concatenate(load)))
            for link, load in zip(self.links, loads, strict=True)
        ]
        return replace(self, links=tuple(links))

    def per_link(self, x: Array) -> list[Array]:
        """The entries of dq, ddq or tau that belong to the joint of each link."""
        return [x[list(link.dofs)] for link in self.links]

    def twists(self, rates: Array) -> dict[int, Pair]:
        """Angular velocity of every link and velocity of its origin for joint rates, in {i}.

        The base, WORLD, is at rest.
        """

        def step(i: int, link: TreeLink, parent: Pair) -> Pair:
            return twist_outward(link.to, link.A, rates[list(link.dofs)], *parent)

        return self.outward((zeros(3), zeros(3)), step)

    def gathered_pairs(
        self, own: Callable[[TreeLink, int], Pair], links: Iterable[int] | None = None
    ) -> dict[int, Pair]:
        """Wrenches or momenta of all links beyond each joint, from those of single links, in {i}.

        links: only these, or WORLD; None: all links.
        """
        sums = dict.fromkeys(self.numbers if links is None else links, (zeros(3), zeros(3)))
        for i, beyond in self.inward(sums, pair_onto):
            sums[i] = plus(beyond, own(self.links[i], i))
        return sums

    def composite_bodies(self, base: Moments | None = None) -> dict[int, Moments]:
        """All bodies beyond each joint as one, in {i}; with `base`, the whole robot for WORLD."""
        bodies = {i: link.body for i, link in enumerate(self.links)}
        if base is not None:
            bodies[WORLD] = base
        return self.gathered(bodies, body_onto)

    def joint_forces(self, wrenches: Mapping[int, Pair]) -> Array:
        """A^T (n, f) of every joint, (n,), from pairs (f, n); joints that move together add up."""
        total: list[Any] = [0] * self.model.n
        for i, (f, n) in wrenches.items():
            link = self.links[i]
            for d, part in zip(link.dofs, link.A.T @ np.concatenate([n, f]), strict=True):
                total[d] = total[d] + part
        return np.array(total)


def twist_outward(to: Step, A: Array, rate: Array, omega: Array, v: Array) -> Pair:
    """Twist of a link in its frame from that of its parent and the rates of its joint."""
    twist = A @ rate
    turned = to.outward(omega) + twist[:3]
    return turned, to.outward(v + cross(omega, to.p)) + twist[3:]


def body_onto(_: int, link: TreeLink, body: Moments, parent: Moments) -> Moments:
    """The body of a link added to that of its parent."""
    return added_body(link.to, body, parent)


def added_body(to: Step, body: Moments, parent: Moments) -> Moments:
    """A body added to another in the parent's frame."""
    return parent + to.body_inward(body)


def pair_onto(_: int, link: TreeLink, pair: Pair, parent: Pair) -> Pair:
    """The wrench or momentum of a link added to that of its parent."""
    return added_pair(link.to, *pair, *parent)


def added_pair(to: Step, f: Array, n: Array, f_parent: Array, n_parent: Array) -> Pair:
    """A wrench or momentum added to another in the parent's frame."""
    return plus((f_parent, n_parent), to.pair_inward(f, n))


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
    to = Step(T_pi[:3, :3], None, T_pi[:3, 3])
    return TreeLink(model.parent[i], model.joints[i].dofs, model.A[i], to, model.moments[i])

"""Random chains and trees as the books write them down, and the same robot from each form."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import Builder, dynamics
from kinetree.convert import from_points, from_screws, from_transforms
from kinetree.model import Model
from kinetree.spatial import Ad, inverse, pose, screw, spatial_inertia
from random_robots import random_body, random_direction, random_pose

KINDS = ("revolute", "prismatic", "helical")


@dataclass(frozen=True, eq=False)
class ChainData:
    """Everything in {s} at q = 0; frame {i} has its origin on the axis of joint i."""

    parent: list[int]
    kinds: list[str]
    pitch: list[float]
    k: Any  # (n, 3) unit axes
    M: Any  # (n + 1, 4, 4) link frames, and the tool turned like the last link
    bodies: list[Any]  # m, com, I_com in the link frames

    @property
    def n(self) -> int:
        return len(self.kinds)

    @property
    def S(self) -> Any:
        pitches = [
            np.inf if kind == "prismatic" else h if kind == "helical" else 0
            for kind, h in zip(self.kinds, self.pitch, strict=True)
        ]
        P = self.M[:, :3, 3]
        return np.array([screw(P[i], self.k[i], pitches[i]) for i in range(self.n)])

    @property
    def G(self) -> Any:
        return np.array([spatial_inertia(*body) for body in self.bodies])

    @property
    def M_pi(self) -> list[Any]:
        """Poses in the parents' frames, and the tool's in the last link."""
        own = [
            self.M[i] if p < 0 else inverse(self.M[p]) @ self.M[i]
            for i, p in enumerate(self.parent)
        ]
        return [*own, inverse(self.M[-2]) @ self.M[-1]]


def random_chain(seed: int, n: int, *, tree: bool = False) -> ChainData:
    """A chain, or a tree in which each link hangs on a random earlier one or on the base."""
    rng = np.random.default_rng(seed)
    M = [random_pose(rng) for _ in range(n)]
    tool = pose(M[-1][:3, :3], rng.normal(size=3))
    return ChainData(
        parent=[int(rng.integers(-1, i)) if tree else i - 1 for i in range(n)],
        kinds=[str(rng.choice(KINDS)) for _ in range(n)],
        pitch=rng.normal(size=n).tolist(),
        k=np.array([random_direction(rng) for _ in range(n)]),
        M=np.array([*M, tool]),
        bodies=[random_body(rng) for _ in range(n)],
    )


def by_screws(x: ChainData, **options: Any) -> Model:
    return from_screws(x.S, x.M, x.G, parent=x.parent, **options).model


def by_transforms(x: ChainData, **options: Any) -> Model:
    """With the screws in the parents' frames."""
    S = [x.S[i] if p < 0 else Ad(inverse(x.M[p])) @ x.S[i] for i, p in enumerate(x.parent)]
    return from_transforms(x.M_pi, x.G, S=S, parent=x.parent, **options).model


def by_own_transforms(x: ChainData, **options: Any) -> Model:
    """With the screws in the links' own frames."""
    A = [Ad(inverse(x.M[i])) @ x.S[i] for i in range(x.n)]
    return from_transforms(x.M_pi, x.G, A=A, parent=x.parent, **options).model


def by_points(x: ChainData, **options: Any) -> Model:
    R, P = x.M[:-1, :3, :3], x.M[:, :3, 3]
    m, com, I_com = (list(column) for column in zip(*x.bodies, strict=True))
    C = [R[i] @ com[i] + P[i] for i in range(x.n)]
    data = {"m": m, "I_com": I_com, "types": x.kinds, "pitch": x.pitch, "R": R}
    return from_points(P, C, x.k, parent=x.parent, **data, **options).model


def by_builder(x: ChainData, order: Any = None, **drives: Any) -> Model:
    """One link at a time, links and joints in the given order; drives[name] is one a joint."""
    builder = Builder().frame("tool", f"link{x.n}", x.M_pi[-1], tool=True)
    for i in range(x.n) if order is None else order:
        parent = "base" if x.parent[i] < 0 else f"link{x.parent[i] + 1}"
        builder.link(f"link{i + 1}", *x.bodies[i]).joint(
            f"joint{i + 1}",
            x.kinds[i],
            parent,
            f"link{i + 1}",
            at=x.M_pi[i],
            axis=x.M[i, :3, :3].T @ x.k[i],
            pitch=x.pitch[i],
            **{name: column[i] for name, column in drives.items()},
        )
    return builder.link("base").build_model()


BUILDERS = (by_screws, by_transforms, by_own_transforms, by_points)


def difference(a: Model, b: Model, seed: int = 0) -> float:
    """Largest relative difference of tau, M and tool pose over three states."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(3):
        q, dq, ddq = rng.normal(size=(3, a.n))
        for f, arguments in (
            (dynamics.inverse_dynamics, (q, dq, ddq)),
            (dynamics.mass_matrix, (q,)),
            (dynamics.pose, (q,)),
        ):
            x, y = f(a, *arguments), f(b, *arguments)
            worst = max(worst, np.linalg.norm(x - y) / np.linalg.norm(x))
    return float(worst)

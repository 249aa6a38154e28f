"""Mechanisms of any size for the question `growth`, as URDF text that all libraries read.

snake   a chain of equal links of 0.1 m; the axes are across the links and alternate
chain   a chain with random places, axes, masses and inertias
tree    a binary tree: joint k hangs on the link of joint (k - 1) // 2; numbers as in a chain
legs    a body on six joints (three sliders, three hinges) with legs of ten joints: 102 of them at
        1,024 joints

Joints are named joint0, joint1, ... from the base outward. Nothing has friction or limits that
dynamics reads, because some libraries ignore them.
"""

from collections.abc import Callable, Iterator

import numpy as np

import kinetree as kt
from benchmarks.robots import Case, scratch

LEG = 10  # joints of a leg; the last one may be shorter
SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
Vector = tuple[float, float, float]


def mechanism(family: str, n: int) -> Case:
    """The mechanism with n joints: kinetree's model, and the file for the others."""
    key = f"{family}_{n}"
    path = scratch() / f"{key}.urdf"
    path.write_text(urdf(key, FAMILIES[family](n)), encoding="utf-8")
    return Case(key, kt.load(path).model, str(path))


def urdf(name: str, elements: Iterator[str]) -> str:
    """A robot of a base link and these elements."""
    return "\n".join([f'<robot name="{name}">', '<link name="base"/>', *elements, "</robot>"])


def snake(n: int) -> Iterator[str]:
    """Equal links one after the other; axes y and z alternate."""
    rod = inertial((0.05, 0, 0), 0.2, (2e-5, 1.8e-4, 1.8e-4))
    for k in range(n):
        at = (0.1, 0, 0) if k else (0, 0, 0)
        axis = (0, 0, 1) if k % 2 else (0, 1, 0)
        yield from part(k, k - 1, rod, at, (0, 0, 0), axis)


def chain(n: int) -> Iterator[str]:
    """Random links one after the other."""
    yield from irregular(n, lambda k: k - 1)


def tree(n: int) -> Iterator[str]:
    """Random links, two on each."""
    yield from irregular(n, lambda k: (k - 1) // 2)


def irregular(n: int, parent: Callable[[int], int]) -> Iterator[str]:
    """Links with random numbers; `parent` gives the link on which link k hangs, -1 for the base."""
    rng = np.random.default_rng(19)
    for k in range(n):
        axis = rng.normal(size=3)
        yield from part(
            k,
            parent(k),
            inertial(rng.normal(size=3) * 0.03, rng.uniform(0.2, 1), rng.uniform(1e-3, 1.6e-3, 3)),
            rng.normal(size=3) * 0.1,
            rng.uniform(-np.pi, np.pi, 3),
            axis / np.linalg.norm(axis),
        )


def legs(n: int) -> Iterator[str]:
    """A body that moves in six ways, and as many legs as the other joints are enough for."""
    still = (0.0, 0.0, 0.0)
    light = inertial(still, 0.1, (1e-3, 1e-3, 1e-3))
    for k, axis in enumerate((*np.eye(3), *np.eye(3)[::-1])):
        weight = inertial(still, 20, (0.5, 3.0, 3.0)) if k == 5 else light
        yield from part(k, k - 1, weight, still, still, axis, "prismatic" if k < 3 else "revolute")
    shin = inertial((0, 0, -0.05), 0.1, (9e-5, 9e-5, 1e-5))
    for k in range(6, n):
        leg, joint = divmod(k - 6, LEG)
        hip = (0.02 * (leg // 2), 0.1 if leg % 2 else -0.1, 0.0)
        at = (0, 0, -0.1) if joint else hip
        axis = (1, 0, 0) if joint % 2 else (0, 1, 0)
        yield from part(k, k - 1 if joint else 5, shin, at, still, axis)


def inertial(com: "Vector | np.ndarray", mass: float, I_com: "Vector | np.ndarray") -> str:
    """Mass, centre of mass and principal moments of inertia."""
    moments = " ".join(
        f'{a}="{x!r}"' for a, x in zip(("ixx", "iyy", "izz"), map(float, I_com), strict=True)
    )
    return (
        f'<inertial><origin xyz="{numbers(com)}"/><mass value="{float(mass)!r}"/>'
        f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def part(
    k: int,
    parent: int,
    weight: str,
    xyz: "Vector | np.ndarray",
    rpy: "Vector | np.ndarray",
    axis: "Vector | np.ndarray",
    kind: str = "revolute",
) -> Iterator[str]:
    """Link k and the joint that moves it; link -1 is the base."""
    yield f'<link name="link{k}">{weight}</link>'
    yield (
        f'<joint name="joint{k}" type="{kind}">'
        f'<parent link="{"base" if parent < 0 else f"link{parent}"}"/><child link="link{k}"/>'
        f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/><axis xyz="{numbers(axis)}"/>'
        '<limit lower="-4" upper="4" velocity="100" effort="1000"/></joint>'
    )


def numbers(x: "Vector | np.ndarray") -> str:
    """Text with every digit."""
    return " ".join(repr(float(value)) for value in x)


FAMILIES: dict[str, Callable[[int], Iterator[str]]] = {
    "snake": snake,
    "chain": chain,
    "tree": tree,
    "legs": legs,
}

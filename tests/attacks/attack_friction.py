"""Random robots with dry friction, in kinetree and by time stepping."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from attack_moreau import FAMILIES, reference

import kinetree as kt
from kinetree.scalars import sin, where

END, SAMPLES = 2.0, 40
STEPS = (8_000, 64_000, 512_000)  # of the oracle; more where kinetree seems to differ


def draw(rng: Any, family: str) -> dict[str, Any]:
    """A random case: masses, friction, springs, waves and pulses of force, often at rest.

    One of two is extreme in one way: stiff springs, joints without dry friction, very low or very
    different levels, fast waves, or nothing that pushes.
    """
    n = FAMILIES[family][1]
    coulomb = rng.uniform(0.2, 6, n)
    root = rng.normal(size=(n, n)) * 2
    pulses = rng.random(n) < 0.3
    at_rest = rng.random(n) < 0.5
    data = {
        "m": rng.uniform(0.3, 3, n),
        "l": rng.uniform(0.3, 1.2, n),
        "g": float(rng.uniform(0, 10)) if rng.random() < 0.7 else 0.0,
        "up": coulomb,
        "down": coulomb * (1.0 if rng.random() < 0.5 else rng.uniform(0.3, 2.5, n)),
        "b_up": rng.uniform(0, 1, n),
        "b_down": rng.uniform(0, 1, n),
        "K": root @ root.T * (rng.random() < 0.6),
        "a0": rng.normal(size=n) * 2,
        "a1": rng.normal(size=n) * 8,
        "w": rng.uniform(0.5, 12, n),
        "p": rng.uniform(0, 6, n),
        "pulse": np.where(pulses, rng.normal(size=n) * 15, 0.0),
        "on": rng.integers(0, SAMPLES // 2, n) * END / SAMPLES,
        "off": rng.integers(SAMPLES // 2, SAMPLES, n) * END / SAMPLES,
        "q0": rng.normal(size=n) * 0.5,
        "v0": np.where(at_rest, 0.0, rng.normal(size=n) * 2),
    }
    style, some = int(rng.integers(12)), rng.random(n) < 0.5
    if style == 1:
        data["K"] = data["K"] * 100
    elif style == 2:
        data["up"], data["down"] = (
            np.where(some, 0.0, data["up"]),
            np.where(some, 0.0, data["down"]),
        )
    elif style == 3:
        data["up"], data["down"] = data["up"] * 1e-3, data["down"] * 1e-3
    elif style == 4:
        data["down"] = np.where(some, 0.0, 10 * data["up"])
    elif style == 5:
        data["w"] = data["w"] * 5
    elif style == 6:
        for name in ("a0", "a1", "pulse"):
            data[name] = 0 * data[name]
    return data


def build(family: str, d: dict[str, Any]) -> kt.Robot:
    """The robot of a case."""
    n = len(d["q0"])
    slides = family not in ("double pendulum", "cart-pole")
    gravity = (0.3 * d["g"], 0, 0) if slides else (0, 0, -d["g"])
    builder = kt.Builder(family, gravity=gravity).link("base")
    parent = "base"
    for i in range(n):
        slide = slides or (family == "cart-pole" and i == 0)
        com = (0, 0, 0) if slide else (0, 0, -d["l"][i])
        builder.link(f"link{i}", d["m"][i], com, np.eye(3) * 0.01 if slide else None)
        below = (0, 0, -d["l"][0]) if family == "double pendulum" and i == 1 else (0, 0, 0)
        builder.joint(
            f"joint{i}",
            "prismatic" if slide else "revolute",
            parent,
            f"link{i}",
            at=below,
            axis=(1, 0, 0) if slide else (0, 1, 0),
            friction=kt.Friction(
                viscous=(float(d["b_up"][i]), float(d["b_down"][i])),
                coulomb=(float(d["up"][i]), float(d["down"][i])),
            ),
        )
        parent = "base" if family == "side by side" else f"link{i}"
    return builder.build()


def torque(d: dict[str, Any]) -> Any:
    """The law tau(t, q, dq) of a case, to be traced."""
    n = len(d["q0"])

    def law(t: Any, q: Any, dq: Any) -> Any:
        tau = []
        for i in range(n):
            wave = d["a0"][i] + d["a1"][i] * sin(d["w"][i] * t + d["p"][i])
            if d["pulse"][i]:
                inside = where(t - d["on"][i], where(d["off"][i] - t, 1, 0), 0)
                wave = wave + d["pulse"][i] * inside
            tau.append(wave - sum(d["K"][i, j] * q[j] for j in range(n)))
        return np.array(tau)

    return law


def simulate(family: str, d: dict[str, Any], **options: Any) -> Any:
    """A case by kinetree, at the samples of the oracle."""
    settings = {"dt": END / SAMPLES, "limits": "ignore", "duration": END, "tau": torque(d)}
    return build(family, d).simulate(d["q0"], d["v0"], **(settings | options))


@dataclass(frozen=True)
class Difference:
    """How far kinetree is from the oracle, and how far it may be by the oracle's own error."""

    found: float
    allowed: float
    t: float
    steps: int

    def __str__(self) -> str:
        """One line."""
        return (
            f"off by {self.found:.3g} from t = {self.t:.3g} s, "
            f"step error {self.allowed:.3g} with {self.steps} steps"
        )


def compare(family: str, d: dict[str, Any], motion: Any, extra: float = 1e-6) -> Difference | None:
    """The difference beyond the step error; the oracle is refined before one counts."""
    states = np.hstack([motion.q, motion.dq])
    difference = None
    for steps in STEPS:
        expected, error = reference(family, d, END, SAMPLES, steps)
        off = np.abs(states - expected).max(1)
        allowed = 2 * error + extra
        bad = ~(off <= allowed)
        if not bad.any():
            return None
        k = int(np.argmax(bad))
        worst = int(np.argmax(np.where(np.isnan(off), np.inf, off - allowed)))
        difference = Difference(float(off[worst]), float(allowed[worst]), float(motion.t[k]), steps)
    return difference

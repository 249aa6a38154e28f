"""The reference models beside the repository: real robots with values of independent libraries."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.model import Model

ROOT = Path(__file__).resolve().parents[3] / "shared" / "models"

# our order of a joint's coordinates and rates, in the names of the reference data
COORDINATES = {
    "free": (".qw", ".qx", ".qy", ".qz", ".px", ".py", ".pz"),
    "planar": (".theta", ".px", ".py"),
    "spherical": (".qw", ".qx", ".qy", ".qz"),
}
RATES = {
    "free": (".wx", ".wy", ".wz", ".vx", ".vy", ".vz"),
    "planar": (".wz", ".vx", ".vy"),
    "spherical": (".wx", ".wy", ".wz"),
}


@dataclass(frozen=True)
class Entry:
    """One file of the set."""

    name: str
    path: Path
    expected: str
    modes: tuple[str, ...]
    meta: dict[str, Any]


def entries() -> list[Entry]:
    """All files of the set; empty where it is absent."""
    if not (ROOT / "manifest.csv").exists():
        return []
    found = []
    with open(ROOT / "manifest.csv", encoding="utf8") as table:
        for row in csv.DictReader(table):
            folder = ROOT / row["format"] / row["name"]
            meta = json.loads((folder / "meta.json").read_text("utf8"))
            path, modes = folder / meta["file"], tuple(meta["modes"])
            found.append(Entry(row["name"], path, row["expected"], modes, meta))
    return found


class Reference:
    """The reference values of one mode, in the order of a model's coordinates and rates."""

    def __init__(self, entry: Entry, mode: str, model: Model) -> None:
        self.info = entry.meta["modes"][mode]
        self.z = dict(np.load(entry.path.parent / self.info["file"], allow_pickle=False))
        own = [joint for joint in model.joints if joint.follows is None]
        q = [joint.name + part for joint in own for part in COORDINATES.get(joint.type, ("",))]
        dq = [joint.name + part for joint in own for part in RATES.get(joint.type, ("",))]
        assert set(dq) == {str(x) for x in self.z["dof_names"]}
        self._q = [self.names("q_names").index(name) for name in q]
        self._dq = [self.names("dof_names").index(name) for name in dq]

    def names(self, key: str) -> list[str]:
        """A list of names."""
        return [str(x) for x in self.z[key]]

    def q(self, s: int) -> np.ndarray:
        """Positions of state s."""
        return self.z["q"][s][self._q]

    def vector(self, key: str, s: int) -> np.ndarray:
        """A joint vector of state s."""
        return self.z[key][s][self._dq]

    def matrix(self, key: str, s: int) -> np.ndarray:
        """A joint matrix of state s."""
        return self.z[key][s][np.ix_(self._dq, self._dq)]

    def jacobian(self, s: int, k: int) -> np.ndarray:
        """Jacobian of tip k in world axes, angular rows first."""
        return angular_first(self.z["tip_J"][s, k])[:, self._dq]

    def wrenches(self, s: int) -> dict[str, np.ndarray]:
        """What the links exert on the world, by name: the opposite of the reference's fext."""
        pairs = zip(self.names("fext_links"), self.z["fext"][s], strict=True)
        return {name: -angular_first(wrench) for name, wrench in pairs}


def angular_first(x: np.ndarray) -> np.ndarray:
    """(linear, angular) rows as (angular, linear)."""
    return np.concatenate([x[3:], x[:3]])


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Rotation of a quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )

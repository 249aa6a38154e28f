"""The robot files beside the repository; their stored values are tested in tests/references."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3] / "shared" / "models"


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

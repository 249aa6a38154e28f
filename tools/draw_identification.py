"""Pictures of an identified recording for the documentation: docs/_made/*.png.

The Panda recording is used where it lies beside the repository, in shared/recordings; otherwise a
simulated one is. The pictures are made while the documentation is built, and never stored.
"""

from pathlib import Path

import kinetree as kt
from kinetree.identify import (
    Recording,
    identify,
    plot_forces,
    read_recording,
    simulated_recording,
)
from kinetree.motion import excitation

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_made"
NAME = "panda_gaz_2019/exciting_trajectory.csv.gz"


def recording(robot: kt.Robot) -> Recording:
    """The real recording, or a simulated one."""
    path = ROOT.parent / "shared" / "recordings" / NAME
    if path.exists():
        return read_recording(path, robot)
    machine = kt.robots.panda(friction=True).with_payload(0.3, (0, 0, 0.05))
    motion = excitation(robot, 12, 0.005, harmonics=5, seed=1)
    return simulated_recording(machine, motion, encoder_noise=2e-5, torque_noise=0.1)


def draw(folder: Path = FOLDER) -> None:
    """Write forces.png, unless it is there."""
    path = folder / "forces.png"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    robot = kt.robots.panda()
    plot_forces(identify(robot, recording(robot)), path)


if __name__ == "__main__":
    draw()

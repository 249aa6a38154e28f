"""Write the dynamics of a robot as C++ into the ROS 2 package kinetree_controllers.

python export_robot.py arm.urdf path/to/kinetree_controllers
python export_robot.py panda path/to/kinetree_controllers        # a built-in robot
"""

import argparse
import json
from pathlib import Path

import kinetree as kt

HEADER = """\
// Joints and dynamics of a robot. Written by export_robot.py: do not edit.
#ifndef KINETREE_CONTROLLERS__ROBOT_HPP_
#define KINETREE_CONTROLLERS__ROBOT_HPP_

#include <array>

namespace kinetree_controllers
{{
constexpr char ROBOT_NAME[] = {robot};
constexpr std::array<const char *, {n}> JOINT_NAMES{{{{
  {names}}}}};

/// One number per joint, in the order of JOINT_NAMES. Units: rad, s, N m (m, s, N if it slides).
using JointVector = std::array<double, {n}>;

/// g(q): efforts that carry the weight of the robot.
JointVector gravity_forces(const JointVector & q) noexcept;

/// M ddq + h: efforts for the accelerations ddq.
JointVector inverse_dynamics(
  const JointVector & q, const JointVector & dq, const JointVector & ddq) noexcept;
}}  // namespace kinetree_controllers

#endif  // KINETREE_CONTROLLERS__ROBOT_HPP_
"""
SOURCE = """\
{gravity}
{dynamics}
#include "kinetree_controllers/robot.hpp"

namespace kinetree_controllers
{{
JointVector gravity_forces(const JointVector & q) noexcept {{ return ::gravity_forces(q); }}

JointVector inverse_dynamics(
  const JointVector & q, const JointVector & dq, const JointVector & ddq) noexcept
{{
  return ::inverse_dynamics(q, dq, ddq);
}}
}}  // namespace kinetree_controllers
"""


def write_robot(robot: kt.Robot, package: Path) -> list[Path]:
    """Write `robot.hpp` and `robot.cpp` of the package, and return their paths.

    Raises:
        ValueError: an entry of q belongs to a joint with several coordinates (a floating base, a
            ball joint), or the robot has constraints: an effort interface drives one coordinate.
    """
    several = [name for name in robot.coordinate_names if name not in robot.joint_names]
    if several or robot.model.constraints:
        raise ValueError(
            f"robot {robot.name!r} has {', '.join(several) or 'constraints'}; expected joints with "
            "one coordinate each and no constraints. Lock these joints, or remove the constraints."
        )
    names = ",\n  ".join(map(json.dumps, robot.dof_names))  # quoted as in C++
    texts = {
        "include/kinetree_controllers/robot.hpp": HEADER.format(
            robot=json.dumps(robot.name), n=robot.n, names=names
        ),
        "src/robot.cpp": SOURCE.format(
            gravity=kt.export(robot, "gravity_forces", "cpp", name="gravity_forces"),
            dynamics=kt.export(robot, "inverse_dynamics", "cpp", name="inverse_dynamics"),
        ),
    }
    for name, text in texts.items():
        (package / name).write_text(text, encoding="utf-8")
    return [package / name for name in texts]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", help="a file (URDF, xacro, MJCF, ...) or a built-in robot")
    parser.add_argument("package", type=Path, help="folder of your copy of kinetree_controllers")
    words = parser.parse_args()
    try:
        exported = kt.load(words.robot)
        paths = write_robot(exported, words.package)
    except (kt.errors.KinetreeError, ValueError, OSError) as error:
        parser.exit(1, f"export_robot.py: {error}\n")
    print(*(f"wrote {path}" for path in paths), sep="\n")
    print(f"joints of config/controllers.yaml: [{', '.join(exported.dof_names)}]")

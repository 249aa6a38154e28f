"""Make drake_sdf.json: random SDF robots, and their dynamics by Drake's own reader.

    python tests/oracles/drake_sdf.py

Needs the packages drake and kinetree. The file has, for every robot, its text, the names of its
joints, a state, and Drake's mass matrix, gravity and Coriolis forces for it.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
FILE = HERE / "drake_sdf.json"
UNIVERSAL = """<sdf version="1.9"><model name="m"><link name="a"><pose>0.3 0.1 0 0.2 0.5 0.1</pose>
<inertial><pose>0.1 0.2 0.3 0.3 0.2 0.1</pose><mass>2</mass><inertia><ixx>1</ixx><iyy>2</iyy>
<izz>2.5</izz><ixy>0.1</ixy></inertia></inertial></link><joint name="j" type="universal">
<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz>
</axis><axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>"""
REVERSED = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"><pose>0 0 1 0 1 0
</pose></link><joint name="w" type="revolute"><parent>world</parent><child>a</child><axis>
<xyz>0 0.6 0.8</xyz></axis></joint><joint name="j" type="prismatic"><parent>b</parent>
<child>a</child><axis><xyz>0.6 0.8 0</xyz></axis></joint></model></sdf>"""


def numbers(text: str, rng: np.random.Generator) -> dict[str, object]:
    """Drake's numbers for a text at a random state."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
    joints = [joint for joint in joints if joint.num_velocities()]
    names, order = [], []
    for joint in joints:
        n = joint.num_velocities()
        names += [joint.name()] if n == 1 else [f"{joint.name()}/axis", f"{joint.name()}/axis2"]
        order += range(joint.velocity_start(), joint.velocity_start() + n)
    q, dq = rng.uniform(-1, 1, (2, len(order)))
    place = np.argsort(order)
    plant.SetPositions(context, q[place])
    plant.SetVelocities(context, dq[place])
    return {
        "text": text,
        "names": names,
        "q": q.tolist(),
        "dq": dq.tolist(),
        "M": plant.CalcMassMatrix(context)[np.ix_(order, order)].tolist(),
        "g": (-plant.CalcGravityGeneralizedForces(context)[order]).tolist(),
        "c": plant.CalcBiasTerm(context)[order].tolist(),
    }


def main() -> None:
    """Write the file."""
    sys.path.insert(0, str(HERE.parent / "unit/description/sdf"))
    from sdf_trees import RandomRobot

    rng = np.random.default_rng(1)
    robots = [RandomRobot(seed, links=3 + seed % 3, nested=seed % 2 == 0) for seed in range(8)]
    texts = [UNIVERSAL, REVERSED, *(robot.text(7) for robot in robots)]
    FILE.write_text(json.dumps([numbers(text, rng) for text in texts], indent=1) + "\n")


if __name__ == "__main__":
    main()

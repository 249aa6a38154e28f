"""Make drake_sdf.json: random SDF robots, and their dynamics by Drake's own reader.

    python tests/oracles/drake_sdf.py

Needs the packages drake and kinetree. The file has, for every robot, its text, the names of its
degrees of freedom, a state, and Drake's mass matrix, gravity, Coriolis forces and damping for it.
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
BALL = """<sdf version="1.9"><model name="m"><link name="a"><pose>0 0 1 0 1 0</pose></link>
<link name="b"/><joint name="j" type="ball"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>
<parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz><dynamics><damping>0.7</damping>
</dynamics></axis></joint><joint name="k" type="revolute"><parent>a</parent><child>b</child><axis>
<xyz>0 0.6 0.8</xyz><dynamics><damping>0.3</damping></dynamics></axis></joint></model></sdf>"""
OLDER = ("1.2", "1.4", "1.5", "1.5", "1.6", "1.6")  # versions of further random robots


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
    names, order, damping = [], [], []
    for joint in joints:
        n, name = joint.num_velocities(), joint.name()
        names += {1: [name], 2: [f"{name}/axis", f"{name}/axis2"], 3: [name] * 3}[n]
        order += range(joint.velocity_start(), joint.velocity_start() + n)
        damping += joint.default_damping_vector().tolist()
    q, dq = rng.uniform(-1, 1, (2, len(order)))
    q[[names.count(name) == 3 for name in names]] = 0  # of a ball: no turn, in any coordinates
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
        "damping": damping,
    }


def main() -> None:
    """Write the file."""
    sys.path.insert(0, str(HERE.parent / "unit/files/description/sdf"))
    from sdf_trees import RandomRobot

    rng = np.random.default_rng(1)
    robots = [RandomRobot(seed, links=3 + seed % 3, nested=seed % 2 == 0) for seed in range(8)]
    texts = [UNIVERSAL, REVERSED, *(robot.text(7) for robot in robots), BALL]
    texts += [RandomRobot(20 + k, nested=k % 2 == 0).text(7, x) for k, x in enumerate(OLDER)]
    FILE.write_text(json.dumps([numbers(text, rng) for text in texts], indent=1) + "\n")


if __name__ == "__main__":
    main()

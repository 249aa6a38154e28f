"""Compute the numbers of drake_sdf.json again: the dynamics of its SDF texts by Drake's reader.

    python tests/references/drake_sdf.py

Needs the package drake. The file has, for every robot, its text (by hand and of random trees, in
versions 1.2 to 1.9), the names of its degrees of freedom, a state, and Drake's mass matrix,
gravity, Coriolis forces and damping for it.
"""

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("drake_sdf.json")


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
    rng, texts = np.random.default_rng(1), [case["text"] for case in json.loads(FILE.read_text())]
    FILE.write_text(json.dumps([numbers(text, rng) for text in texts], indent=1) + "\n")


if __name__ == "__main__":
    main()

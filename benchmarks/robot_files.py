"""All robot files of a folder, read by kinetree and by Pinocchio, MuJoCo, Drake and xacrodoc.

    python -m benchmarks.robot_files FOLDER [OUTPUT.jsonl]

One line of JSON a file: how many degrees of freedom it has or why it is refused, and the largest
difference of its mass matrix at a random position from that of the peer, relative. URDF and xacro
(expanded by xacrodoc) are compared with Pinocchio, MJCF with MuJoCo, SDF with Drake, which has to
be installed for it. The summary counts, by format: agrees, differs, read where the peer refuses,
refused where the peer reads, refused by both.
"""

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree import dynamics

FORMATS = {".urdf": "URDF", ".xacro": "xacro", ".sdf": "SDF", ".world": "SDF", ".xml": "MJCF"}
ROUNDING = 1e-8


def robot_files(folder: Path) -> Iterator[Path]:
    """The robot files below a folder; of .xml files those that have <mujoco>."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in FORMATS and path.is_file():
            if path.suffix != ".xml" or b"<mujoco" in path.read_bytes():
                yield path


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, in parts of the largest entry."""
    return float(
        np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-9)
    )


def by_pinocchio(path: Path, robot: kt.Robot | None) -> float:
    """Difference from Pinocchio; NaN without a robot."""
    import pinocchio

    text = path.read_text("utf8", "replace")
    if path.suffix == ".xacro":
        from xacrodoc import XacroDoc

        text = XacroDoc.from_file(str(path)).to_urdf_string()
    model = pinocchio.buildModelFromXML(text)
    if robot is None:
        return np.nan
    order = kt.convert.to_pinocchio(robot, list(model.names)[1:])
    q = dynamics.random(robot.model, np.random.default_rng(0))
    M = pinocchio.crba(model, model.createData(), order.q(q))
    M = np.triu(M) + np.triu(M, 1).T - np.diag(model.armature)
    return difference(order.mass_matrix(q, dynamics.mass_matrix(robot.model, q)), M)


def by_mujoco(path: Path, robot: kt.Robot | None) -> float:
    """Difference from MuJoCo; NaN without a robot."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    if robot is None:
        return np.nan
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    order = kt.convert.to_mujoco(
        robot, [model.joint(j).name or f"#j{j}" for j in range(model.njnt)]
    )
    q = dynamics.random(robot.model, np.random.default_rng(0))
    data.qpos[:] = order.q(q)
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    return difference(order.mass_matrix(q, dynamics.mass_matrix(robot.model, q)), M)


def by_drake(path: Path, robot: kt.Robot | None) -> float:
    """Difference from Drake in the joints that kinetree has; Drake lets objects float."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    plant.Finalize()
    if robot is None:
        return np.nan
    context, names = plant.CreateDefaultContext(), [""] * plant.num_velocities()
    q, ours = np.array(robot.neutral(), float), list(robot.model.coordinate_names)
    theirs, rng = plant.GetPositions(context).copy(), np.random.default_rng(1)
    for joint in map(plant.get_joint, plant.GetJointIndices()):
        count, name = joint.num_velocities(), joint.name()
        words = {1: [name], 2: [f"{name}/axis", f"{name}/axis2"]}
        words = words.get(count, [f"{name}.{x}" for x in ("wx", "wy", "wz")][:count])
        for k, word in enumerate(words):
            names[joint.velocity_start() + k] = word
            if word in ours:
                q[ours.index(word)] = theirs[joint.position_start() + k] = rng.uniform(-1, 1)
    plant.SetPositions(context, theirs)
    at = [names.index(name) for name in robot.model.dof_names]
    M = plant.CalcMassMatrix(context)[np.ix_(at, at)]
    return difference(dynamics.mass_matrix(robot.model, q), M)


PEERS = {"URDF": by_pinocchio, "xacro": by_pinocchio, "MJCF": by_mujoco, "SDF": by_drake}


def judged(path: Path) -> dict[str, object]:
    """What kinetree and the peer make of a file."""
    row: dict[str, object] = {"file": str(path)}
    form, robot = FORMATS[path.suffix], None
    try:
        robot = kt.load(path, constraints="none")
        row["n"] = robot.n
    except kt.errors.KinetreeError as error:
        row["refused"] = str(error)
    try:
        error = PEERS[form](path, robot)
        verdict = "agrees" if error < ROUNDING else "differs"
        row |= {"verdict": "refused, the peer reads"} if robot is None else {"error": error}
        row.setdefault("verdict", verdict)
    except Exception as problem:  # of any library
        row["peer"] = f"{type(problem).__name__}: {problem}"[:200]
        row["verdict"] = "refused by both" if robot is None else "read, the peer differs or refuses"
    return row


def main() -> None:
    """Judge the files of a folder, and print the counts."""
    rows: list[dict[str, object]] = []
    for path in robot_files(Path(sys.argv[1])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(judged(path))
    for output in sys.argv[2:]:
        Path(output).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    counts = Counter((FORMATS[Path(str(x["file"])).suffix], str(x["verdict"])) for x in rows)
    for (form, verdict), count in sorted(counts.items()):
        print(f"{count:5} {form:6} {verdict}")


if __name__ == "__main__":
    main()

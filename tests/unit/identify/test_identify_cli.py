"""`kinetree identify` as a program: a robot that fits, one paragraph for an error."""

import json

import numpy as np
import pytest
from identified_robots import arm_motion, exists, misjudged, spatial_arm, with_drives

import kinetree as kt
from cli_program import Program
from kinetree.motion import write_csv

TRUE = with_drives(spatial_arm())
NOISE = 0.2


@pytest.fixture
def folder(tmp_path):
    """A described robot and a recording of the true one."""
    motion, rng = arm_motion(TRUE), np.random.default_rng(0)
    tau = TRUE.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    noisy = motion.replace(tau=tau + NOISE * rng.normal(size=tau.shape))
    write_csv(noisy, tmp_path / "data.csv")
    described = misjudged(spatial_arm())
    (tmp_path / "arm.urdf").write_text(described.to_urdf(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def program(server):
    """Run `kinetree identify` in a folder."""
    return lambda folder, *words: Program(folder, server)(["identify", *words], code=None)


def test_the_program_writes_a_robot_that_fits_and_exists(program, folder):
    pytest.importorskip("mujoco")
    found = program(folder, "arm.urdf", "data.csv", "-o", "out.xml", "--report", "report")
    assert found.returncode == 0, found.stderr
    assert "robot   out.xml" in found.stdout and (folder / "report" / "forces.png").is_file()
    mjcf = kt.load(folder / "out.xml")  # MJCF has words for armature
    for joint, true in zip(mjcf.model.joints, TRUE.model.joints, strict=True):
        assert joint.armature == pytest.approx(true.armature, abs=0.03)
        assert joint.armature > 0.02
    text = program(folder, "arm.urdf", "data.csv", "-o", "out.urdf", "--method", "robust")
    assert text.returncode == 0 and "armature" in text.stderr  # URDF has no words for it
    robot = kt.load(folder / "out.urdf")
    assert exists(robot.model)
    for joint, true in zip(robot.model.joints, TRUE.model.joints, strict=True):
        assert joint.friction.coulomb[0] == pytest.approx(true.friction.coulomb[0], abs=0.1)
    q = np.array([0.3, -0.5, 0.8])
    assert np.abs(robot.gravity_forces(q) - TRUE.gravity_forces(q)).max() < NOISE


def test_what_is_wrong_is_one_paragraph_and_exit_code_two(program, folder):
    cases = {
        ("arm.urdf", "none.csv", "-o", "o.urdf"): "none.csv is not a file",
        ("arm.urdf", "data.csv", "-o", "o.txt"): "ends with .urdf, .xml or .mjcf",
        (
            "arm.urdf",
            "data.csv",
            "-o",
            "o.urdf",
            "--method",
            "best",
        ): "'ordinary', 'weighted', 'robust'",
        ("arm.urdf", "data.csv", "-o", "o.urdf", "--friction", "elbow=load"): "joint 'elbow'",
    }
    for arguments, text in cases.items():
        found = program(folder, *arguments)
        assert found.returncode == 2 and text in found.stderr
        assert found.stderr.count("\n") == 1
    lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    (folder / "bad.csv").write_text("\n".join([lines[0], lines[5], lines[4]]), encoding="utf-8")
    found = program(folder, "arm.urdf", "bad.csv", "-o", "o.urdf")
    assert found.returncode == 2 and "times must increase" in found.stderr
    assert not (folder / "o.urdf").exists()


def test_currents_of_two_recordings_give_gains_and_a_verdict(program, folder):
    rng, gain = np.random.default_rng(1), np.array([0.05, 0.04, 0.1])
    loads = {"bare.csv": TRUE, "loaded.csv": TRUE.with_payload(2.0, (0, 0, 0.1))}
    for k, (name, robot) in enumerate(loads.items()):
        motion = arm_motion(TRUE, seed=k)
        tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
        tau = tau + 0.05 * rng.normal(size=tau.shape)
        write_csv(motion.replace(tau=gain * tau), folder / name)
    found = program(
        folder, "arm.urdf", "bare.csv", "loaded.csv", "-o", "out.xml", "--gains", "find",
        "--payload", "loaded.csv=2,0,0,0.1", "--json",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    data = json.loads(found.stdout)
    assert data["verdict"]["word"] != "not usable" and data["ok"] is True
    assert data["gains"]["origin"] == "payload"
    for row, expected in zip(data["gains"]["joints"], gain, strict=True):
        assert abs(row["value"] - expected) < 0.03 * expected and row["margin"] > 0
    assert [x["joint"] for x in data["choices"]] == data["joints"]
    assert all(x["reason"].startswith(x["joint"]) for x in data["choices"])
    assert data["held_out"] > 0 and data["method"] == "robust" and data["lag"]["removed"] is False
    rows = zip(data["found"], data["described"], data["rms"], strict=True)
    assert all(now < before for now, before, _ in rows)


def test_a_recording_that_is_not_usable_is_exit_code_one_and_the_robot_is_written(program, folder):
    lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    turned = [head]
    for line in lines[1:]:
        cells = line.split(",")
        turned.append([
            repr(-float(x)) if name == "tau:lift" else x
            for name, x in zip(head, cells, strict=True)
        ])  # fmt: skip
    text = "\n".join(",".join(cells) for cells in turned)
    (folder / "turned.csv").write_text(text, encoding="utf-8")
    found = program(folder, "arm.urdf", "turned.csv", "-o", "out.xml", "--friction", "symmetric")
    assert found.returncode == 1 and (folder / "out.xml").is_file()
    assert "Not usable. The sum of the errors" in found.stdout and "withheld:" in found.stdout
    assert "because: tau of 'lift' opposes the description's" in found.stdout
    assert "+- ?" in found.stdout and "True" not in found.stdout
    words = ("arm.urdf", "turned.csv", "-o", "out.xml", "--friction", "symmetric", "--json")
    data = json.loads(program(folder, *words).stdout)
    assert data["ok"] is False and data["verdict"]["word"] == "not usable"
    reasons = data["verdict"]["reasons"]
    assert next(x["joints"] for x in reasons if x["kind"] == "reading") == ["lift"]
    assert reasons == data["warnings"][: len(reasons)]
    assert len(data["withheld"]) == data["base_parameters"]
    assert data["friction"][0]["margin"] is None


def test_the_numbers_of_a_law_are_printed_with_margins_and_units(program, folder):
    motion, rng = arm_motion(TRUE), np.random.default_rng(0)
    laws = {"lift": kt.Friction(1, 2, stribeck=kt.Stribeck(4, 0.3)), "turn": kt.Friction(load=0.2)}
    sticky = spatial_arm().with_friction(laws)
    tau = sticky.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    write_csv(motion.replace(tau=tau + 0.02 * rng.normal(size=tau.shape)), folder / "sticky.csv")
    words = ("arm.urdf", "sticky.csv", "-o", "out.xml", "--friction", "lift=stribeck", "turn=load")
    found = program(folder, *words, "--json")
    data = json.loads(found.stdout)
    rows = {(x["kind"], x["of"]): x for x in data["friction"]}
    speed = rows["speed", "lift"]
    assert speed["unit"] == "rad/s" and speed["described"] is None
    assert abs(speed["value"] - 0.3) < 1.5 * speed["margin"] < 0.03
    assert abs(rows["static", "lift"]["value"] - 4) < 0.1
    load = rows["load", "turn"]
    assert load["unit"] == "1" and abs(load["value"] - 0.2) < 1.5 * load["margin"]
    assert "Stribeck" in found.stderr  # MJCF has no words for it


def test_the_report_is_one_page_or_a_folder(program, folder):
    found = program(folder, "arm.urdf", "data.csv", "-o", "out.urdf", "--report", "page.html")
    assert found.returncode == 0 and "report  page.html" in found.stdout
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "Izz[upper]" in page
    for place, text in (
        ("arm.urdf", "a file; expected a folder"),
        ("no/page.html", "an existing folder"),
    ):
        found = program(folder, "arm.urdf", "data.csv", "-o", "new.urdf", "--report", place)
        assert found.returncode == 2 and text in " ".join(found.stderr.split())
        assert not (folder / "new.urdf").exists()  # refused before anything is computed


def test_a_payload_has_no_margin_where_intervals_are_withheld(program, folder):
    motion, rng = arm_motion(TRUE), np.random.default_rng(2)
    tau = TRUE.with_payload(1.0).inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = tau + 0.02 * rng.normal(size=tau.shape)
    for name, forces in {"gain": tau * [1, 1.15, 1], "swapped": tau[:, [1, 0, 2]]}.items():
        write_csv(motion.replace(tau=forces), folder / f"{name}.csv")
    described = spatial_arm()
    (folder / "arm.urdf").write_text(described.to_urdf(), encoding="utf-8")
    words = ("-o", "out.urdf")
    found = json.loads(program(folder, "arm.urdf", "gain.csv", *words, "--json").stdout)
    assert found["withheld"]
    assert found["payload"]["mass"] > 0 and found["payload"]["margin"] is None
    text = " ".join(program(folder, "arm.urdf", "gain.csv", *words).stdout.split())
    assert " +- ? kg with its centre" in text and "Its margin cannot be trusted" in text
    found = program(folder, "arm.urdf", "swapped.csv", *words)
    assert found.returncode == 1 and "payload: not sought" in found.stdout
    assert "show none on the tool" not in found.stdout

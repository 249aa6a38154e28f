"""Simulation, checks, identification and timing as commands: verdicts, files and exit codes."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.motion import quintic, read_csv, write_csv

GOAL = [0.3, -0.4]


@pytest.fixture(scope="module")
def arm():
    return kt.robots.planar_2r()


@pytest.mark.parametrize(
    ("typed", "make"),
    [
        ("gravity --kd 5", lambda q: controllers.GravityCompensation(kd=5.0)),
        ("pd --to 0.3 -0.4 --kp 50 --kd 9", lambda q: controllers.PD(q, 50.0, 9.0)),
        ("pd-gravity --to 0.3 -0.4 --kp 50 --kd 9",
         lambda q: controllers.PD(q, 50.0, 9.0, gravity=True)),
        ("pid --to 0.3 -0.4 --kp 50 --kd 9 --ki 3",
         lambda q: controllers.PID(q, 50.0, 9.0, 3.0)),
        ("pid-gravity --to 0.3 -0.4 --kp 50 --kd 9 --ki 3",
         lambda q: controllers.PID(q, 50.0, 9.0, 3.0, gravity=True)),
        ("computed-torque --to 0.3 -0.4", controllers.ComputedTorque),
        ("computed-torque --to 0.3 -0.4 --kp 9 --kd 6",
         lambda q: controllers.ComputedTorque(q, 9.0, 6.0)),
    ],
)  # fmt: skip
def test_every_controller_is_the_library_s(program, arm, typed, make):
    found = program.json(f"simulate planar_2r --q 0.1 0.2 --duration 0.5 --controller {typed}")
    motion = arm.simulate([0.1, 0.2], duration=0.5, controller=make(np.array(GOAL)))
    assert found["q"] == motion.q.tolist() and found["tau"] == motion.tau.tolist()
    assert found["controller"] == type(make(None)).__name__


def test_joints_that_friction_holds_are_named(program, arm):
    rough = arm.with_friction({name: kt.Friction(0.5, 8.0) for name in arm.joint_names})
    (program.folder / "rough.urdf").write_text(rough.to_urdf(losses="allow"))
    line = "simulate rough.urdf --q 0.1 0.2 --duration 3 --controller computed-torque --to 0.3 -0.4"
    found = program(f"{line} --kp 9 --kd 6")
    motion = rough.simulate(
        [0.1, 0.2], duration=3, controller=controllers.ComputedTorque(GOAL, 9.0, 6.0)
    )
    assert motion.meta["stuck"] and found.returncode == 0
    for joint in motion.meta["stuck"]:
        assert f"joint '{joint.joint}' rests" in found.stderr
    assert program.json(f"{line} --kp 9 --kd 6")["stuck"][0]["joint"] == (
        motion.meta["stuck"][0].joint
    )


def test_a_reference_is_followed(program, arm):
    path = quintic([0.0, 0.0], GOAL, duration=1.0, robot=arm)
    write_csv(path, program.folder / "path.csv")
    line = "simulate planar_2r --controller computed-torque --reference path.csv --duration 1"
    found = program.json(line)
    assert found["q"][-1] == pytest.approx(GOAL, abs=1e-6)


@pytest.mark.parametrize(
    "method", ["dop853", "rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler"]
)
def test_methods_and_steps(program, arm, method):
    line = f"simulate planar_2r --q 0.1 0.2 --dq 1 -1 --duration 0.1 --dt 0.01 --method {method}"
    found = program.json(line)
    motion = arm.simulate([0.1, 0.2], [1, -1], duration=0.1, dt=0.01, method=method)
    assert found["q"] == motion.q.tolist() and found["method"] == method


def test_a_file_is_the_library_s_file(program, arm):
    program("simulate planar_2r --q 0.1 0.2 --duration 0.1 -o program.csv")
    arm.simulate([0.1, 0.2], duration=0.1).to_csv(program.folder / "library.csv")
    texts = [(program.folder / f"{x}.csv").read_bytes() for x in ("program", "library")]
    assert texts[0] == texts[1]
    shown = program("simulate planar_2r --q 0.1 0.2 --duration 0.1 -o -").stdout
    assert shown.encode() == texts[0]


def test_a_motion_that_stops_is_a_negative_verdict(program):
    line = "simulate panda --duration 1 --limits stop"
    start = "--q panda_joint4=-1.5"
    found = program(f"{line} {start} -o part.csv", code=1)
    assert "the simulation ended at t = " in found.stderr and "beyond its limit" in found.stderr
    part = read_csv(program.folder / "part.csv", kt.robots.panda())
    assert 0 < part.duration < 1
    assert "ended" in program.json(f"{line} {start}", code=1)["stopped"]
    assert program.json(f"simulate panda --duration 0.01 --limits stop {start}")["stopped"] is None


@pytest.mark.parametrize("start", ["0 0 0 0 0 0 0", "0 0 0 -1.5 0 5 0"])
def test_a_start_beyond_the_limits_is_a_negative_verdict(program, start):
    line = f"simulate panda --q {start}"
    for limits in ("", " --limits stop"):
        found = program(f"{line}{limits} -o never.csv", code=1)
        assert "the simulation cannot begin: position of joint 'panda_joint" in found.stderr
        assert "--limits record goes on" in found.stderr and 'limits="' not in found.stderr
        assert found.stdout == "" and not (program.folder / "never.csv").exists()
    data = program.json(line, code=1)
    assert data["t"] == [] and data["q"] == [] and "cannot begin" in data["stopped"]
    assert data["violations"][0]["t"] == 0
    assert program.json(f"{line} --duration 0.01 --limits record")["stopped"] is None


def test_effort_beyond_its_limit_ends_the_motion_too(program):
    line = "simulate panda --tau panda_joint1=100 --duration 0.1"
    assert (
        "effort of joint 'panda_joint1' is 13 N m beyond its limit" in program(line, code=1).stderr
    )
    program(f"{line} --limits ignore")


def test_the_default_is_that_of_the_library(program):
    import inspect

    from kinetree.cli.simulate import simulate as command
    from kinetree.simulate import sensitivities, simulate

    for function in (command, simulate, sensitivities, kt.Robot.simulate, kt.Robot.sensitivities):
        assert inspect.signature(function).parameters["limits"].default == "stop", function


def test_violations_are_told_in_the_unit_of_the_user(program):
    line = "simulate panda --duration 0.1 --limits record --q panda_joint4="
    here, there = (program.json(line + x)["violations"][0] for x in ("0.5", "0.5 --degrees"))
    assert (here["joint"], here["quantity"], here["unit"]) == ("panda_joint4", "position", "rad")
    assert here["by"] == pytest.approx(0.5 - kt.robots.panda().model.joints[3].limits.upper)
    assert (there["unit"], there["by"]) == ("deg", pytest.approx(0.5 - np.degrees(-0.0698)))
    assert "deg beyond its limit" in program(f"{line}0.5 --degrees").stderr
    stopped = program("simulate panda --q panda_joint4=0.5 --degrees", code=1).stderr
    assert "is 4.499 deg beyond its limit" in stopped


def test_positions_left_out_are_within_the_limits(program):
    panda = kt.robots.panda().model.joints[3].limits
    middle = (panda.lower + panda.upper) / 2
    for line in ("id panda", "fd panda", "terms panda", "explain panda"):
        found = program(f"{line} --json")
        assert json.loads(found.stdout)["q"] == [0, 0, 0, middle, 0, 0, 0]
        assert found.stderr.count("panda_joint4 = -1.5708 rad") == 1
    named = program("id panda --q panda_joint1=0.5 --json")
    assert json.loads(named.stdout)["q"] == [0.5, 0, 0, middle, 0, 0, 0]
    assert "--q leaves out 1 joint whose limits exclude zero" in named.stderr
    for quiet in ("id panda --q 0 0 0 0 0 0 0", "id panda --q panda_joint4=0", "id ur5e"):
        assert "leaves out" not in program(quiet).stderr
    there = program("id panda --degrees").stderr
    assert f"panda_joint4 = {np.degrees(middle):.6g} deg" in there
    goal = "simulate panda --controller computed-torque --duration 0.05"
    found = program(f"{goal} --json")
    assert json.loads(found.stdout)["q"][-1] == pytest.approx([0, 0, 0, middle, 0, 0, 0], abs=1e-9)
    assert "--to leaves out" not in found.stderr and "--q leaves out" in found.stderr


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_a_plot_is_written_as_vectors_and_as_a_page(program, ending):
    program(f"simulate planar_2r --q 0.1 0.2 --duration 0.1 --plot motion.{ending}")
    text = (program.folder / f"motion.{ending}").read_text(encoding="utf-8")
    assert text.startswith("<svg" if ending == "svg" else "<!DOCTYPE html>") and "joint2" in text


def test_a_plot_is_written(program):
    pytest.importorskip("matplotlib")
    program("simulate planar_2r --q 0.1 0.2 --duration 0.1 --plot motion.png")
    assert (program.folder / "motion.png").read_bytes().startswith(b"\x89PNG")


# ----- checks


def test_the_verdict_is_the_exit_code(program):
    robot = kt.robots.panda()
    start, end = robot.neutral(), robot.neutral()
    start[[3, 5]], end[[3, 5]] = (-1.5, 1.5), (-1.2, 1.2)
    write_csv(quintic(start, end, duration=2.0, robot=robot), program.folder / "calm.csv")
    write_csv(quintic(start, end, duration=0.05, robot=robot), program.folder / "wild.csv")
    calm, wild = program("check panda calm.csv"), program("check panda wild.csv", code=1)
    assert "within all limits" in calm.stdout and "OVER" not in calm.stdout
    assert "OVER" in wild.stdout and "times slower" in wild.stdout and wild.stderr == ""
    assert "panda_joint4" in wild.stdout and "violation" in wild.stdout
    text = (program.folder / "wild.csv").read_text(encoding="utf-8")
    piped = program.json("check panda -", text, code=1)
    assert piped["violations"] == program.json("check panda wild.csv", code=1)["violations"]
    program("check panda calm.csv --effort 1", code=1)
    program("check panda wild.csv --effort 1e6 --velocity 1e6 --tolerance 1e-3")
    slow = program("check panda calm.csv --velocity 1 --degrees", code=1)  # deg/s
    assert "deg/s" in slow.stdout and "rad/s" not in slow.stdout


def test_a_robot_without_limits(program, arm):
    write_csv(quintic([0.0, 0.0], GOAL, duration=1.0, robot=arm), program.folder / "free.csv")
    assert "has no limits" in program("check planar_2r free.csv").stdout
    program("check planar_2r free.csv --effort 10", code=1)


# ----- identification and timing


def test_identify_tells_what_it_found(program):
    robot = kt.robots.spatial_3r()
    t = np.linspace(0, 4, 801)
    w = np.array([[2.0, 3.1, 4.3], [5.2, 1.7, 2.9]]).T[:, :, None]
    q = np.sin(w * t).sum(axis=1).T
    dq, ddq = (w * np.cos(w * t)).sum(axis=1).T, -(w**2 * np.sin(w * t)).sum(axis=1).T
    tau = robot.inverse_dynamics(q, dq, ddq)
    motion = kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)
    write_csv(motion, program.folder / "data.csv")
    text = (program.folder / "data.csv").read_text(encoding="utf-8")
    found = program.json("identify spatial_3r - -o found.xml", text)
    assert found["joints"] == list(robot.model.dof_names) and found["output"] == "found.xml"
    assert max(found["found"]) < 1e-6 * max(found["rms"])  # no noise: what was there is found
    assert (program.folder / "found.xml").exists() and found["base_parameters"] > 0


def test_identify_prints_friction_and_payload(program):
    robot = kt.robots.ur5e()
    rng, t = np.random.default_rng(3), np.linspace(0, 6, 301)
    w, a = rng.uniform(1, 5, (6, 3, 1)), rng.uniform(0.2, 0.4, (6, 3, 1))
    q = (a * np.sin(w * t)).sum(axis=1).T
    dq, ddq = (a * w * np.cos(w * t)).sum(axis=1).T, -(a * w * w * np.sin(w * t)).sum(axis=1).T
    rubs = {name: kt.Friction(viscous=2.0, coulomb=0.5) for name in robot.model.joint_names}
    loaded = robot.with_friction(rubs).with_payload(1.25, (0, 0.02, 0.1))
    tau = loaded.inverse_dynamics(q, dq, ddq) + 0.01 * rng.normal(size=q.shape)
    motion = kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)
    write_csv(motion, program.folder / "loaded.csv")
    found = program.json("identify ur5e loaded.csv -o loaded.xml --friction symmetric")
    for x in found["friction"]:
        expected = {"viscous": 2.0, "coulomb": 0.5, "armature": 0.0}[x["kind"]]
        if x["value"] is None:  # not determined
            assert x["kind"] == "armature"
            continue
        assert x["value"] == pytest.approx(expected, abs=max(2 * x["margin"], 0.02))
        assert (
            x["unit"] == {"viscous": "N m s/rad", "coulomb": "N m", "armature": "kg m^2"}[x["kind"]]
        )
    load = found["payload"]
    assert load["mass"] == pytest.approx(1.25, abs=0.02) and 0 < load["margin"] < 0.02
    assert load["com"] == pytest.approx([0, 0.02, 0.1], abs=0.01)
    light = motion.replace(tau=robot.with_friction(rubs).inverse_dynamics(q, dq, ddq))
    write_csv(light, program.folder / "light.csv")
    known = program("identify ur5e light.csv -o light.xml").stdout
    assert "payload: the data show none on the tool" in " ".join(known.split())

"""Numbers of the command line are those of the library, to the last bit, in JSON and CSV."""

import numpy as np
import pytest

import kinetree as kt

Q, DQ, DDQ = [0.1, -0.3, 0.2, -2.0, 0.3, 1.8, 0.5], [0.3, -0.2, 0.5, 1, 0, 0.1, 2], [1.0] * 7
STATE = f"--q {' '.join(map(str, Q))} --dq {' '.join(map(str, DQ))}"
MOTION = f"{STATE} --ddq {' '.join(map(str, DDQ))}"


@pytest.fixture(scope="module")
def panda():
    return kt.robots.panda()


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found, float), np.asarray(expected, float))


def test_dynamics(program, panda):
    tau = panda.inverse_dynamics(Q, DQ, DDQ)
    same(program.json(f"id panda {MOTION}")["tau"], tau)
    same(program.json(f"fd panda {STATE} --tau {' '.join(map(repr, tau.tolist()))}")["ddq"],
         panda.forward_dynamics(Q, DQ, tau))  # fmt: skip
    named = " ".join(f"{name}={Q[k]}" for k, name in reversed([*enumerate(panda.joint_names)]))
    same(program.json(f"id panda --q {named}")["tau"], panda.inverse_dynamics(Q, [0] * 7, [0] * 7))


def test_degrees_are_angles_in_and_out(program, panda):
    words = " ".join(f"{name}={x}" for name, x in zip(panda.joint_names, Q, strict=True))
    found = program.json(f"id panda --q {words} --degrees")
    tau = panda.inverse_dynamics(np.radians(Q), [0] * 7, [0] * 7)
    np.testing.assert_allclose(found["tau"], tau, rtol=1e-12)
    ddq = panda.forward_dynamics(np.radians(Q), [0] * 7, [0] * 7)
    found = program.json(f"fd panda --q {words} --degrees")
    np.testing.assert_allclose(found["ddq"], np.degrees(ddq), rtol=1e-12)


def test_terms(program, panda):
    found = program.json(f"terms panda {STATE}")
    same(found["M"], panda.mass_matrix(Q))
    same(found["g"], panda.gravity_forces(Q))
    np.testing.assert_allclose(np.dot(found["C"], DQ), panda.coriolis_forces(Q, DQ), atol=1e-12)


def test_options_of_reading_change_the_robot(program, panda):
    friction = panda.with_friction({panda.joint_names[0]: kt.friction.Friction(2.0, 1.0)})
    program.folder.joinpath("rubs.urdf").write_text(kt.convert.to_urdf(friction), encoding="utf-8")
    same(program.json(f"id rubs.urdf {MOTION}")["tau"], friction.inverse_dynamics(Q, DQ, DDQ))
    plain = program.json(f"id rubs.urdf {MOTION} --friction none")["tau"]
    np.testing.assert_allclose(plain, panda.inverse_dynamics(Q, DQ, DDQ), atol=1e-12)
    free = kt.load(program.folder / "rubs.urdf", floating=True)
    found = program.json("id rubs.urdf --floating")
    assert found["coordinates"] == list(free.coordinate_names) and len(found["tau"]) == 13


def test_rows_of_states_keep_their_order(program, panda):
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, (40, 7))
    head = ",".join(f"q:{name}" for name in panda.joint_names)
    rows = "\n".join(",".join(map(repr, row)) for row in q.tolist())
    names, found = program.rows("id panda -", stdin=f"{head}\n{rows}\n")
    assert names == [f"tau:{name}" for name in panda.joint_names]
    same(found, panda.inverse_dynamics(q, np.zeros((40, 7)), np.zeros((40, 7))))
    order = rng.permutation(7)
    head = ",".join(f"q:{panda.joint_names[k]}" for k in order)
    rows = "\n".join(",".join(map(repr, row)) for row in q[:, order].tolist())
    same(program.rows("id panda -", stdin=f"{head}\n{rows}\n")[1], found)


def test_motions_are_those_of_the_library(program, panda):
    two = kt.robots.planar_2r()
    program("simulate planar_2r --q 0.2 0.1 --duration 0.1 --dt 0.01 --method rk4 -o run.csv")
    run = two.simulate([0.2, 0.1], duration=0.1, dt=0.01, method="rk4")
    read = kt.motion.read(program.folder / "run.csv", two)
    same(read.q, run.q)
    same(read.dq, run.dq)
    program("plan planar_2r --to 1 0.5 --duration 2 -o plan.csv")
    plan = kt.motion.read(program.folder / "plan.csv", two)
    same(plan.q[-1], [1, 0.5])
    assert plan.t[-1] == 2 and not plan.dq[[0, -1]].any()
    checked = program.json("check planar_2r plan.csv --effort 1e4")
    tau = two.inverse_dynamics(plan.q, plan.dq, plan.ddq)
    worst = [x["peak_torque"] for x in checked["joints"]]
    np.testing.assert_allclose(np.abs(worst), np.abs(tau).max(axis=0), rtol=1e-3)


def test_explanations_and_equations(program):
    two = kt.robots.planar_2r()
    found = program.json("explain planar_2r --q 0.3 0.5 --dq 1 -0.5 --ddq 1 2")
    shares = found["torque"]["shares"]
    np.testing.assert_allclose(
        np.sum([*shares.values()], axis=0), two.inverse_dynamics([0.3, 0.5], [1, -0.5], [1, 2])
    )
    np.testing.assert_allclose(shares["gravity"], two.gravity_forces([0.3, 0.5]))


def test_converted_files_are_the_same_robot(program, panda):
    for file in ("panda.urdf", "panda.xml"):
        if file.endswith("xml"):
            pytest.importorskip("mujoco")
        program(f"convert panda -o {file}")
        read = kt.load(program.folder / file)
        tau = read.inverse_dynamics(Q, DQ, DDQ)
        np.testing.assert_allclose(tau, panda.inverse_dynamics(Q, DQ, DDQ), rtol=1e-10, atol=1e-10)

"""Files and pipes of states: rows in, the library's rows out; complaints name the line."""

import json

import numpy as np
import pytest

import kinetree as kt

ROBOT = kt.robots.planar_2r()
RNG = np.random.default_rng(3)
STATES = RNG.normal(size=(50, 3, 2))


def csv(*columns, names=None):
    lines = [",".join(map(repr, row)) for row in np.concatenate(columns, axis=1).tolist()]
    return "\n".join(([names] if names else []) + lines) + "\n"


Q, DQ, DDQ = STATES[:, 0], STATES[:, 1], STATES[:, 2]
TAU = ROBOT.inverse_dynamics(Q, DQ, DDQ)


def test_rows_without_names(program):
    heads, rows = program.rows("id planar_2r -", csv(Q, DQ, DDQ))
    assert heads == ["tau:joint1", "tau:joint2"] and rows == TAU.tolist()


def test_rows_with_names_in_any_order_and_with_times(program):
    t = np.arange(50)[:, None] / 8
    names = "tau:joint1,tau:joint2,ddq:joint1,ddq:joint2,t,joint2,q:joint1,dq:joint1,dq:joint2"
    text = csv(TAU, DDQ, t, Q[:, ::-1], DQ, names=names)
    heads, rows = program.rows("id planar_2r -", text)
    assert heads == ["t", "tau:joint1", "tau:joint2"]
    np.testing.assert_array_equal(rows, np.concatenate([t, TAU], axis=1))
    heads, rows = program.rows("fd planar_2r -", text)
    np.testing.assert_allclose(np.array(rows)[:, 1:], DDQ, rtol=1e-9, atol=1e-9)


def test_a_file_and_json_lines(program):
    (program.folder / "in.csv").write_text(csv(Q, DQ, DDQ), encoding="utf-8")
    program("id planar_2r in.csv --json -o out.jsonl")
    lines = (program.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(x) for x in lines]
    assert [x["tau"] for x in found] == TAU.tolist()
    assert [x["row"] for x in found] == list(range(1, 51))


def test_what_is_missing_is_zero_and_said(program):
    found = program("id planar_2r -", csv(Q))
    assert found.stderr == "kinetree: standard input has no columns of dq and ddq: taken as zero.\n"
    rows = [[float(x) for x in row.split(",")] for row in found.stdout.splitlines()[1:]]
    assert rows == ROBOT.inverse_dynamics(Q, 0 * Q, 0 * Q).tolist()


def test_terms_of_rows(program):
    heads, rows = program.rows("terms planar_2r -", csv(Q, DQ))
    M = ROBOT.mass_matrix(Q)
    assert heads[:4] == ["M:joint1:joint1", "M:joint1:joint2", "M:joint2:joint1", "M:joint2:joint2"]
    np.testing.assert_array_equal(np.array(rows)[:, :4], M.reshape(50, 4))
    found = [
        json.loads(x) for x in program("terms planar_2r - --json", csv(Q, DQ)).stdout.splitlines()
    ]
    assert [x["C"] for x in found] == ROBOT.coriolis_matrix(Q, DQ).tolist()


def test_a_row_is_explained(program):
    found = program.json("explain planar_2r - --row 7", csv(Q, DQ, DDQ))
    assert found["q"] == Q[6].tolist()
    np.testing.assert_allclose(found["torque"]["tau"], TAU[6], rtol=1e-12)
    assert "has 50 rows" in program("explain planar_2r - --row 51", csv(Q), code=2).stderr


def test_degrees_of_rows(program):
    _, rows = program.rows("id planar_2r - --degrees", csv(np.rad2deg(Q), np.rad2deg(DQ)))
    expected = ROBOT.inverse_dynamics(Q, DQ, 0 * Q)
    np.testing.assert_allclose(rows, expected, rtol=1e-13, atol=1e-12)


def test_quaternions_in_rows(program):
    robot = kt.robots.quadruped()
    q = np.array([robot.random(rng=k) for k in range(3)])
    _, rows = program.rows("id quadruped -", csv(q))
    expected = robot.inverse_dynamics(q, np.zeros((3, 18)), np.zeros((3, 18)))
    np.testing.assert_allclose(rows, expected, rtol=1e-13, atol=1e-12)
    q[2, 0] += 0.1
    words = program("id quadruped -", csv(q), code=2).stderr
    assert "line 3" in words and "quaternion of joint 'base'" in words


@pytest.mark.parametrize(
    "text",
    [
        "1;2\n3;4\n",
        "1\t2\n3\t4\n",
        "1 2\n 3  4\n",
        "# made\n1,2\n#\n3,4",
        "1,2\r\n3,4\r\n",
        "\ufeff1,2\n3,4",
        "\n1,2\n\n  \n3,4\n\n",
        ' 1 ,"2"\n3,4',
    ],
)
def test_files_of_all_systems(program, text):
    _, rows = program.rows("id planar_2r -", text)
    assert rows == ROBOT.inverse_dynamics([[1, 2], [3, 4]], np.zeros(2), np.zeros(2)).tolist()


def test_forces_over_time(program):
    t, tau = [0, 0.5, 1.0], [[0, 0], [1, 0], [0, -1.0]]
    text = csv(np.array(t)[:, None], np.array(tau), names="t,tau:joint1,tau:joint2")
    found = program.json("simulate planar_2r --duration 1 --forces -", text)
    motion = ROBOT.simulate(
        np.zeros(2), duration=1, tau=kt.simulate.signal(t, tau, "linear"), limits="record"
    )
    assert found["q"] == motion.q.tolist() and found["tau"] == motion.tau.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "standard input is empty"),
        ("\n \n", "standard input is empty"),
        ("joint1,joint2\n", "a line of names and no row"),
        ("1,2\n3,nan\n", "line 2: 'q:joint2' is nan"),
        ("1,2\n3,4\ninf,2\n", "line 3: 'q:joint1' is inf"),
        ("1,2\n3,1e999\n", "line 2: 'q:joint2' is 1e999"),
        ("1,2\n\n3,x\n", "line 3: 'q:joint2' is 'x'"),
        ("1,2\n3\n", "line 2: 1 column; expected 2"),
        ("1,2\n3,4,5\n", "line 2: 3 columns; expected 2"),
        ("1,2,3\n", "line 1: 3 columns without names; 'planar 2R' takes 2 (q) or 4 (q, dq) or 6"),
        ("0,5;0,7\n", "line 1: commas and semicolons in one line"),
        ("q:joint1;q:joint2\n0,5;0,7\n", "line 2: 'q:joint1' is '0,5'; expected a number"),
        ("q:joint1\n1\n", "q of joint2 is missing"),
        ("q:joint1,q:joint2,dq:joint1\n1,2,3\n", "dq of joint2 is missing"),
        ("q:joint1,q:jiont2\n1,2\n", "Did you mean 'joint2'?"),
        ("q:joint1,joint1,q:joint2\n1,2,3\n", "'q:joint1' and 'joint1' both are q of joint1"),
        ("joint1,joint1\n1,2\n", "two columns are called 'joint1'"),
        ("q:joint1,,q:joint2\n1,2,3\n", "column 2 has no name"),
        ("q:joint1,q:joint2\nq:joint1,q:joint2\n", "line 2: 'q:joint1' is 'q:joint1'"),
    ],
)
def test_wrong_rows_are_refused_with_their_line(program, text, words):
    found = program("id planar_2r -", text, code=2)
    assert words in found.stderr and found.stderr.count("\n") == 1
    assert found.stderr.startswith("kinetree: ")


def test_an_earlier_result_survives_wrong_input(program):
    path = program.folder / "kept.csv"
    path.write_text("precious", encoding="utf-8")
    program("id planar_2r - -o kept.csv", "1,2\n3,x\n", code=2)
    assert path.read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n", "line 1: columns without names"),
        ("tau:joint1,tau:joint2\n1,2\n", "no column 't'"),
        ("t,q:joint1,q:joint2\n0,1,2\n", "tau of joint1, joint2 is missing"),
        ("t,tau:joint1,tau:joint2\n1,0,0\n0,0,0\n", "times of the signal do not increase"),
    ],
)
def test_wrong_forces_are_refused(program, text, words):
    assert words in program("simulate planar_2r --forces -", text, code=2).stderr


def test_rows_that_are_no_text(program):
    (program.folder / "utf16.csv").write_bytes("1,2\n3,4\n".encode("utf-16"))
    assert "line 1 is not text in UTF-8" in program("id planar_2r utf16.csv", code=2).stderr
    (program.folder / "late.csv").write_bytes(b"1,2\n3,4\n\xff,2\n")
    assert "line 3 is not text in UTF-8" in program("id planar_2r late.csv", code=2).stderr
    (program.folder / "long.csv").write_bytes(b"1," * (3 << 20))
    assert "longer than 4 MiB" in program("id planar_2r long.csv", code=2).stderr

"""CSV and NPZ: back to the same bits, and refused with the reason and the line."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError, ShapeError
from kinetree.model.samples import random_model
from kinetree.motion import Trajectory, quintic, read_csv, read_npz

ROBOT = kt.robots.planar_2r()
A, B = ROBOT.model.joint_names


@pytest.fixture
def motion():
    plan = quintic([0.1, 0.2], [1 / 3, -2], 0.7, 0.05, robot=ROBOT)
    return plan.replace(tau=ROBOT.inverse_dynamics(plan.q, plan.dq, plan.ddq))


def same(one, other):
    for name in ("t", "q", "dq", "ddq"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert (one.tau is None) == (other.tau is None)
    assert one.tau is None or np.array_equal(one.tau, other.tau)


@pytest.mark.parametrize("robot", [None, ROBOT], ids=["alone", "with robot"])
def test_csv_reads_back_to_the_same_bits(motion, tmp_path, robot):
    motion.to_csv(tmp_path / "a.csv")
    found = read_csv(tmp_path / "a.csv", robot)
    same(motion, found)
    assert found.joint_names == (A, B) and found.name == "a"
    bare = motion.replace(tau=None)
    bare.to_csv(tmp_path / "b.csv")
    same(bare, read_csv(tmp_path / "b.csv", robot))


@pytest.mark.parametrize("robot", [None, ROBOT], ids=["alone", "with robot"])
def test_npz_reads_back_to_the_same_bits(motion, tmp_path, robot):
    motion.to_npz(tmp_path / "a.npz")
    found = read_npz(tmp_path / "a.npz", robot)
    same(motion, found)
    assert found.joint_names == (A, B) and found.name == "quintic"


def test_batches_and_free_bases_go_into_npz(tmp_path):
    robot = kt.robots.quadruped()
    q = np.tile(robot.neutral(), (4, 3, 1))
    dq = np.random.default_rng(0).normal(size=(4, 3, robot.n))
    motion = Trajectory(t=range(4), q=q, dq=dq, ddq=dq, model=robot.model)
    motion.to_npz(tmp_path / "walk.npz")
    same(motion, read_npz(tmp_path / "walk.npz", robot))
    with pytest.raises(InputError, match=r"need their robot: kt.motion.read\(path, robot\)"):
        read_npz(tmp_path / "walk.npz")
    with pytest.raises(InputError, match=r"a CSV file takes one motion.*rollout"):
        motion.to_csv(tmp_path / "walk.csv")
    motion.rollout(1).to_csv(tmp_path / "one.csv")
    same(motion.rollout(1), read_csv(tmp_path / "one.csv", robot))


def test_columns_come_in_any_order_and_names_may_hold_commas(tmp_path):
    names = ["up, down", 'the "left" one']
    motion = quintic([0, 0], [1, 2], 1, 0.1, joint_names=names)
    motion.to_csv(tmp_path / "odd.csv")
    assert read_csv(tmp_path / "odd.csv").joint_names == tuple(names)
    text = f"dq:{B},t,q:{B},q:{A},dq:{A}\n1,0,2,3,4\n1,0.5,2.5,5,4\n\n1,1,3,7,4\n"
    (tmp_path / "mixed.csv").write_text(text, encoding="utf-8")
    found = read_csv(tmp_path / "mixed.csv", ROBOT)
    assert np.array_equal(found.q, [[3, 2], [5, 2.5], [7, 3]])
    assert np.array_equal(found.dq, [[4, 1]] * 3)
    assert read_csv(tmp_path / "mixed.csv").joint_names == (B, A)


def test_missing_rates_are_those_of_the_spline(tmp_path):
    t = np.linspace(0, 2, 201)
    lines = [f"t,{A},{B}", *(f"{x!r},{float(np.sin(x))!r},{x**3!r}" for x in t.tolist())]
    (tmp_path / "q.csv").write_text("\n".join(lines), encoding="utf-8")
    found = read_csv(tmp_path / "q.csv", ROBOT)
    assert np.allclose(found.dq, np.stack([np.cos(t), 3 * t**2], 1), atol=1e-6)  # h^3
    assert np.allclose(found.ddq, np.stack([-np.sin(t), 6 * t], 1), atol=1e-3)  # h^2


GOOD = f"t,q:{A},q:{B}\n0,1,2\n0.1,1,2\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace(A, "knee"), r"line 1: unknown joint 'knee' in a column of q"),
        (GOOD.replace("t,", "t;"), "line 1: commas and semicolons in one line; expected one kind"),
        (GOOD.replace(",", ";") + "0,2;1;2", "line 4: 't' is '0,2'.*write 0.5 for 0,5"),
        (GOOD.replace(f",q:{B}", "").replace(",2", ""), rf"line 1: q of {B} is missing"),
        (GOOD + "0.1,1,2\n", r"line 4: t = 0\.1 s comes after t = 0\.1 s of line 3"),
        (GOOD + "0.05,1,2\n", r"line 4: .* times must increase"),
        (GOOD + "0.2,nan,2\n", rf"line 4: 'q:{A}' is nan; expected a finite number"),
        (GOOD + "0.2,inf,2\n", r"line 4: .* is inf"),
        (GOOD + "0.2,1,2,3\n", r"line 4: 4 columns; expected 3"),
        (GOOD + "\n0.2,1\n", r"line 5: 2 columns; expected 3"),
        (GOOD + "0.2,1,two\n", rf"line 4: 'q:{B}' is 'two'; expected a number"),
        (f"q:{A},q:{B}\n1,2\n", r"line 1: no column 't'"),
        (GOOD.replace(B, A), r"line 1: two columns are called"),
        (GOOD.replace("0,1,2\n0.1,1,2\n", ""), r"a line of names and no row of numbers"),
        (GOOD.replace(f"q:{A}", "q:"), r"column 2 has no name"),
        ("", "is empty"),
        ("t\n0\n", "q of joint1, joint2 is missing"),
    ],
)
def test_bad_csv_is_refused_with_the_line(text, says, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.csv.*" + says):
        read_csv(path, ROBOT)


def test_what_is_no_text_is_no_csv(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"t,\xff\xfe\n")
    with pytest.raises(ParseError, match="line 1 is not text in UTF-8; expected a CSV file"):
        read_csv(path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"t": None}, "no array t"),
        ({"t": [0, 0, 1]}, "times must increase"),
        ({"q": np.zeros((3, 5))}, r"q has shape \(3, 5\); expected \(T, \.\.\., 2\)"),
        ({"dq": np.zeros((2, 2))}, r"dq has shape \(2, 2\); expected \(3, 2\)"),
        ({"ddq": np.full((3, 2), np.nan)}, "ddq.* is nan"),
        ({"dof_names": ["hip", B]}, "unknown joint 'hip'"),
        ({"q": np.array([{}] * 3)}, "is not an NPZ file of arrays"),
    ],
)
def test_bad_npz_is_refused_with_the_reason(changes, says, tmp_path):
    arrays = {
        "t": [0, 1, 2],
        "dof_names": [A, B],
        **{x: np.zeros((3, 2)) for x in ("q", "dq", "ddq")},
    }
    arrays = {name: x for name, x in (arrays | changes).items() if x is not None}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=says):
        read_npz(tmp_path / "bad.npz", ROBOT)


def test_what_is_no_archive_is_no_npz(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK not really")
    with pytest.raises(ParseError, match="is not an NPZ file"):
        read_npz(tmp_path / "bad.npz")
    with pytest.raises(ShapeError):
        Trajectory(t=[0], q=[0], dq=[0], ddq=[0])


@pytest.mark.parametrize("kind", ["spherical", "planar", "free"])
def test_rates_that_are_no_derivative_of_q_are_asked_for(tmp_path, kind):
    """The rates of a base in the plane are in its own axes, as those of quaternions are."""
    robot = kt.Robot(random_model(0, 1, types=(kind,)))
    names = ",".join(f"q:{name}" for name in robot.model.coordinate_names)
    q = ",".join(map(str, robot.neutral()))
    (tmp_path / "a.csv").write_text(f"t,{names}\n" + "".join(f"{t},{q}\n" for t in range(4)))
    with pytest.raises(InputError, match="Add the columns of dq"):
        read_csv(tmp_path / "a.csv", robot)

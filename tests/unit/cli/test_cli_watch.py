"""`kinetree watch`: contacts of recordings, thresholds from several sources, errors in words."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import write_csv

ROBOT = kt.robots.spatial_3r()
JOINTS = ROBOT.model.dof_names
PUSH = (5.0, 5.4)  # s


def moved(seed=0, push=0.0, joint=2, noise=0.3):
    """A motion of all joints with noisy torques, and a push of one joint."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, 9, 0.004)
    w, a, b = np.array([1.1, 1.7, 2.3]), np.array([0.8, 0.7, 0.6]), rng.uniform(0, 6, 3)
    turn = w * t[:, None] + b
    q, dq, ddq = a * np.sin(turn), a * w * np.cos(turn), -a * w * w * np.sin(turn)
    tau = ROBOT.inverse_dynamics(q, dq, ddq) + noise * rng.normal(size=q.shape)
    tau[(t >= PUSH[0]) & (t < PUSH[1]), joint] -= push
    return kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=ROBOT.model)


@pytest.fixture(scope="module")
def folder(program):
    for name, data in {
        "calm": moved(),
        "hit": moved(push=6.0),
        "other": moved(seed=1),
    }.items():
        write_csv(data, program.folder / f"{name}.csv")
    lines = (program.folder / "hit.csv").read_text(encoding="utf-8").splitlines()
    kept = [k for k, x in enumerate(lines[0].split(",")) if not x.startswith(("dq:", "ddq:"))]
    cells = [line.split(",") for line in lines]
    text = "\n".join(",".join(row[k] for k in kept) for row in cells)
    (program.folder / "rateless.csv").write_text(text, encoding="utf-8")
    return program


def test_a_recording_without_contacts_has_code_0(folder):
    shown = folder("watch spatial_3r calm.csv").stdout
    assert "no contact in 8." in shown and "thresholds from the recording itself" in shown
    found = folder.json("watch spatial_3r calm.csv")
    assert found["ok"] and found["contacts"] == [] and found["report"] is None
    assert [x["joint"] for x in found["joints"]] == list(JOINTS)
    assert all(x["rms"] < x["peak"] < x["threshold"] for x in found["joints"])


@pytest.mark.parametrize("robot", ["planar_2r --q 0.5 0.3", "panda --controller gravity"])
def test_a_simulated_file_has_no_contact(folder, robot):
    folder(f"simulate {robot} --duration 2 --limits ignore -o clean.csv")
    found = folder.json(f"watch {robot.split()[0]} clean.csv")
    assert found["contacts"] == []
    assert {x["verdict"] for x in found["joints"]} == {"below threshold"}


def test_a_peak_above_its_threshold_that_is_no_contact_is_explained(folder):
    """Friction of a joint at rest may be anything up to its largest value."""
    rough = ROBOT.with_friction(kt.Friction(0.1, 2.0))
    (folder.folder / "rough.urdf").write_text(rough.to_urdf(losses="allow"), encoding="utf-8")
    calm = moved(noise=0.0)
    q, still = np.tile(calm.q[:1], (len(calm), 1)), np.zeros_like(calm.q)
    tau = ROBOT.gravity_forces(q) + 1.5
    write_csv(calm.replace(q=q, dq=still, ddq=still, tau=tau), folder.folder / "rests.csv")
    found = folder.json("watch rough.urdf rests.csv --threshold 1")
    assert found["contacts"] == []
    assert all(x["peak"] > 1 and "may be friction at rest" in x["verdict"] for x in found["joints"])


@pytest.mark.parametrize(
    "more",
    ["", "--contact-free 0.5 4.5", "--reference other.csv", "--threshold 3", "--gain 15"],
)
def test_a_push_has_code_1_with_its_times_and_joint(folder, more):
    (found,) = folder.json(f"watch spatial_3r hit.csv {more}", code=1)["contacts"]
    assert found["joint"] == JOINTS[2] and found["joints"] == [JOINTS[2]]
    assert found["link"] == ROBOT.model.link_names[2] and found["unit"] == "N m"
    assert found["peak"] == pytest.approx(6, abs=1.2)
    assert (found["start"], found["end"]) == pytest.approx(PUSH, abs=0.05)


def test_a_threshold_by_name_hides_a_contact_of_that_joint_only(folder):
    found = folder.json(f"watch spatial_3r hit.csv --threshold {JOINTS[2]}=50")
    assert found["ok"] and found["joints"][2]["threshold"] == 50
    plain = folder.json("watch spatial_3r hit.csv", code=1)
    assert [x["threshold"] for x in found["joints"][:2]] == [
        x["threshold"] for x in plain["joints"][:2]
    ]


def test_rates_are_computed_where_the_file_has_none(folder):
    """Noise of the positions is small, so the low-pass changes little."""
    (found,) = folder.json("watch spatial_3r rateless.csv", code=1)["contacts"]
    assert (found["start"], found["end"]) == pytest.approx(PUSH, abs=0.05)
    text = (folder.folder / "rateless.csv").read_text(encoding="utf-8")
    piped = folder.json("watch spatial_3r -", text, code=1)["contacts"]
    assert piped == [found]


def test_the_table_and_the_page_have_the_contact(folder):
    shown = folder("watch spatial_3r hit.csv --report found.html", code=1).stdout
    assert "1 contact in" in shown and "on or beyond" in shown and "report  found.html" in shown
    page = (folder.folder / "found.html").read_text(encoding="utf-8")
    assert page.count("<figure ") == 3 and "1 contact in" in page and "default-src 'none'" in page


def test_a_robot_that_explains_little_is_named(folder):
    text = ROBOT.with_payload(20.0, (0.1, 0, 0)).to_urdf(losses="allow")
    (folder.folder / "heavy.urdf").write_text(text, encoding="utf-8")
    found = folder.json("watch heavy.urdf hit.csv")
    assert any("explains less than half of the joint forces" in x for x in found["notes"])


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("--gain 0", "--gain is 0; expected a number above 0, 1/s"),
        ("--false-alarms -1", "--false-alarms is -1; expected a number above 0"),
        ("--threshold high", "--threshold is 'high'; expected a number above 0"),
        ("--threshold elbow=3", "names 'elbow', which"),
        ("--threshold 3 4", "gives 'all joints' twice"),
        ("--threshold 3 --reference calm.csv", "--threshold 3 sets all thresholds"),
        ("--reference calm.csv --contact-free 0 4", "are both given"),
        ("--contact-free 4", "--contact-free is '4'; expected two times"),
        ("--contact-free 40 50", "within the recording: "),
        ("--contact-free 4 2", "the earlier one first"),
        ("--contact-free 1 1.2", "10 time constants of the observer"),
        ("--reference nope.csv", "there is no file nope.csv"),
        ("--report found.txt", "expected a name that ends with .html"),
        ("--report nowhere/found.html", "expected a file in an existing folder"),
    ],
)
def test_wrong_words_are_explained(folder, more, text):
    found = folder(f"watch spatial_3r hit.csv {more}", code=2)
    assert text in found.stderr and found.stdout == ""


def test_robots_with_constraints_are_refused(folder):
    found = folder("watch four_bar hit.csv", code=2)
    assert "does not honour constraints" in found.stderr

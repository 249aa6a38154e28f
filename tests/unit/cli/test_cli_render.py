"""`kinetree render`: files from robots and recordings, and errors in the words of the shell."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import write_csv
from kinetree.views import render

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
SMALL = "--size 64x48"


@pytest.fixture(scope="module")
def ready(program):
    robot = kt.robots.double_pendulum()
    write_csv(swing(robot), program.folder / "swing.csv")
    return program


def swing(robot):
    return kt.motion.quintic([0, 0], [1, -0.5], 0.5, 0.01, robot=robot)


def test_a_picture_is_that_of_the_library_and_json_describes_it(ready, tmp_path):
    found = ready.json(f"render panda -o a.png {SMALL} --camera -20 30 --degrees --add gravity")
    angles = np.radians(-20), np.radians(30)
    render(
        kt.robots.panda(), path=tmp_path / "b.png", size=(64, 48), camera=angles, add=["gravity"]
    )
    data = (ready.folder / "a.png").read_bytes()
    assert data == (tmp_path / "b.png").read_bytes()
    assert found == {
        "robot": "Franka Panda",
        "file": "a.png",
        "bytes": len(data),
        "width": 64,
        "height": 48,
        "frames": 1,
        "duration": 0.0,
        "not_drawn": [],
    }


def test_a_movie_of_a_recording_has_its_length(ready):
    found = ready(f"render double_pendulum swing.csv -o a.gif {SMALL} --fps 20 --add trace")
    assert found.stderr.startswith("kinetree: wrote a.gif, 11 frames, 0.55 s, 0.")
    assert found.stdout == ""
    with Image.open(ready.folder / "a.gif") as movie:
        assert movie.n_frames == 11 and movie.size == (64, 48)


def test_the_way_of_a_plan_is_faint(ready):
    ready(f"render double_pendulum -o way.svg {SMALL} --plan swing.csv")
    assert 'stroke-opacity="0.4"' in (ready.folder / "way.svg").read_text(encoding="utf-8")
    assert "panda" in ready(f"render panda -o way.svg {SMALL} --plan swing.csv", code=2).stderr


def test_a_position_in_degrees_and_a_recording_at_a_time_give_the_same_picture(ready):
    ready(f"render double_pendulum -o a.png {SMALL} --q 30 -15 --degrees")
    q = np.radians([30, -15])
    still = kt.motion.quintic(q, q, 0.1, robot=kt.robots.double_pendulum())
    write_csv(still, ready.folder / "still.csv")
    ready(f"render double_pendulum still.csv -o b.png {SMALL} --time 0.05")
    one, other = ((ready.folder / name).read_bytes() for name in ("a.png", "b.png"))
    assert one == other


WRONG = {
    "panda -o a.jpg": "the file is 'a.jpg'; expected a name that ends with .png",
    "panda": "--output is missing: kinetree render ROBOT [TRAJECTORY] --output FILE",
    "panda -o a.png --size 12": "--size is '12'; expected WIDTHxHEIGHT",
    "panda -o a.png --size 8x8": "--size is 8 x 8; expected width x height",
    "panda -o a.gif --fps 60": "--fps is 60; expected at most 50 for .gif",
    "panda -o a.png --camera 1": "--camera has 1 number; expected two",
    "panda -o a.png --add tracer": "there is no 'tracer' to add",
    "panda -o a.png --add floor --hide floor": "--add and --hide both name 'floor'",
    "panda -o a.png --time 1": "--time needs TRAJECTORY",
    "double_pendulum swing.csv -o c.png --q 1 1": "--q and TRAJECTORY both give positions",
    "double_pendulum swing.csv -o c.png --time 7": "--time is 7 s; expected 0 to 0.5 s",
    "double_pendulum swing.csv -o c.gif --speed 0.001": "(--fps 10) or a larger speed (--speed 10)",
    "double_pendulum swing.csv -o swing.csv": "-o is swing.csv, which is being read",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_input_is_one_line_in_the_words_of_the_shell(ready, words):
    found = ready(f"render {words}", code=2)
    assert WRONG[words] in found.stderr and found.stderr.count("\n") == 1
    assert not (ready.folder / "c.png").exists() and not list(ready.folder.glob(".*"))

"""render: files of the right kind, size and length, with the robot whole and where it is."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.views import render
from kinetree.views.camera import view_of
from kinetree.views.loops import closed_rest
from kinetree.views.parts import parts_of
from kinetree.views.studio import studio

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
SIZE = (96, 72)


def pixels(path, frame=0, mode="RGB"):
    with Image.open(path) as picture:
        picture.seek(frame)
        return np.asarray(picture.convert(mode)).astype(int)


def swing(robot, duration=0.4):
    q = np.zeros(robot.nq)
    return kt.motion.quintic(q, q + 1, duration, 0.01, robot=robot)


@pytest.mark.parametrize("name", kt.robots.__all__)
def test_every_built_in_robot_is_drawn_whole(name, tmp_path):
    robot = getattr(kt.robots, name)()
    path = tmp_path / "robot.png"
    made = render(robot, path=path, size=SIZE, hide=["floor"], transparent=True)
    assert made.size == SIZE and made.frames == 1 and made.duration == 0 and made.not_drawn == ()
    drawn = pixels(path, mode="RGBA")[..., 3] > 0
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    gaps = rows[0], SIZE[1] - 1 - rows[-1], columns[0], SIZE[0] - 1 - columns[-1]
    # the longer side fills the picture up to the margin, in its middle, and nothing is cut off
    assert min(gaps) >= 3 and min(max(gaps[:2]), max(gaps[2:])) <= 9


def test_the_theme_is_the_background_and_equal_calls_write_equal_files(tmp_path):
    robot = kt.robots.panda()
    one, other, dark = (tmp_path / name for name in ("a.png", "b.png", "c.png"))
    render(robot, path=one, size=SIZE, hide=["floor"])
    render(robot.model, path=other, size=SIZE, hide=["floor"])
    render(robot, path=dark, size=SIZE, hide=["floor"], theme="dark")
    assert one.read_bytes() == other.read_bytes()
    assert (pixels(one)[0, 0] == 255).all() and (pixels(dark)[0, 0] == [20, 24, 30]).all()


def test_the_way_of_a_plan_is_drawn_faintly(tmp_path):
    robot = kt.robots.planar_2r()
    plan = swing(robot)

    def faint(**options):
        path = tmp_path / "robot.png"
        render(robot, path=path, size=(160, 120), hide=["floor", "frame"], **options)
        r, g, b = np.moveaxis(pixels(path), -1, 0)
        assert not ((r > 2.5 * g) & (r > 2.5 * b)).any()  # as strong as a trace
        return ((r > 215) & (g < 200) & (b < 200) & (abs(g - b) < 20)).sum()

    assert faint() == 0 and faint(plans=[plan]) > 50
    assert faint(trajectory=plan, time=0.0, plans=[plan]) > 50  # the whole way, also before it
    picture = tmp_path / "robot.svg"
    render(robot, path=picture, plans=[plan])
    assert 'stroke-opacity="0.4"' in picture.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="planar 2R"):
        render(robot, path=picture, plans=[swing(kt.robots.panda())])


def test_what_is_added_and_hidden_is_seen(tmp_path):
    robot, path = kt.robots.planar_2r(), tmp_path / "robot.png"

    def colours(**options):
        render(robot, path=path, size=(160, 120), **options)
        r, g, b = np.moveaxis(pixels(path), -1, 0)
        return {
            "joint": ((r > 1.5 * g) & (g > 1.5 * b)).sum(),
            "inertia": ((b > r + 45) & (g > r + 25)).sum(),
            "gravity": ((b > g + 40) & (r > g + 30)).sum(),
            "floor": ((r == g) & (g == b) & (r > 180) & (r < 255)).sum(),
            "trace": ((r > 2.5 * g) & (r > 2.5 * b)).sum(),
        }

    usual = colours(hide=["frame"])
    assert usual["joint"] > 50 and usual["floor"] > 300
    assert usual["inertia"] == usual["gravity"] == usual["trace"] == 0
    more = colours(hide=["frame", "body"], add=["inertia", "gravity"])
    assert more["inertia"] > 30 and more["gravity"] > 30
    less = colours(hide=["frame", "joint", "floor"])
    assert less["joint"] == less["floor"] == 0
    assert colours(trajectory=swing(robot), hide=["frame"], add=["trace"])["trace"] > 100


def test_a_movie_shows_the_motion_frame_by_frame(tmp_path):
    robot, path, still = kt.robots.planar_2r(), tmp_path / "a.gif", tmp_path / "a.png"
    motion, seen = swing(robot), []
    made = render(
        robot, motion, path=path, size=SIZE, fps=20, progress=lambda *done: seen.append(done)
    )
    assert made.frames == 9 and made.duration == pytest.approx(0.45)
    assert seen == [(k + 1, 9) for k in range(9)]
    for k in (0, 5, 8):  # the same camera for all, and the state of that time
        render(robot, motion, path=still, size=SIZE, time=min(k / 20, 0.4))
        # pictures have more samples per pixel than movies, and movies fewer colours
        assert np.abs(pixels(path, k) - pixels(still)).mean() < 3
    assert np.abs(pixels(path, 0) - pixels(path, 8)).mean() > 6
    fast = render(robot, motion, path=path, size=SIZE, fps=10, speed=2)
    assert fast.frames == 3


def test_a_picture_of_a_motion_shows_its_end_unless_a_time_is_given(tmp_path):
    robot = kt.robots.planar_2r()
    motion, (one, other) = swing(robot), (tmp_path / "a.png", tmp_path / "b.png")
    render(robot, motion, path=one, size=SIZE)
    render(robot, motion, path=other, size=SIZE, time=0.4)
    assert one.read_bytes() == other.read_bytes()
    render(robot, motion, path=other, size=SIZE, time=0)
    assert one.read_bytes() != other.read_bytes()


def test_a_movie_without_a_motion_goes_once_around_the_robot(tmp_path):
    path = tmp_path / "a.gif"
    made = render(kt.robots.rp(), path=path, size=(48, 36), fps=2)
    assert made.frames == 12 and made.duration == 6
    differences = [np.abs(pixels(path, k) - pixels(path, 0)).mean() for k in range(12)]
    assert differences[0] == 0 and min(differences[1:]) > 1


def stand(robot, **options):
    drawn = kt.views.scene(robot)
    usual = {"shown": {*drawn.shown}, "size": SIZE, "theme": "light", "camera": None, "zoom": 1.0}
    q = closed_rest(robot)[:1]
    return studio(robot.model, drawn, parts_of(drawn.shapes), q, **(usual | options))


def test_the_tool_is_seen_where_it_is(tmp_path):
    """The blue end of the tool's z axis, found in the picture, against a projection by hand."""
    robot = kt.robots.ur5e()
    q = closed_rest(robot)[0]
    place = stand(robot, shown={"frame"}, size=(400, 300))
    picture = place.frame(q, 2)[..., :3].astype(int)
    r, g, b = np.moveaxis(picture, -1, 0)
    blue = np.argwhere((b > 1.8 * r) & (b > 1.5 * g))[:, ::-1] + 0.5
    camera, T = place.camera, robot.pose(q)
    tip = T[:3, 3] + 0.12 * place.scene.extent * T[:3, 2]
    eye = camera.target + camera.distance * camera.eye
    right = np.cross(camera.up, camera.eye) / np.linalg.norm(np.cross(camera.up, camera.eye))
    way = tip - eye
    depth = -way @ camera.eye
    x = place.view.cx + place.view.scale * (way @ right) / depth
    y = place.view.cy - place.view.scale * (way @ np.cross(camera.eye, right)) / depth
    assert np.linalg.norm(blue - [x, y], axis=1).min() < 3


def test_the_camera_can_be_turned_raised_and_zoomed():
    robot = kt.robots.puma_560()
    place, high = stand(robot), stand(robot, camera=(0.0, 1.0))
    assert high.camera.eye @ high.camera.up == pytest.approx(np.sin(1.0))
    assert high.camera.eye @ place.camera.axes[0] == pytest.approx(0, abs=1e-12)
    near = stand(robot, zoom=2.0)
    assert near.view.scale == pytest.approx(2 * place.view.scale)
    middle = np.array(SIZE) / 2
    points = np.random.default_rng(0).normal(size=(9, 3)) + np.array([0, 0, 9])
    one, two = place.view.project(points) - middle, near.view.project(points) - middle
    np.testing.assert_allclose(two, 2 * one, atol=1e-9)
    given = stand(robot, camera=place.camera)  # used as it is, without filling the picture
    assert given.view == view_of(place.camera, SIZE)


def test_lines_grow_with_the_picture():
    """The share of the picture that the floor covers does not depend on the resolution."""
    robot, shares = kt.robots.scara(), []
    for width in (800, 1600):
        size, camera = (width, 3 * width // 4), stand(robot).camera
        place = stand(robot, shown={"floor"}, size=size, camera=camera)
        picture = place.frame(closed_rest(robot)[0], 1, transparent=True)
        shares.append((picture[..., 3] > 0).mean())
    assert shares[1] == pytest.approx(shares[0], rel=0.05) and shares[0] > 0.01


def test_an_svg_is_a_file_of_its_own_with_the_theme_and_the_size(tmp_path):
    path = tmp_path / "robot.svg"
    render(kt.robots.four_bar(), path=path, size=(300, 200), theme="dark", add=["gravity"])
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (root.get("width"), root.get("height")) == ("300", "200")
    assert root.get("aria-label") == "four-bar" and root[0].get("fill") == "#14181e"
    points = [x.get("points") for x in root.iter("{http://www.w3.org/2000/svg}polygon")]
    numbers = np.array([re.split("[ ,]", x) for x in points], float)
    assert len(points) > 100
    assert (
        (numbers >= 0).all() and (numbers[:, ::2] <= 300).all() and (numbers[:, 1::2] <= 200).all()
    )
    assert "fill-opacity" not in path.read_text(encoding="utf-8")
    render(kt.robots.four_bar(), path=path, transparent=True, hide=["floor"], add=["inertia"])
    text = path.read_text(encoding="utf-8")
    assert "<rect" not in text and text.count('fill-opacity="0.4"') > 50


def test_a_name_of_a_robot_cannot_leave_its_place_in_an_svg(tmp_path):
    robot = kt.Builder('a"<b>&').link("base").link("arm", 1.0, (1, 0, 0))
    robot.joint("j", "revolute", "base", "arm")
    render(robot.build(), path=tmp_path / "a.svg")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().get("aria-label") == 'a"<b>&'


WRONG = {
    "the file is 'a.jpg'; expected a name that ends with .png": {"path": "a.jpg"},
    "there is no folder 'no_such_folder'": {"path": "no_such_folder/a.png"},
    "size is 8 x 480; expected width x height": {"size": (8, 480)},
    "size is (640.5, 480)": {"size": (640.5, 480)},
    "size is 33 x 32; .mp4 needs even": {"size": (33, 32), "path": "a.mp4"},
    "fps is 60; expected at most 50 for .gif": {"fps": 60, "path": "a.gif"},
    "fps is 0; expected more than 0": {"fps": 0},
    "speed is nan; expected more than 0": {"speed": float("nan")},
    "zoom is -1; expected more than 0": {"zoom": -1},
    "theme is 'blue'; expected one of light, dark": {"theme": "blue"},
    "there is no 'tracer' to add; expected some of body": {"add": ["tracer"]},
    "add and hide both name 'floor'": {"add": ["floor"], "hide": ["floor"]},
    "nothing of 'planar 2R' is left to draw; expected one of body, joint, inertia, frame": {
        "hide": ["body", "joint", "frame"]
    },
    "time needs a trajectory": {"time": 1.0},
    "to a height of 1.6 rad; expected a finite turn": {"camera": (0, 1.6)},
    "turned by nan rad": {"camera": (float("nan"), 0)},
    ".gif has no half transparent pixels": {"path": "a.gif", "transparent": True},
    "q has 3 entries": {"q": [1, 2, 3]},
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_input_is_named(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(words)):
        render(kt.robots.planar_2r(), **({"path": "a.png"} | WRONG[words]))
    assert not list(tmp_path.iterdir())


def test_a_motion_that_does_not_fit_is_named(tmp_path):
    robot, path = kt.robots.planar_2r(), tmp_path / "a.png"
    motion = swing(robot)
    for words, options in {
        "q and the trajectory both give positions": {"q": [0, 0]},
        "time is 7 s; expected 0 to 0.4 s": {"time": 7},
        "time is for a picture": {"time": 0.1, "path": tmp_path / "a.gif"},
        "would have 8001 frames; expected at most 5000": {
            "path": tmp_path / "a.gif",
            "fps": 50,
            "speed": 0.0025,
        },
    }.items():
        with pytest.raises(InputError, match=re.escape(words)):
            render(robot, motion, **({"path": path} | options))
    with pytest.raises(InputError, match="the trajectory moves joint1, joint2, but 'Franka Panda'"):
        render(kt.robots.panda(), motion, path=path)
    assert not list(tmp_path.iterdir())

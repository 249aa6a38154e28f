"""Pictures, movies and scenes: what is drawn, where it stands, and in which colours."""

import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.views import render, scene

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
SIZE = (96, 72)
URDF = """<robot name="boxes"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="0.5 0 0"/><geometry>
<box size="1 0.2 0.2"/></geometry><material name="red"/></visual>
<visual><origin rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.05" length="1"/>
</geometry></visual></link><joint name="turn" type="continuous"><parent link="base"/>
<child link="arm"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint></robot>"""


def pixels(path, frame=0, mode="RGB"):
    with Image.open(path) as picture:
        picture.seek(frame)
        return np.asarray(picture.convert(mode)).astype(int)


def swing(robot, duration=0.4):
    q = np.zeros(robot.nq)
    return kt.motion.quintic(q, q + 1, duration, 0.01, robot=robot)


@pytest.mark.parametrize("name", kt.robots.__all__)
def test_every_built_in_robot_is_drawn_whole(name, tmp_path):
    robot, path = getattr(kt.robots, name)(), tmp_path / "robot.png"
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


def test_what_is_added_and_hidden_is_seen(tmp_path):
    robot, path = kt.robots.planar_2r(), tmp_path / "robot.png"

    def colours(**options):
        render(robot, path=path, size=(160, 120), **options)
        r, g, b = np.moveaxis(pixels(path), -1, 0)
        return {
            "joint": ((r > 1.5 * g) & (g > 1.5 * b)).sum(),
            "inertia": ((b > r + 45) & (g > r + 25)).sum(),
            "gravity": ((g > r + 30) & (g > b + 30)).sum(),
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


def test_colours_and_places_of_a_file_are_drawn(tmp_path):
    robot, path = kt.load_string(URDF), tmp_path / "box.png"
    box, cylinder = scene(robot).of("visual")
    assert (box.kind, box.link, box.size, box.colour) == ("box", 0, (1.0, 0.2, 0.2), (255, 0, 0))
    assert np.array_equal(box.T[:3, 3], (0.5, 0, 0))
    assert (cylinder.kind, cylinder.size) == ("cylinder", (0.05, 1.0))
    np.testing.assert_allclose(cylinder.T[:3, 2], (1, 0, 0), atol=1e-15)
    middles = []
    for q in ([0.0], [np.pi / 2]):  # the box hangs down after a quarter of a turn
        render(robot, path=path, q=q, size=(200, 200), hide=["floor", "frame"])
        r, g, b = np.moveaxis(pixels(path), -1, 0)
        red = np.argwhere((r > 2 * g) & (r > 2 * b))
        assert len(red) > 500
        middles.append(red.mean(axis=0)[0])
    assert middles[1] > middles[0] + 20


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
        apart = [np.abs(pixels(path, j) - pixels(still)).mean() for j in range(9)]
        assert np.argmin(apart) == k and apart[k] < 5
    assert np.abs(pixels(path, 0) - pixels(path, 8)).mean() > 2
    assert render(robot, motion, path=path, size=SIZE, fps=10, speed=2).frames == 3


def test_a_movie_without_a_motion_goes_once_around_the_robot(tmp_path):
    path = tmp_path / "a.gif"
    made = render(kt.robots.rp(), path=path, size=(48, 36), fps=2)
    assert made.frames == 12 and made.duration == 6
    differences = [np.abs(pixels(path, k) - pixels(path, 0)).mean() for k in range(12)]
    assert differences[0] == 0 and min(differences[1:]) > 1


@pytest.mark.parametrize("name", kt.robots.__all__)
def test_scenes_have_proper_poses_and_bodies_for_all_moving_links(name):
    robot = getattr(kt.robots, name)()
    drawn = scene(robot)
    assert drawn.extent > 0
    for shape in drawn.shapes:
        R = np.asarray(shape.T)[:3, :3]
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-9)
        assert np.linalg.det(R) > 0
    assert {shape.link for shape in drawn.shapes} <= {-1, *range(len(robot.model.links))}
    assert drawn.of("body") and drawn.of("frame")
    bodies = [x for x in drawn.of("body", "joint") if x.kind in ("box", "sphere")]
    assert all(max(x.size) <= 0.75 * drawn.extent for x in bodies)


def test_bodies_and_joints_of_a_chain_stand_where_the_joints_are():
    robot = kt.robots.panda()
    q = kt.dynamics.start_position(robot)
    poses, drawn = robot.link_poses(q), scene(robot)
    axes = robot.space_jacobian(q)
    for shape in drawn.of("joint"):
        T = poses[shape.link] @ shape.T
        omega, v = axes[:3, shape.link], axes[3:, shape.link]
        np.testing.assert_allclose(np.cross(T[:3, 2], omega), 0, atol=1e-9)
        np.testing.assert_allclose(np.cross(T[:3, 3], omega), v, atol=1e-9)
    ellipsoid = next(x for x in drawn.of("inertia") if x.link == 3)
    G = robot.model.G[3]
    np.testing.assert_allclose(
        np.cross(G[3, 3] * ellipsoid.T[:3, 3], np.eye(3)), G[:3, 3:].T, atol=1e-9
    )


def test_slides_have_rails_between_their_limits():
    """Those that place a platform have none; the rail of a follower ends where its leader does."""
    robot = kt.robots.scara()
    joint = next(x for x in robot.model.joints if x.type == "prismatic")
    drawn = [x for x in scene(robot).of("joint") if x.label == joint.name]
    rail = next(x for x in drawn if x.kind == "cylinder")
    assert rail.size[1] == pytest.approx(joint.limits.upper - joint.limits.lower)
    labels = [x.label for x in scene(kt.robots.delta()).of("joint") if x.kind == "cylinder"]
    assert labels and not {"x", "y", "z"} & set(labels)
    b = kt.Builder("gripper").link("base").link("left", 0.1, (0, 0, 0.05))
    b.link("right", 0.1, (0, 0, 0.05))
    limits, mimic = kt.joints.Limits(0.0, 0.04), kt.joints.Mimic("finger", -0.5, 0.01)
    b.joint("finger", "prismatic", "base", "left", axis=(1, 0, 0), limits=limits)
    b.joint("other", "prismatic", "base", "right", axis=(1, 0, 0), mimic=mimic)
    rails = [x for x in scene(b.build()).of("joint") if x.kind == "cylinder"]
    assert {x.label: round(x.size[1], 12) for x in rails} == {"finger": 0.04, "other": 0.02}


def test_files_are_whole_or_not_there(tmp_path):
    """A call that fails leaves the old file and nothing else."""
    path = tmp_path / "a.gif"
    path.write_bytes(b"old")

    def stop(done, count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render(kt.robots.rp(), path=path, size=SIZE, fps=2, progress=stop)
    assert path.read_bytes() == b"old" and [x.name for x in tmp_path.iterdir()] == ["a.gif"]
    for wrong in (dict(path="a.bmp"), dict(size=(0, 9)), dict(hide=["shadow"]), dict(q=[0.1])):
        with pytest.raises(kt.errors.KinetreeError):
            render(kt.robots.rp(), **{"path": path} | wrong)
    assert not re.search("a.bmp", " ".join(x.name for x in tmp_path.iterdir()))

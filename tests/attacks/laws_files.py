"""Laws of files: robots written and read back; random URDF, MJCF, SDF and xacro files."""

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from attack_case import law, note
from attack_plants import body, close, placement, quaternion_matrix, size, tree, unit

import kinetree as kt


@contextmanager
def folder():
    """A folder for files."""
    with tempfile.TemporaryDirectory(prefix="kinetree_files_") as path:
        yield Path(path)


def words(values):
    """Numbers as text with all digits."""
    return " ".join(repr(float(v)) for v in np.ravel(values))


def same_robot(found, expected, rng, tolerance=1e-10):
    """Assert that two robots with the same joints need the same joint forces."""
    assert found.n == expected.n, f"{found.n} degrees of freedom, not {expected.n}"
    a, b = found.model.dof_names, expected.model.dof_names
    assert sorted(a) == sorted(b), f"joints {a}, expected {b}"
    order = [a.index(name) for name in b]
    q, dq, ddq = rng.normal(size=(3, expected.n))
    tau = expected.inverse_dynamics(q, dq, ddq)
    back = np.argsort(order)
    again = found.inverse_dynamics(q[back], dq[back], ddq[back])[order]
    close(again, tau, tolerance * size(tau), "tau of the robot read back")


def law_written_urdf_reads_back(rng):
    """By kinetree and by Pinocchio."""
    import pinocchio as pin

    viscous, coulomb = rng.uniform(0, 1, (2, 9))
    rub = rng.random() < 0.5
    robot = tree(
        rng,
        5,
        types=("revolute", "prismatic"),
        gravity=(0, 0, -9.81),
        armature=False,
        friction=(lambda i: kt.Friction(float(viscous[i]), float(coulomb[i]))) if rub else None,
    )
    text = robot.to_urdf()
    same_robot(kt.load_string(text), robot, rng, 1e-11)
    motion = rng.normal(size=(3, robot.n))
    smooth = robot.with_friction({name: kt.Friction() for name in robot.model.joint_names})
    tau = smooth.inverse_dynamics(*motion)
    found = pinocchio_inverse(pin.buildModelFromXML(text), robot.model.dof_names, *motion)
    close(found, tau, 1e-9 * size(tau), "tau by Pinocchio")


def pinocchio_inverse(model, names, q, dq, ddq):
    """tau by rnea of a model of revolute and prismatic joints, in the order of the names."""
    import pinocchio as pin

    angles, rates, order = pin.neutral(model), np.zeros((2, model.nv)), []
    for i, name in enumerate(names):
        joint = model.joints[model.getJointId(name)]
        order.append(joint.idx_v)
        rates[:, joint.idx_v] = dq[i], ddq[i]
        continuous = joint.nq == 2
        angles[joint.idx_q : joint.idx_q + joint.nq] = (
            (np.cos(q[i]), np.sin(q[i])) if continuous else q[i]
        )
    return pin.rnea(model, model.createData(), angles, *rates)[order]


def law_written_mjcf_reads_back(rng):
    """By kinetree and by MuJoCo."""
    import mujoco

    robot = chain(rng, int(rng.integers(1, 5)))
    text = robot.to_mjcf()
    same_robot(kt.load_string(text), robot, rng)
    model = mujoco.MjModel.from_xml_string(text)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    tau = robot.inverse_dynamics(q, dq, ddq)
    order = mujoco_order(model, robot.model.dof_names)
    close(mujoco_inverse(model, q, dq, ddq, order), tau, 1e-9 * size(tau), "tau by MuJoCo")


def chain(rng, n):
    """Links one after the other, numbered depth first, with armature."""
    builder = kt.Builder("chain", gravity=rng.normal(size=3) * 5).link("base")
    for i in range(n):
        builder.link(f"link{i}", *body(rng))
        builder.joint(
            f"joint{i}",
            str(rng.choice(["revolute", "prismatic"])),
            "base" if i == 0 else f"link{i - 1}",
            f"link{i}",
            at=placement(rng),
            axis=unit(rng.normal(size=3), (0, 0, 1)),
            armature=float(rng.uniform(0, 0.1)),
            friction=kt.Friction(float(rng.uniform(0, 1))),
        )
    return builder.build()


def mujoco_order(model, names):
    """MuJoCo's number of each of our degrees of freedom with one rate a joint."""
    return [int(model.joint(name).dofadr[0]) for name in names]


def mujoco_inverse(model, q, dq, ddq, order):
    """tau = M ddq + bias - passive forces, for joints of one degree of freedom."""
    import mujoco

    data = mujoco.MjData(model)
    back = np.argsort(order)
    data.qpos[:], data.qvel[:], data.qacc[:] = q[back], dq[back], ddq[back]
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse[order]


def orientation(rng, degrees):
    """An attribute of MJCF that turns a frame."""
    kind = int(rng.integers(5))
    if kind == 0:
        return ""
    if kind == 1:
        return f'quat="{words(rng.normal(size=4) + np.eye(4)[0] * 2)}"'
    if kind == 2:
        return f'euler="{words(rng.uniform(-1, 1, 3) * (180 / np.pi if degrees else 1))}"'
    if kind == 3:
        axis = unit(rng.normal(size=3), (0, 0, 1))
        angle = rng.uniform(-1, 1) * (180 / np.pi if degrees else 1)
        return f'axisangle="{words(axis)} {words(angle)}"'
    return f'zaxis="{words(unit(rng.normal(size=3), (0, 0, 1)))}"'


GEOMS = {
    "sphere": lambda rng: words(rng.uniform(0.05, 0.2)),
    "box": lambda rng: words(rng.uniform(0.05, 0.2, 3)),
    "capsule": lambda rng: words(rng.uniform(0.05, 0.2, 2)),
    "cylinder": lambda rng: words(rng.uniform(0.05, 0.2, 2)),
    "ellipsoid": lambda rng: words(rng.uniform(0.05, 0.2, 3)),
}


def mass_text(rng, degrees):
    """An inertial element, or geoms that make one."""
    if rng.random() < 0.4:
        m, com, I = body(rng)
        inertia = words((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
        return f'<inertial pos="{words(com)}" mass="{words(m)}" fullinertia="{inertia}"/>'
    text = ""
    for _ in range(int(rng.integers(1, 3))):
        kind = str(rng.choice(sorted(GEOMS)))
        weight = "mass" if rng.random() < 0.5 else "density"
        value = rng.uniform(0.5, 2) * (1 if weight == "mass" else 200)
        place = words(rng.normal(size=3) * 0.1)
        text += (
            f'<geom type="{kind}" size="{GEOMS[kind](rng)}" pos="{place}" '
            f'{weight}="{words(value)}" {orientation(rng, degrees)}/>'
        )
    return text


def random_mjcf(rng, most=5):
    """MJCF text with joints of one degree of freedom, and the names of its joints."""
    degrees = rng.random() < 0.5
    sequence = str(rng.choice(["xyz", "XYZ", "zyx", "ZYX", "zxz"]))
    joints, n = [], int(rng.integers(1, most + 1))
    children = {-1: []}
    for i in range(n):
        parent = int(rng.integers(-1, i)) if i else -1
        children.setdefault(parent, []).append(i)
        children.setdefault(i, [])

    def body_text(i):
        own = ""
        for k in range(int(rng.integers(1, 3))):
            name = f"joint{i}_{k}"
            kind = str(rng.choice(["hinge", "slide"]))
            joints.append(name)
            style = "" if rng.random() < 0.5 else 'class="stiff" '
            extra = f'armature="{words(rng.uniform(0, 0.1))}" ' if rng.random() < 0.5 else ""
            extra += f'damping="{words(rng.uniform(0, 1))}" ' if rng.random() < 0.5 else ""
            axis = words(rng.normal(size=3) + 0.1)
            own += (
                f'<joint name="{name}" {style}type="{kind}" axis="{axis}" '
                f'pos="{words(rng.normal(size=3) * 0.2)}" {extra}/>'
            )
        inner = "".join(body_text(c) for c in children[i])
        return (
            f'<body name="body{i}" pos="{words(rng.normal(size=3) * 0.3)}" '
            f"{orientation(rng, degrees)}>{own}{mass_text(rng, degrees)}{inner}</body>"
        )

    bodies = "".join(body_text(i) for i in children[-1])
    flag = '<flag gravity="disable"/>' if rng.random() < 0.2 else ""
    angle = "degree" if degrees else "radian"
    return (
        f'<mujoco model="random"><compiler angle="{angle}" eulerseq="{sequence}"/>'
        f'<option gravity="{words(rng.normal(size=3) * 5)}">{flag}</option>'
        f'<default><joint armature="{words(rng.uniform(0, 0.05))}"/><default class="stiff">'
        f'<joint damping="{words(rng.uniform(0, 1))}" armature="0.02"/></default></default>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def law_random_mjcf_against_mujoco(rng):
    import mujoco

    text = random_mjcf(rng)
    note(rng, text=text)
    model = mujoco.MjModel.from_xml_string(text)
    robot = kt.load_string(text)
    assert robot.n == model.nv
    order = mujoco_order(model, robot.model.dof_names)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    expected = mujoco_inverse(model, q, dq, ddq, order)
    close(robot.inverse_dynamics(q, dq, ddq), expected, 1e-9 * size(expected), "tau")


def law_free_and_ball_joints_of_mjcf_against_mujoco(rng):
    """Accelerations of a body on a free or ball joint with armature, and an arm on it."""
    import mujoco

    kind = str(rng.choice(["free", "ball"]))
    armature = float(rng.uniform(0, 0.5)) if rng.random() < 0.7 else 0.0
    gravity = rng.normal(size=3) * 5
    text = (
        f'<mujoco><compiler angle="radian"/><option gravity="{words(gravity)}"/><worldbody>'
        f'<body name="a" pos="{words(rng.normal(size=3))}"><joint name="root" type="{kind}" '
        f'armature="{words(armature)}"/>{mass_text(rng, False)}'
        f'<body name="b" pos="{words(rng.normal(size=3) * 0.3)}"><joint name="arm" type="hinge" '
        f'axis="0 1 0" armature="0.01"/>{mass_text(rng, False)}</body></body></worldbody></mujoco>'
    )
    note(rng, text=text)
    model = mujoco.MjModel.from_xml_string(text)
    robot = kt.load_string(text)
    data = mujoco.MjData(model)
    p, place = unit(rng.normal(size=4), (1, 0, 0, 0)), rng.normal(size=3)
    w, v, da = rng.normal(size=(3, 3))
    R = quaternion_matrix(p)
    angle, speed = rng.normal(size=2)
    if kind == "free":
        force_w, moment, push = rng.normal(size=3), da, float(rng.normal())
        data.qpos[:] = [*place, *p, angle]
        data.qvel[:] = [*(R @ v), *w, speed]
        data.qfrc_applied[:] = [*force_w, *moment, push]
        q, dq = np.array([*p, *place, angle]), np.array([*w, *v, speed])
        tau = np.array([*moment, *(R.T @ force_w), push])
    else:
        moment, push = da, float(rng.normal())
        data.qpos[:] = [*p, angle]
        data.qvel[:] = [*w, speed]
        data.qfrc_applied[:] = [*moment, push]
        q, dq = np.array([*p, angle]), np.array([*w, speed])
        tau = np.array([*moment, push])
    mujoco.mj_forward(model, data)
    found = robot.forward_dynamics(q, dq, tau)
    if kind == "free":  # MuJoCo's linear acceleration is that of R v in the world
        linear = R.T @ data.qacc[:3] - np.cross(w, v)
        expected = np.array([*data.qacc[3:6], *linear, data.qacc[6]])
    else:
        expected = data.qacc.copy()
    close(found, expected, 1e-8 * size(expected), f"ddq with a {kind} joint")


def law_random_urdf_against_pinocchio(rng):
    import pinocchio as pin

    n = int(rng.integers(1, 7))
    text = '<robot name="random"><link name="base"/>'
    names = ["base"]
    for i in range(n):
        parent = str(rng.choice(names))
        kind = str(rng.choice(["revolute", "prismatic", "continuous", "fixed"]))
        m, com, I = body(rng)
        rpy = rng.uniform(-3, 3, 3)
        spin = np.round(rng.uniform(-3, 3, 3), 3)
        if rng.random() < 0.1 and kind == "fixed":
            inertial = ""
        else:
            xx, yy, zz, xy, xz, yz = (
                repr(float(I[i, j])) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
            )
            inertial = (
                f'<inertial><origin xyz="{words(com)}" rpy="{words(spin)}"/>'
                f'<mass value="{words(m)}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" '
                f'ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial>'
            )
        limit = '<limit lower="-9" upper="9" velocity="9" effort="99"/>'
        axis = f'<axis xyz="{words(unit(rng.normal(size=3), (0, 0, 1)))}"/>'
        text += (
            f'<link name="link{i}">{inertial}</link><joint name="joint{i}" type="{kind}">'
            f'<parent link="{parent}"/><child link="link{i}"/>'
            f'<origin xyz="{words(rng.normal(size=3) * 0.3)}" rpy="{words(rpy)}"/>'
            f"{'' if kind == 'fixed' else axis + limit}</joint>"
        )
        names.append(f"link{i}")
    text += "</robot>"
    note(rng, text=text)
    with folder() as path:
        (path / "robot.urdf").write_text(text)
        robot = kt.load(path / "robot.urdf")
    free = kt.load_string(text, floating=True) if rng.random() < 0.3 else None
    model = pin.buildModelFromXML(text)
    if robot.n == 0:
        assert model.nv == 0
        return
    q, dq, ddq = rng.normal(size=(3, robot.n))
    tau = pinocchio_inverse(model, robot.model.dof_names, q, dq, ddq)
    close(robot.inverse_dynamics(q, dq, ddq), tau, 1e-10 * size(tau), "tau")
    if free is not None:
        zero = np.zeros(6)
        home = np.array([1.0, 0, 0, 0, 0, 0, 0])
        found = free.inverse_dynamics(
            np.concatenate([home, q]), np.concatenate([zero, dq]), np.concatenate([zero, ddq])
        )
        close(found[6:], tau, 1e-10 * size(tau), "tau on a floating base at rest")


def law_locked_joints_stay(rng):
    """A robot with joints locked needs the forces of the whole robot with these at rest."""
    robot = tree(rng, 5)
    if robot.n < 2:
        return
    names = robot.model.joint_names
    held = [name for name in names if rng.random() < 0.5][: robot.n - 1]
    values = {name: float(rng.normal()) for name in held}
    locked = robot.lock(values)
    assert locked.n == robot.n - len(held)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    for i, name in enumerate(names):
        if name in values:
            q[i], dq[i], ddq[i] = values[name], 0.0, 0.0
    free = [i for i, name in enumerate(names) if name not in values]
    tau = robot.inverse_dynamics(q, dq, ddq)[free]
    found = locked.inverse_dynamics(q[free], dq[free], ddq[free])
    close(found, tau, 1e-10 * size(tau), "tau of the locked robot")


def law_sdf_of_every_version_is_the_same_robot(rng):
    """A random tree, written as SDF 1.2 to 1.10 in two ways, is the robot of its records."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit/files/description/sdf"))
    from sdf_trees import RandomRobot

    from kinetree.model import build_model

    seed, links = int(rng.integers(2**31)), int(rng.integers(1, 7))
    robot = RandomRobot(seed, links=links, nested=bool(rng.random() < 0.5))
    expected = kt.Robot(build_model(robot.description))
    for k in range(2):
        version = f"1.{int(rng.integers(2, 11))}"
        note(rng, seed=seed, links=links, version=version)
        found = kt.load_string(robot.text(k, version))
        if expected.n:  # not all joints are fixed
            same_robot(found, expected, rng)


XACRO = """<robot name="twice" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="{include}"/>
  <xacro:arg name="length" default="1.0"/>
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="$(arg length) 0 0"/><mass value="${{mass}}"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/></joint>
</robot>
"""
PROPERTY = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="mass" value="{mass}"/></robot>
"""


@law(ci=2)
def law_each_workspace_gives_its_own_robot(rng):
    """Packages of one name, includes of one name, and a decoy in the current directory."""
    masses = np.round(rng.uniform(0.5, 5, 3), 3)
    length = round(float(rng.uniform(0.2, 2)), 3)
    relative = rng.random() < 0.5
    nested = str(rng.choice(["src", "a/b", "."]))
    here = os.getcwd()
    note(rng, masses=masses, length=length, relative=relative, nested=nested)
    with folder() as root:
        files = []
        for k in range(2):
            package = root / f"ws{k}" / nested / "folder_of_the_package"
            (package / "urdf").mkdir(parents=True)
            (package / "package.xml").write_text(
                '<package format="2"><name>my_robot</name><version>1.0.0</version>'
                "<description>x</description><maintainer email='a@b.c'>a</maintainer>"
                "<license>x</license></package>"
            )
            include = "mass.xacro" if relative else "$(find my_robot)/urdf/mass.xacro"
            (package / "urdf" / "mass.xacro").write_text(PROPERTY.format(mass=masses[k]))
            (package / "urdf" / "robot.xacro").write_text(XACRO.format(include=include))
            files.append(package / "urdf" / "robot.xacro")
        decoy = root / "decoy"
        decoy.mkdir()
        (decoy / "mass.xacro").write_text(PROPERTY.format(mass=masses[2]))
        order = [0, 1, 0] if rng.random() < 0.5 else [1, 0, 1]
        try:
            os.chdir(decoy)
            for k in order:
                robot = kt.load(files[k], folders=[root / f"ws{k}"], arguments={"length": length})
                tau = robot.gravity_forces([0.0])[0]
                close(
                    tau, -masses[k] * 9.81 * length, 1e-9 * 100, f"gravity force of workspace {k}"
                )
        finally:
            os.chdir(here)

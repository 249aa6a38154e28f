"""Robots on a plane in kinetree, MuJoCo and Drake: the same spheres, springs, dampers and starts.

A servo is a spring and a damper in every joint, which all three have: damping at the end of a step,
springs at its beginning. MuJoCo and Drake let contacts give way; here they are rigid unless a
compliance is given. So a run of theirs is compared for a row of stiffnesses.

    python tests/oracles/contact_peers.py [CASE ...]     # a table; pydrake is `pip install drake`
"""

import sys
from dataclasses import dataclass

import numpy as np

import kinetree as kt
from kinetree import convert
from kinetree.contacts import ContactPoint
from kinetree.contacts.tasks import CROUCH, LEGS
from kinetree.robots.legged import HEEL, SOLE

MU = 0.8
EVERY = 0.01  # s between the samples that are compared
SETTLED = 1.0  # s after which feet of a robot that is held should rest
SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class Case:
    """A robot with spheres that touch, at rest above the ground.

    stiffness, damping: of the servos, by joint; a robot that falls has dampers alone.
    """

    name: str
    robot: kt.Robot
    feet: list
    q0: np.ndarray
    stiffness: dict
    damping: dict
    duration: float = 2.0
    dt: float = 5e-4  # s

    @property
    def weight(self):
        """Its weight, N."""
        return 9.81 * float(sum(self.robot.model.m))

    def rest(self, joint):
        return self.q0[self.robot.coordinate_names.index(joint)]


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples: q, (T, nq); forces of the ground, (T, c, 3), N."""

    q: np.ndarray
    forces: np.ndarray

    def com(self, case):
        return case.robot.center_of_mass(self.q)

    def centres(self, case):
        """Centres of the spheres, (T, c, 3), m."""
        poses = [case.robot.pose(self.q, foot.link) for foot in case.feet]
        at = [
            np.einsum("...ij,j->...i", T[..., :3, :3], foot.position) + T[..., :3, 3]
            for T, foot in zip(poses, case.feet, strict=True)
        ]
        return np.stack(at, axis=-2)


# --- the robots ---------------------------------------------------------------------------------


def quadruped(held):
    """The built-in quadruped on its feet; trunk and knees may touch when it falls."""
    robot = kt.robots.quadruped()
    feet = [ContactPoint(leg, f"{leg}_foot", radius=0.02) for leg in LEGS]
    angles = {f"{leg}_{joint}": x for leg in LEGS for joint, x in CROUCH.items()}
    if not held:
        trunk = [(x, y, -0.03) for x in (-0.18, 0.18) for y in (-0.06, 0.06)]
        feet += [ContactPoint(f"trunk{k}", "trunk", p, radius=0.02) for k, p in enumerate(trunk)]
        angles |= {"front_left_knee": -1.2, "rear_right_swing": 0.6}  # falls to no side by chance
    return _case("quadruped", robot, feet, angles, 200.0 if held else 0.0, 4.0 if held else 2.0)


def humanoid(held):
    """The built-in humanoid, arms and neck stiff, on the corners of its soles."""
    whole = kt.robots.humanoid()
    moving = ("base", "waist", "hip", "knee", "ankle")
    stiff = [x for x in whole.joint_names if not x.split("_", 1)[-1].startswith(moving)]
    robot = whole.lock(dict.fromkeys([x for x in stiff if not x.startswith(moving)], 0.0))
    ends = {"heel": HEEL + 0.01, "toe": HEEL + 0.23}
    feet = [
        ContactPoint(f"{side}_{end}_{inner}", f"{side}_foot", (x, 0.035 * y, SOLE + 0.005), 0.005)
        for side in SIDES
        for end, x in ends.items()
        for inner, y in (("left", 1), ("right", -1))
    ]
    bent = {"hip_swing": -0.3, "knee": 0.6, "ankle_swing": -0.3}
    angles = {f"{side}_{joint}": x for side in SIDES for joint, x in bent.items()}
    if not held:
        feet += [ContactPoint(f"{side}_knee", f"{side}_shank", radius=0.06) for side in SIDES]
        root = robot.model.link_names[0]
        feet += [
            ContactPoint(f"pelvis_{k}", root, (x, 0.1 * y, 0), 0.1)
            for k, (x, y) in enumerate(((0.05, 1), (0.05, -1), (-0.05, 1), (-0.05, -1)))
        ]
    return _case("humanoid", robot, feet, angles, 3000.0 if held else 0.0, 100.0 if held else 30.0)


def hand(held):
    """The built-in hand, palm down on a free joint, on its fingertips and two pads at the wrist."""
    robot = kt.load("hand", mimic=False, floating=True)
    tips = [f"{finger}_tip" for finger in ("index", "middle", "ring", "little", "thumb")]
    feet = [ContactPoint(tip, tip, radius=0.008) for tip in tips]
    feet += [ContactPoint(f"pad{y}", "palm", (0.055, 0.03 * y, 0), 0.008) for y in (-1, 1)]
    bent = [x for x in robot.joint_names[1:] if "spread" not in x and "thumb" not in x]
    return _case("hand", robot, feet, dict.fromkeys(bent, 0.5), 0.4 if held else 0.0, 0.01)


def _case(name, robot, feet, angles, stiffness, damping):
    joints = list(robot.joint_names[1:])
    q = robot.neutral()
    for joint, x in angles.items():
        q[robot.coordinate_names.index(joint)] = x
    springs = dict.fromkeys(joints, stiffness) if stiffness else {}
    if name == "hand":
        q[:4] = np.sqrt([0.5, 0, 0.5, 0])  # the palm looks down
    q = robot.with_contacts(feet).on_ground(q, gap=0.005)
    word = "held" if springs else "falling"
    dt = 1.25e-4 if name == "hand" else 5e-4  # fingers are light
    return Case(f"{name} {word}", robot, feet, q, springs, dict.fromkeys(joints, damping), dt=dt)


CASES = {
    f"{make.__name__} {word}": (make, word == "held")
    for make in (quadruped, humanoid, hand)
    for word in ("held", "falling")
}


# --- the simulators -----------------------------------------------------------------------------


def in_kinetree(case, dt, compliance=None):
    """A motion here; compliance: m/N, None for rigid contacts."""
    robot = case.robot.with_friction(
        {x: kt.Friction(viscous=d) for x, d in case.damping.items()}
    ).with_springs({x: kt.Spring(k, rest=case.rest(x)) for x, k in case.stiffness.items()})
    robot = robot.with_contacts(case.feet, friction=MU, compliance=compliance)
    motion = kt.simulate(
        robot, case.q0, duration=case.duration, dt=dt, method="implicitfast",
        every=round(EVERY / dt), limits="ignore",
    )  # fmt: skip
    return Motion(motion.q, np.stack(list(motion.meta["contact_forces"].values()), axis=1))


def in_mujoco(case, dt, time_constant):
    """A motion in MuJoCo, with the time constant of its contacts, s."""
    import mujoco

    robot = case.robot
    spec = mujoco.MjSpec.from_string(robot.to_mjcf(losses="allow"))
    option = spec.option
    option.timestep, option.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100
    option.iterations, option.tolerance = 100, 1e-12
    for joint in case.damping:
        theirs = spec.joint(joint)
        theirs.damping = [case.damping[joint], 0, 0]
        theirs.limited, theirs.frictionloss = False, 0
        theirs.stiffness = [case.stiffness.get(joint, 0.0), 0, 0]
        theirs.springref = case.rest(joint)
    soft = {
        "friction": [MU, 0, 0], "condim": 3, "solref": [time_constant, 1],
        "solimp": [0.9, 0.95, 0.001, 0.5, 2],
    }  # fmt: skip
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=2,
        **soft,
    )  # fmt: skip
    for foot in case.feet:
        link, p = _place(robot, foot)
        spec.body(robot.model.link_names[link]).add_geom(
            name=f"at {foot.name}", type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=p, mass=0,
            size=[foot.radius, 0, 0], contype=2, conaffinity=1, **soft,
        )  # fmt: skip
    model = spec.compile()
    data = mujoco.MjData(model)
    joints = [model.joint(j).name for j in range(model.njnt)]
    there, back = convert.to_mujoco(robot, joints), convert.from_mujoco(robot, joints)
    data.qpos[:] = there.q(case.q0)
    geoms = {model.geom(f"at {foot.name}").id: k for k, foot in enumerate(case.feet)}
    each, rows, forces = round(EVERY / dt), [], []
    for _ in range(round(case.duration / EVERY) + 1):
        mujoco.mj_forward(model, data)
        rows.append(back.q(data.qpos.copy()))
        found, wrench = np.zeros((len(case.feet), 3)), np.zeros(6)
        for k, contact in enumerate(data.contact):
            mujoco.mj_contactForce(model, data, k, wrench)
            pair = [int(x) for x in contact.geom]
            foot = geoms[pair[0] if pair[0] in geoms else pair[1]]
            sign = 1.0 if pair[1] in geoms else -1.0  # the frame points from the first geom
            found[foot] += sign * np.asarray(contact.frame).reshape(3, 3).T @ wrench[:3]
        forces.append(found)
        mujoco.mj_step(model, data, each)
    return Motion(np.array(rows), np.array(forces))


def in_drake(case, dt, stiffness, solver="sap", relaxation=None):
    """A motion in Drake, with the stiffness of its contacts, N/m.

    solver: "sap", "tamsi", or "lagged", SAP with the friction of the last normal forces, which
    leaves out that a convex problem lifts contacts that slip. relaxation: time in which a contact
    of "sap" and "lagged" comes to rest, s; None: that of critical damping of the whole mass.
    """
    from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import (
        AddMultibodyPlantSceneGraph,
        CoulombFriction,
        DiscreteContactApproximation,
    )
    from pydrake.multibody.tree import (
        RevoluteJoint,
        RevoluteSpring,
        RotationalInertia,
        SpatialInertia,
    )
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    robot, model = case.robot, case.robot.model
    builder = DiagramBuilder()
    plant, scene = AddMultibodyPlantSceneGraph(builder, time_step=dt)
    kinds = {
        "sap": DiscreteContactApproximation.kSap,
        "tamsi": DiscreteContactApproximation.kTamsi,
        "lagged": DiscreteContactApproximation.kLagged,
    }
    plant.set_discrete_contact_approximation(kinds[solver])
    if relaxation is None:
        relaxation = 2 * np.sqrt(case.weight / 9.81 / stiffness)
    # of a sphere and the ground together: two springs in series, times that add
    properties = ProximityProperties()
    AddContactMaterial(
        dissipation=20.0, point_stiffness=2 * stiffness, friction=CoulombFriction(MU, MU),
        properties=properties,
    )  # fmt: skip
    properties.AddProperty("material", "relaxation_time", relaxation / 2)
    bodies = []
    for i in model.links:
        I, inertia = np.asarray(model.I_com[i], float), SpatialInertia.Zero()
        if model.m[i]:
            inertia = SpatialInertia.MakeFromCentralInertia(
                float(model.m[i]), np.asarray(model.com[i], float),
                RotationalInertia(*np.diag(I), I[0, 1], I[0, 2], I[1, 2]),
            )  # fmt: skip
        body = plant.AddRigidBody(model.link_names[i], inertia)
        bodies.append(body)
        joint = model.joints[i]
        if joint.type == "free":
            continue
        axis = np.asarray(model.A[i], float).ravel()
        assert joint.type == "revolute" and not axis[3:].any(), joint.name
        home = RigidTransform(np.asarray(model.M_pi[i], float))
        parent = bodies[model.parent[i]]
        made = plant.AddJoint(RevoluteJoint(
            joint.name, plant.AddFrame(_fixed(joint.name, parent, home)), body.body_frame(),
            axis[:3], damping=case.damping[joint.name],
        ))  # fmt: skip
        plant.AddJointActuator(joint.name, made).set_default_rotor_inertia(float(joint.armature))
        if joint.name in case.stiffness:
            plant.AddForceElement(
                RevoluteSpring(made, case.rest(joint.name), case.stiffness[joint.name])
            )
    geoms = {}
    for k, foot in enumerate(case.feet):
        link, p = _place(robot, foot)
        at = plant.RegisterCollisionGeometry(
            bodies[link], RigidTransform(p), Sphere(foot.radius), foot.name, properties
        )
        geoms[at] = k
    ground = plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform(), HalfSpace(), "ground", properties
    )
    _only_with(scene, ground, geoms)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    own = plant.GetMyMutableContextFromRoot(context)
    plant.get_actuation_input_port().FixValue(own, np.zeros(plant.num_actuators()))
    places = [plant.GetJointByName(x).position_start() for x in case.damping]
    entries = [robot.coordinate_names.index(x) for x in case.damping]
    q = np.zeros(plant.num_positions())
    start = bodies[0].floating_positions_start()
    q[start : start + 7] = case.q0[:7]
    q[places] = case.q0[entries]
    plant.SetPositions(own, q)
    simulator = Simulator(diagram, context)
    simulator.Initialize()
    rows, forces = [], []
    for sample in range(round(case.duration / EVERY) + 1):
        simulator.AdvanceTo(sample * EVERY)
        theirs = plant.GetPositions(own)
        row = case.q0.copy()
        row[:7], row[entries] = theirs[start : start + 7], theirs[places]
        rows.append(row)
        found = np.zeros((len(case.feet), 3))
        results = plant.get_contact_results_output_port().Eval(own)
        for k in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(k)
            pair = info.point_pair()
            on_b = pair.id_B in geoms  # the force is that onto B
            found[geoms[pair.id_B if on_b else pair.id_A]] += (1 if on_b else -1) * np.asarray(
                info.contact_force()
            )
        forces.append(found)
    return Motion(np.array(rows), np.array(forces))


def _fixed(name, parent, home):
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(f"before {name}", parent.body_frame(), home)


def _only_with(scene, ground, geoms):
    """Let spheres touch the ground alone."""
    from pydrake.geometry import CollisionFilterDeclaration, GeometrySet

    spheres = GeometrySet(list(geoms))
    scene.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(spheres))


def _place(robot, foot):
    """The link of a contact and the centre of its sphere in it."""
    frame = robot.model.frames[foot.link]
    T = np.asarray(frame.T_if, float)
    return frame.link, T[:3, :3] @ np.asarray(foot.position, float) + T[:3, 3]


# --- the comparison -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Of two motions of a case: lengths in mm, forces as a share of the weight.

    com: largest difference of the centres of mass. share: that of the forces of single contacts at
    the end. total: that of the sum of all. slip, theirs: how far a sphere that bears load at the
    end moved horizontally since SETTLED, here and there.
    """

    com: float
    share: float
    total: float
    slip: float
    theirs: float

    def __str__(self):
        share, total = 100 * self.share, 100 * self.total
        return f"{self.com:.2g} | {share:.2g} | {total:.2g} | {self.slip:.2g}, {self.theirs:.2g}"


def difference(case, ours, other):
    """The differences of two motions."""
    com = np.linalg.norm(ours.com(case) - other.com(case), axis=-1).max()
    last = ours.forces[-5:].mean(0) - other.forces[-5:].mean(0)
    moved = [_slip(case, x) for x in (ours, other)]
    return Difference(
        1e3 * com, float(np.linalg.norm(last, axis=-1).max() / case.weight),
        float(np.linalg.norm(last.sum(0)) / case.weight), *(1e3 * x for x in moved),
    )  # fmt: skip


def _slip(case, motion):
    at = motion.centres(case)[round(SETTLED / EVERY) :, :, :2]
    bearing = motion.forces[-1, :, 2] > 0.01 * case.weight
    return float(np.linalg.norm(at - at[:1], axis=-1)[:, bearing].max(initial=0))


def settings(case):
    """Runs of the peers by name: contacts that become stiffer."""
    rows = {}
    for time_constant in (40, 20, 10, 5, 2.5):  # steps; MuJoCo takes no less than 2
        rows[f"MuJoCo, {time_constant:g} dt"] = (in_mujoco, (time_constant * case.dt,))
    for solver in ("sap", "tamsi"):
        for depth in (1e-3, 1e-4, 1e-5):  # m that the whole weight sinks on one foot
            word = f"Drake {solver.upper()}, {case.weight / depth:.0e} N/m"
            rows[word] = (in_drake, (case.weight / depth, solver))
    k = case.weight / 1e-5
    return rows | {f"Drake lagged, {k:.0e} N/m": (in_drake, (k, "lagged"))}


def main(names):
    """Print the table."""
    print("| case | compared | dt, ms | COM, mm | force, % | total, % | slip, mm |")
    print("|---|---|---|---|---|---|---|")
    for name in names or CASES:
        make, held = CASES[name]
        case = make(held)
        ours = {dt: in_kinetree(case, dt) for dt in (2 * case.dt, case.dt, case.dt / 2)}

        for dt in (2 * case.dt, case.dt):
            words = f"{name} | itself with {500 * case.dt:g} ms | {1e3 * dt:g}"
            print(f"| {words} | {difference(case, ours[dt], ours[case.dt / 2])} |", flush=True)
        runs = settings(case)
        for words, (run, more) in runs.items():
            print(compared(case, words, ours[case.dt], case.dt, run, more), flush=True)
        for words in [
            list(runs)[k] for k in (4, 7, 10, 11)
        ]:  # stiff ones of each, with half the step
            run, more = runs[words]
            finer, half = (more[0] / 2,) if run is in_mujoco else more, case.dt / 2
            print(compared(case, words, ours[half], half, run, finer), flush=True)
        k = case.weight / 1e-3
        soft = in_kinetree(case, case.dt, compliance=1 / k)
        words = f"Drake SAP, {k:.0e} N/m, as soft here"
        print(compared(case, words, soft, case.dt, in_drake, (k, "sap", 2 * case.dt)), flush=True)


def compared(case, words, ours, dt, run, more):
    """A row of the table."""
    try:
        numbers = str(difference(case, ours, run(case, dt, *more)))
    except RuntimeError as problem:  # Drake's TAMSI says so
        if "failed to converge" not in str(problem):
            raise
        numbers = "does not converge | | |"
    return f"| {case.name} | {words} | {1e3 * dt:g} | {numbers} |"


if __name__ == "__main__":
    main(sys.argv[1:])

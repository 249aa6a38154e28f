"""Robots from tables, changed robots, and robots as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, Unpack

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.errors import InputError
from kinetree.files.description import Actuator, Drive, Friction, Motor, Spring
from kinetree.model import Model, build_model, model_of
from kinetree.model.contacts import (
    DEFAULT_FRICTION,
    Contact,
    Contacts,
    Ground,
    Plane,
    check_chosen,
    chosen_contacts,
)
from kinetree.model.documented import documented, documented_like
from kinetree.motion.motor_forces import motor_forces, without_load_friction
from kinetree.robot.core import RobotCore
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.files.description.tables import JointOptions

Unphysical = Literal["error", "warn", "allow"]
Losses = Literal["warn", "error", "allow"]


class Construction(RobotCore):
    """Robots from tables, changed robots, and robots as text."""

    @classmethod
    @documented
    def from_screws(
        cls,
        S: ArrayLike,
        M: ArrayLike,
        G: ArrayLike,
        *,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from screw axes and home poses in {s} at q = 0, and spatial inertias.

        Args:
            S: screw axes of the joints (angular, linear) in {s}, shape (n, 6), rad and m for a unit
                of q.
            M: poses of the link frames in {s}, shape (n, 4, 4), positions in m; an entry n + 1 is
                the tool.
            G: spatial inertias in the link frames, shape (n, 6, 6), kg m^2, kg m and kg.
        """
        from kinetree.files.description.tables.screws import describe_screws

        description = describe_screws(S, M, G, parent=parent, **options)
        return cls(build_model(description, unphysical=unphysical))

    @classmethod
    @documented
    def from_transforms(
        cls,
        M: ArrayLike,
        G: ArrayLike,
        *,
        S: ArrayLike | None = None,
        A: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from the pose of each link in its parent's frame at q = 0.

        Args:
            M: pose of each link frame in its parent's, shape (n, 4, 4), positions in m; an entry n
                + 1 is the tool in the last link.
            G: spatial inertias in the link frames, shape (n, 6, 6), kg m^2, kg m and kg.
            S: screw axes in the parents' frames, shape (n, 6), rad and m for a unit of q; or
            A: screw axes in the links' own frames, shape (n, 6), rad and m for a unit of q.
        """
        from kinetree.files.description.tables.screws import describe_transforms

        description = describe_transforms(M, G, S=S, A=A, parent=parent, **options)
        return cls(build_model(description, unphysical=unphysical))

    @classmethod
    @documented
    def from_dh(
        cls,
        table: ArrayLike,
        *,
        m: ArrayLike,
        com: ArrayLike,
        I_com: ArrayLike,
        convention: Literal["standard", "modified"] = "standard",
        types: str | Sequence[str] = "revolute",
        tool: ArrayLike | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from a Denavit-Hartenberg table.

        Args:
            table: rows (a, alpha, d, theta), shape (n, 4), m and rad; q is added to theta or, of a
                prismatic joint, to d.
            m: masses of the links, shape (n,), kg.
            com: centres of mass in the DH frames, shape (n, 3), m.
            I_com: inertias about the centres in the axes of the DH frames, shape (n, 3, 3), kg m^2.
            convention: "standard" (joint i turns about z of frame i - 1) or "modified" (about z of
                frame i).
            types: "revolute" or "prismatic", one for all or one per row.
            tool: pose of the tool in the last DH frame, shape (4, 4), position in m; None: that
                frame.
        """
        from kinetree.files.description.tables.dh import describe_dh

        description = describe_dh(
            table, m=m, com=com, I_com=I_com, convention=convention, types=types, tool=tool,
            **options,
        )  # fmt: skip
        return cls(build_model(description, unphysical=unphysical))

    @classmethod
    @documented
    def from_points(
        cls,
        P: ArrayLike,
        C: ArrayLike,
        k: ArrayLike,
        *,
        m: ArrayLike,
        I_com: ArrayLike,
        types: str | Sequence[str] = "revolute",
        pitch: ArrayLike = 0,
        R: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Self:
        """Build a robot from joint points, mass centres and axes in {s} at q = 0.

        Args:
            P: a point on the axis of each joint, shape (n, 3), m; an entry n + 1 is the tip of the
                last link.
            C: centres of mass, shape (n, 3), m.
            k: directions of the joint axes, shape (n, 3), of length 1.
            m: masses of the links, shape (n,), kg.
            I_com: inertias about the centres in the axes of the link frames, shape (n, 3, 3), kg
                m^2.
            types: "revolute", "prismatic" or "helical", one for all or one per joint.
            pitch: of helical joints, m/rad, a number or shape (n,).
            R: orientation of each link frame in {s}, rotations of shape (n, 3, 3); None: parallel
                to {s}.
        """
        from kinetree.files.description.tables.points import describe_points

        description = describe_points(
            P, C, k, m=m, I_com=I_com, types=types, pitch=pitch, R=R, parent=parent, **options
        )
        return cls(build_model(description, unphysical=unphysical))

    @documented_like(Model.with_gravity)
    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The same robot under another gravity."""
        return self._with_model(self.model.with_gravity(gravity))

    @documented_like(Model.with_payload)
    def with_payload(
        self,
        m: Scalar,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """The same robot with a body fixed to a frame; None: the tool."""
        return self._with_model(self.model.with_payload(m, com, I_com, frame))

    @documented_like(Model.payload_parameters)
    def payload_parameters(
        self,
        m: ArrayLike,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> dict[str, Array]:
        """Data of the links with each of many payloads, for `simulate(parameters=...)`."""
        return self.model.payload_parameters(m, com, I_com, frame)

    @documented_like(Model.with_friction)
    def with_friction(self, friction: Friction | Mapping[str, Friction]) -> Self:
        """The same robot with other friction at all joints, or at some."""
        return self._with_model(self.model.with_friction(friction))

    def with_springs(self, springs: Mapping[str, Spring | None]) -> Self:
        """The same robot with springs added, replaced by name, or removed (None).

        Args:
            springs: by name. A spring that lists no joints belongs to the joint of its name; one
                between joints lists them with their coefficients; see `kt.joints.Spring`.

        Example:
            >>> arm = kt.robots.planar_2r().with_springs({"joint2": kt.joints.Spring(50, rest=0.5)})
            >>> arm.spring_forces([0, 0])
            array([  0., -25.])
        """
        return self._with_model(self.model.with_springs(springs))

    @documented_like(Model.with_motors)
    def with_motors(self, motors: Mapping[str, Motor | None]) -> Self:
        """The same robot with motors of coupled joints added, replaced by name, or removed."""
        return self._with_model(self.model.with_motors(motors))

    def motor_forces(self, tau: ArrayLike, dq: ArrayLike | None = None) -> Array:
        """Forces of the motors for joint forces tau: with the losses of gears, and coupled motors.

        Load friction, such as that of a drive of efficiency eta, is added to tau: the motor gives
        load / eta while it drives the motion, and eta * load while the load drives the motor; load
        is tau less the other friction. No other quantity has it, since it depends on the sign of
        tau. Motors of coupled joints, `with_motors`, then have N^T tau_m = tau, N the
        `model.motor_matrix`.

        Args:
            tau: joint forces without load friction, shape (..., n), N m or N.
            dq: joint rates, shape (..., n), rad/s or m/s; None: without load friction they do not
                matter.

        Returns:
            tau_m: shape (..., n), at the joints; of a robot with `model.motors` (..., k), N m, in
            their order.

        Example:
            >>> Drive, Motor = kt.joints.Drive, kt.joints.Motor
            >>> arm = kt.robots.planar_2r().with_drives({"joint1": Drive(efficiency=0.8)})
            >>> tau = arm.without_load_friction().gravity_forces([0.1, 0.2])
            >>> arm.motor_forces(tau, [1, 0]).round(3)
            array([455.07 ,  71.226])
            >>> wrist = {"m1": Motor({"joint1": 1}), "m2": Motor({"joint1": 1, "joint2": 1})}
            >>> kt.robots.planar_2r().with_motors(wrist).motor_forces([5, 3])
            array([2., 3.])
        """
        return motor_forces(self.model, tau, dq)

    def without_load_friction(self) -> Self:
        """The same robot with gears without loss: drives of efficiency 1, no load friction.

        Dynamics refuse a robot with load friction; `motor_forces` applies it.
        """
        return self._with_model(without_load_friction(self.model))

    def with_drives(self, drives: Mapping[str, Drive | None]) -> Self:
        """The same robot with drives added, replaced by joint, or removed (None).

        Args:
            drives: {joint name: kt.joints.Drive(...)}, joints of one degree of freedom; speeds in
                rad/s or m/s, forces in N m or N, times in s.

        Example:
            >>> motor = kt.joints.Drive(curve=[(0, 80), (3, 80), (6, 0)], efficiency=0.9)
            >>> arm = kt.robots.planar_2r().with_drives({"joint1": motor})
            >>> arm.model.joint("joint1").drive.curve
            ((0.0, 80.0), (3.0, 80.0), (6.0, 0.0))
        """
        return self._with_model(self.model.with_drives(drives))

    def with_actuators(self, actuators: Mapping[str, Actuator | None]) -> Self:
        """The same robot with actuators added, replaced by name, or removed (None).

        Actuators act where controls are given: `simulate(controls=...)`, `step(controls=...)`.

        Args:
            actuators: by name, such as {"servo": kt.joints.Actuator.position("knee", 100)}.

        Example:
            >>> servo = kt.joints.Actuator.position("joint2", kp=50, kd=5)
            >>> arm = kt.robots.planar_2r().with_actuators({"elbow": servo})
            >>> arm.model.actuator_names
            ('elbow',)
        """
        return self._with_model(self.model.with_actuators(actuators))

    def with_contacts(
        self,
        feet: Sequence[str | Contact] | None,
        ground: Ground | None = None,
        *,
        friction: Scalar | None = None,
        restitution: Scalar = 0,
        compliance: Scalar | None = None,
    ) -> Self:
        """The same robot with points that may touch the ground, in place of those it had.

        `step` and `simulate` then have contacts: no penetration, Coulomb friction and impacts.
        Links do not touch each other, and meshes have no contacts.

        Args:
            feet: names of links, whose collision shapes count, or of collision shapes: spheres,
                boxes (their corners), capsules and cylinders (their rims); or records
                `kt.contacts.ContactPoint` and `ContactRim`. None: no contacts.
            ground: `Plane`, `Boxes` or `HeightField` of `kt.contacts`; None: that of the robot's
                file, or the plane z = 0. Rims touch planes alone, spheres no height field.
            friction: coefficient of friction of all feet that are no records; None: that of the
                robot's file, and 1 for shapes without.
            restitution: share of the normal velocity that an impact returns, 0 to 1,
                dimensionless.
            compliance: depth of a contact for a unit of normal force, m/N; None: rigid contacts.
                It has no damping: how high a robot rebounds depends on dt (docs/contacts.md).

        Example:
            >>> tip = kt.contacts.ContactPoint("tip", "tool", radius=0.02)
            >>> arm = kt.robots.panda().with_contacts([tip], friction=0.6)
            >>> arm.model.contacts.names
            ('tip',)
        """
        model = self.model
        if feet is None:
            if any(x is not None for x in (ground, friction, compliance)):
                raise InputError(
                    "feet is None, which takes all contacts away, but more was given; expected "
                    "feet: names of links or shapes, or contact points."
                )
            return self._with_model(model.replace(contacts=None))
        points = chosen_contacts(model.collisions, feet, model.frames, friction)
        check_chosen(model, feet, ground, friction)
        contacts = Contacts(
            points,
            (model.collisions.ground or Plane()) if ground is None else ground,
            DEFAULT_FRICTION if friction is None else friction,
            restitution,
            compliance,
        )
        return self._with_model(model.replace(contacts=contacts))

    def _with_model(self, model: Model) -> Self:
        """The robot with another model, and the report of the same file."""
        report = None if self.report is None else replace(self.report, model=model)
        return type(self)(model, report)

    def on_ground(self, q: StateLike, gap: float = 0.0) -> Array:
        """The position with the free base moved along z until the lowest contact touches.

        Args:
            q: joint positions, shape (nq,), rad or m.
            gap: gap that the lowest contact shall have, m.

        Returns:
            q: shape (nq,), rad or m.
        """
        from kinetree.dynamics.contacts.start import on_ground

        return on_ground(self.model, q, gap)

    def with_elastic_joint(
        self,
        joint: str,
        stiffness: Scalar,
        damping: Scalar = 0,
        motor_inertia: Scalar | None = None,
        *,
        play: Scalar = 0,
    ) -> Self:
        """The same robot with a spring between the motor of a joint and its link.

        The joint keeps its name for the position of the motor, and with it its friction, drive and
        limits. A new joint behind it, the name with "_elastic" after it, is the deflection: the
        link stands at the sum of both.

        Args:
            joint: name of a joint of one degree of freedom that moves by itself.
            stiffness: stiffness of the gear at the joint, above 0, N m/rad or N/m.
            damping: damping of the deflection, N m s/rad or N s/m.
            motor_inertia: inertia of the motor as seen by the joint, kg m^2 or kg, in place of the
                joint's armature and rotor; None: these.
            play: backlash of the gear at the joint, the whole width in which the deflection has
                neither stiffness nor damping, rad or m.

        Example:
            >>> arm = kt.robots.planar_2r().with_elastic_joint("joint1", 5000, motor_inertia=0.2)
            >>> arm.joint_names
            ('joint1', 'joint1_elastic', 'joint2')
        """
        from kinetree.model.elastic import with_elastic_joint

        changed = with_elastic_joint(self.model, joint, stiffness, damping, motor_inertia, play)
        return type(self)(changed)

    def with_tool(
        self,
        name: str,
        at: ArrayLike = (0, 0, 0),
        frame: str | None = None,
        *,
        m: Scalar | None = None,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
    ) -> Self:
        """The same robot with a new tool frame, and a body there if m is given.

        Args:
            name: name of the new frame.
            at: its position, shape (3,), m, or pose, shape (4, 4), in `frame`.
            frame: name of a frame of the robot; None: the tool that it has.
            m: mass of the tool, kg; None: it weighs nothing.
            com: centre of mass in the new frame, shape (3,), m.
            I_com: inertia about the centre of mass in the axes of the new frame, shape (3, 3), kg
                m^2; None: a point mass.
        """
        from kinetree.model import reshape

        return self._with_model(reshape.with_tool(self.model, name, at, frame, m, com, I_com))

    def lock(self, values: Mapping[str, ArrayLike]) -> Self:
        """The robot with some joints fixed at given positions; they no longer appear in q.

        Args:
            values: {joint name: position}: a number, rad or m, or the coordinates (k,) of a
                spherical, planar or free joint.
        """
        from kinetree.model import reshape

        return self._with_model(reshape.lock(self.model, values))

    def subtree(self, link: str) -> Self:
        """The robot from a link outward: that link becomes the base, its frame the new {s}.

        Args:
            link: name of a link that moves, or of the base.
        """
        from kinetree.model import reshape

        return type(self)(reshape.subtree(self.model, link))

    def attach(self, other: RobotCore, frame: str | None = None, prefix: str = "") -> Self:
        """Join two robots: the base of the other is fixed to a frame of this one.

        Args:
            other: the robot that is carried; its q follows that of this one.
            frame: frame of this robot that the other's base is put at; None: the tool.
            prefix: written before every name of the other, where names would clash.
        """
        from kinetree.model import reshape

        return type(self)(reshape.attach(self.model, model_of(other), frame, prefix))

    @documented
    def to_urdf(self, *, losses: Losses = "warn", infinity: float = 1e30) -> str:
        """Write the robot as URDF text, which `kt.load_string` reads back as the same robot.

        Args:
            infinity: number to write for an infinite limit where readers of URDF need one, in the
                unit of the limit (rad, m, rad/s, N m ...).
        """
        from kinetree.files.write import to_urdf

        return to_urdf(self.model, losses=losses, infinity=infinity)

    @documented
    def to_mjcf(self, *, losses: Losses = "warn") -> str:
        """Write the robot as MJCF text, which `kt.load_string` reads back as the same robot."""
        from kinetree.files.write import to_mjcf

        return to_mjcf(self.model, losses=losses)

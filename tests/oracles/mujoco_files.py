"""An MJCF file in MuJoCo and in kinetree, step by step, at the same states and controls.

Contacts, joint limits, equality constraints and dry friction are off: in MuJoCo they are soft
constraints. What kinetree names as left out (gravity compensation, the medium, tendons other than
linear springs, springs of balls, other kinds of actuators) is switched off in MuJoCo as well, and
listed in `left_out`. All other numbers are those of the file: inertia, armature, damping, springs,
actuators with their ranges and states, the time step.

MuJoCo adds the velocity of a free joint in the axes of the world, kinetree moves it along its
twist, so that paths of the two differ by a part of dt squared in each step. With free joints every
step starts at MuJoCo's state, and its accelerations (dq_next - dq) / dt are compared. MuJoCo's
implicitfast has further terms for a free body without joints on it; they are not compared.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from kinetree import convert
from kinetree.dynamics.dry_friction import without_dry_friction
from kinetree.joints import Limits
from kinetree.model import Model

STEPS = 100
TETRAHEDRON = np.ravel([(0, 0, 0), (1e3, 0, 0), (0, 1e3, 0), (0, 0, 1e3)])
ROUNDED = 1e-5  # part of a state's size below which its change is mostly rounding
UNREAD = 30  # the group of actuators that are off in MuJoCo because kinetree leaves them out
RUNAWAY = 1e6  # a rate, rad/s or m/s, at which MuJoCo's own steps have diverged
UNSTABLE = 1e-9  # growth of 1e-15 within a run of MuJoCo, where its own steps are not stable


@dataclass(frozen=True)
class Way:
    """A method of kinetree, and the settings of MuJoCo under which it is the same."""

    name: str
    method: str
    integrator: str
    eulerdamp: bool = True
    controls: bool = True  # actuators act here; else their forces of MuJoCo are given as tau


WAYS = (
    Way("implicitfast", "implicitfast", "IMPLICITFAST"),
    Way("Euler", "semi_implicit_euler", "EULER", eulerdamp=False),
    # joint damping at the end of the step, gains of actuators at its beginning
    Way("Euler with eulerdamp", "implicitfast", "EULER", controls=False),
)


# what is switched off in MuJoCo -> words of the warning by which kinetree names it
WARNINGS = {
    "equality": "constraints",
    "fluid": "fluid forces",
    "gravcomp": "gravcomp",
    "tendons": "tendons",
    "springs of balls": "ball and free joints",
    "curved springs": "linear",
    "curved damping": "linear",
    "some actuators": "actuators",
}


@dataclass(frozen=True)
class Errors:
    """Worst error of the first step, and of all steps with the time step divided by `finer`.

    Steps of MuJoCo that are not stable with the time step of the file run away, or let rounding
    errors grow by a factor of a million; a finer step is taken then. all: None if none is stable.
    """

    first: float
    all: float | None
    finer: int = 1


def without_limits(model: Model) -> Model:
    """The robot without limits, which stop joints in steps; those of MuJoCo are soft and off."""
    return model.replace(joints=tuple(replace(x, limits=Limits()) for x in model.joints))


class Twins:
    """A file as both programs read it; they share no code behind MuJoCo's compiler."""

    def __init__(self, path: Path) -> None:
        import mujoco

        self.mujoco: Any = mujoco
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = kt.load(path, constraints="none")
            self.theirs: Any = compiled(mujoco, path)
        self.robot = kt.Robot(without_limits(without_dry_friction(robot.model)))
        model, m = self.robot.model, self.theirs
        names = [m.actuator(a).name or f"#a{a}" for a in range(m.nactuator)]
        self.actuators = [names.index(name) for name in model.actuator_names]
        self.activated = [names.index(name) for name in model.activation_names]
        self.left_out = switch_off(m, set(range(m.nactuator)) - set(self.actuators))
        texts = " | ".join(note.text for note in (*model.warnings, *model.notes))
        self.unnamed = [x for x in self.left_out if WARNINGS.get(x, "") not in texts]
        joints = [m.joint(j).name or f"#j{j}" for j in range(m.njnt)]
        self.there = convert.to_mujoco(self.robot, joints)
        self.back = convert.from_mujoco(self.robot, joints)
        self.data: Any = mujoco.MjData(m)
        self.free = [j for j in range(m.njnt) if m.jnt_type[j] == 0]

    def start(self, seed: int) -> None:
        """Take a random state within the limits, controls in their ranges, and activations."""
        rng, m, data = np.random.default_rng(seed), self.theirs, self.data
        self.mujoco.mj_resetData(m, data)
        q, dq = self.robot.random(rng=rng), rng.normal(size=self.robot.n)
        data.qpos[:], data.qvel[:] = self.there.q(q), self.there.dq(q, dq)
        low, high = m.actuator_ctrlrange.T
        given = rng.uniform(low, np.maximum(high, low))
        data.ctrl[:] = np.where(m.actuator_ctrllimited, given, rng.normal(size=m.nu))
        low, high = m.actuator_actrange.T
        for a in self.activated:
            inside = rng.uniform(low[a], high[a]) if m.actuator_actlimited[a] else rng.normal()
            data.act[m.actuator_actadr[a]] = inside

    def choose(self, way: Way) -> None:
        """Set MuJoCo to the integrator of a way, without constraints."""
        flag, option = self.mujoco.mjtDisableBit, self.theirs.opt
        option.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{way.integrator}")
        option.disableflags |= flag.mjDSBL_CONSTRAINT | flag.mjDSBL_AUTORESET
        option.disableflags &= ~int(flag.mjDSBL_EULERDAMP)
        option.disableflags |= 0 if way.eulerdamp else flag.mjDSBL_EULERDAMP

    def state(self) -> tuple[np.ndarray, ...]:
        """MuJoCo's state in the order of kinetree: q, dq and the activations."""
        data, m = self.data, self.theirs
        q = self.back.q(data.qpos.copy())
        dq = self.back.dq(data.qpos.copy(), data.qvel.copy())
        return q, dq, data.act[m.actuator_actadr[self.activated]]

    def step(self, way: Way, *state: np.ndarray) -> tuple[np.ndarray, ...]:
        """One step of kinetree from a state, with MuJoCo's controls."""
        q, dq, a = state
        dt, data = float(self.theirs.opt.timestep), self.data
        if not way.controls:
            tau = self.back.tau(data.qpos.copy(), data.qfrc_actuator.copy())
            return *self.robot.step(q, dq, tau, dt, method=way.method), a
        if not self.actuators:
            return *self.robot.step(q, dq, np.zeros(len(dq)), dt, method=way.method), a
        u = data.ctrl[self.theirs.actuator_ctrladr[self.actuators]]
        given = {"controls": u} | ({"activation": a} if self.activated else {})
        found = self.robot.step(q, dq, None, dt, method=way.method, **given)
        return tuple(found) if self.activated else (*found, a)

    def run(self, way: Way, seed: int, steps: int = STEPS) -> Errors:
        """Compare all steps from a random state."""
        dt = float(self.theirs.opt.timestep)
        first, found, finer = np.nan, None, 1
        for finer in (1, 4, 16, 64, 256, 1024):
            self.theirs.opt.timestep = dt / finer
            errors = self._errors(way, seed, steps)
            first = errors[0] if finer == 1 else first
            steady = self.free or not way.controls or self._growth(seed, steps) < UNSTABLE
            if len(errors) == steps and steady:
                found = max(errors)
                break
        self.theirs.opt.timestep = dt
        return Errors(first, found, finer)

    def _errors(self, way: Way, seed: int, steps: int) -> list[float]:
        """The error after each step, until rates run away."""
        self.start(seed)
        self.choose(way)
        own = self.state()
        measure, errors = Measure(own), list[float]()
        for _ in range(steps):
            self.mujoco.mj_forward(self.theirs, self.data)  # forces at the beginning of the step
            before, speed = self.state(), self.data.qvel.copy()
            own = self.step(way, *(before if self.free else own))
            self.mujoco.mj_step(self.theirs, self.data)
            if errors and not size(self.data.qvel) < RUNAWAY:  # NaN included
                break
            local = self._local(way, before, own, speed) if self.free else None
            errors.append(measure(self.state(), own) if local is None else local)
        return errors

    def _growth(self, seed: int, steps: int) -> float:
        """Difference of two runs of MuJoCo whose starts differ in the last digits."""
        ends = list[tuple[np.ndarray, ...]]()
        for change in (0, 1e-15):
            self.start(seed)
            self.data.qvel[:] *= 1 + change
            begin = self.state()
            for _ in range(steps):
                self.mujoco.mj_step(self.theirs, self.data)
                if not size(self.data.qvel) < RUNAWAY:
                    return np.inf
            ends.append(self.state())
        return Measure(begin)(*ends)

    def _local(
        self,
        way: Way,
        before: tuple[np.ndarray, ...],
        after: tuple[np.ndarray, ...],
        speed: np.ndarray,
    ) -> float:
        """Error of one step of a robot with free joints: of accelerations and activations."""
        dt, m = float(self.theirs.opt.timestep), self.theirs
        expected = (self.data.qvel - speed) / dt
        ddq = (after[1] - before[1]) / dt
        own, largest = self.there.ddq(before[0], before[1], ddq), max(size(expected), size(ddq))
        compared = np.ones(m.nv, bool)
        if way.integrator == "IMPLICITFAST":
            alone = [
                j for j in self.free if np.sum(m.dof_treeid == m.dof_treeid[m.jnt_dofadr[j]]) == 6
            ]
            compared[[m.jnt_dofadr[j] + k for j in alone for k in range(6)]] = False
        scale = np.abs(expected) + 1e-3 * largest + ROUNDED * size(speed) / dt
        worst = size((np.abs(own - expected) / scale)[compared])
        states = np.abs(after[2] - self.state()[2])
        return max(worst, size(states))


class Measure:
    """Relative error of states: relative to the largest change of each entry since the start.

    Entries that change little count with a thousandth of the largest change of any entry, and with
    the part of the state in which a rounding error of 1e-16 is 1e-11 of it.
    """

    def __init__(self, begin: tuple[np.ndarray, ...]) -> None:
        self.begin = begin
        self.change = [np.zeros_like(x) for x in begin]

    def __call__(self, expected: tuple[np.ndarray, ...], found: tuple[np.ndarray, ...]) -> float:
        worst = 0.0
        for k, (x, y) in enumerate(zip(expected, found, strict=True)):
            self.change[k] = np.maximum(self.change[k], np.abs(x - self.begin[k]))
            scale = self.change[k] + 1e-3 * size(self.change[k]) + ROUNDED * size(x) + 1e-300
            worst = max(worst, size((x - y) / scale))
        return worst


def compiled(mujoco: Any, path: Path) -> Any:
    """MuJoCo's model of a file, with stand-ins for meshes and textures that are absent.

    A mesh from which a moving body takes its inertia must be present: kinetree refuses the file.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    folders = [path.parent / x for x in ("", spec.meshdir or "", spec.texturedir or "")]
    for mesh in spec.meshes:
        if mesh.file and not any((folder / mesh.file).exists() for folder in folders):
            mesh.name = mesh.name or Path(mesh.file).stem
            mesh.file, mesh.uservert = "", TETRAHEDRON
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    for texture in spec.textures:
        texture.name = texture.name or Path(texture.file).stem
        texture.file, texture.cubefiles = "", []
        texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
        texture.width = texture.height = 8
    return spec.compile()


def size(x: np.ndarray) -> float:
    """The largest absolute entry."""
    return float(np.abs(x).max(initial=0))


def switch_off(m: Any, actuators: Iterable[int]) -> list[str]:
    """Switch off in MuJoCo what kinetree names as left out; return the words for it."""
    found: list[str] = []

    def clear(array: Any, word: str, chosen: Any = slice(None)) -> None:
        if np.any(array[chosen]):
            array[chosen] = 0
            if word not in found:
                found.append(word)

    if np.any(m.eq_active0) and not m.opt.disableflags & 3:  # nor constraints, nor equalities
        found.append("equality")
    if np.any(m.dof_frictionloss):
        found.append("frictionloss")
    if m.opt.density or m.opt.viscosity:
        m.opt.density = m.opt.viscosity = 0
        found.append("fluid")
    clear(m.body_gravcomp, "gravcomp")
    for t in range(m.ntendon):
        linear = m.wrap_type[m.tendon_adr[t]] == 1 and np.ptp(m.tendon_lengthspring[t]) == 0
        for array in (m.tendon_damping, m.tendon_dampingpoly, m.tendon_armature):
            clear(array, "tendons", t)
        clear(m.tendon_stiffnesspoly, "tendons", t)
        if not linear:
            clear(m.tendon_stiffness, "tendons", t)
    clear(m.jnt_stiffness, "springs of balls", m.jnt_type <= 1)
    clear(m.jnt_stiffnesspoly, "curved springs")
    clear(m.dof_dampingpoly, "curved damping")
    clear(m.actuator_dampingpoly, "curved damping")
    for a in actuators:
        m.actuator_group[a] = UNREAD
        m.opt.disableactuator |= 1 << UNREAD
        if m.actuator_plugin[a] >= 0:  # plugins act in disabled groups, too
            m.actuator_gear[m.actuator_outadr[a]] = 0
        if m.actuator_trntype[a] > 1 or m.jnt_type[m.actuator_trnid[a, 0]] <= 1:
            m.actuator_damping[a] = m.actuator_armature[a] = 0
        if "some actuators" not in found:
            found.append("some actuators")
    return found


def mjcf_files(folders: Iterable[Path]) -> Iterator[Path]:
    """The MJCF files below folders, without those called scene, which show a robot on a floor."""
    for folder in folders:
        for path in sorted(folder.rglob("*.xml")):
            text = path.read_text("utf8", "replace")
            if ("<worldbody" in text or "<include" in text) and "scene" not in path.stem:
                yield path

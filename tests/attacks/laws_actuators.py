"""Laws of actuators: random MJCF files with servos, springs and tendons against MuJoCo."""

import warnings

import numpy as np
from attack_case import law, note
from attack_plants import close
from laws_files import random_mjcf, words

import kinetree as kt
from kinetree import convert

JOINT = '<joint joint="{}" coef="{}"/>'


def pair(rng, most):
    """A range around zero, or beside it, as an attribute's value."""
    low = rng.uniform(-1, 0.5) * most
    return words((low, low + rng.uniform(0.1, 2) * most))


def maybe(rng, attribute, value):
    """The attribute, or nothing."""
    return f' {attribute}="{value}"' if rng.random() < 0.4 else ""


def own_attributes(rng, kind):
    """Gains and dynamics of an actuator of a kind."""
    k, d, T = rng.uniform(1, 50), rng.uniform(0.1, 5), rng.uniform(0.005, 0.5)
    if kind == "position":
        damping = rng.choice([f'kv="{words(d)}"', f'dampratio="{words(d / 5)}"', ""])
        return f'kp="{words(k)}" {damping}' + maybe(rng, "timeconst", words(T))
    if kind == "velocity":
        return f'kv="{words(d)}"'
    if kind == "damper":
        return f'kv="{words(d)}" ctrlrange="0 {words(rng.uniform(0.1, 2))}"'
    if kind == "intvelocity":
        return f'kp="{words(k)}" kv="{words(d)}" actrange="{pair(rng, 1)}"'
    if kind == "cylinder":
        return f'timeconst="{words(T)}" area="{words(d)}" bias="{words(rng.normal(size=3))}"'
    if kind == "general":
        dynamics = str(rng.choice(["none", "integrator", "filter", "filterexact"]))
        early = maybe(rng, "actearly", "true") if dynamics != "none" else ""
        limit = maybe(rng, "actrange", pair(rng, 1)) if dynamics != "none" else ""
        gain, bias = words(rng.normal(size=3) * 3), words(rng.normal(size=3))
        return (
            f'dyntype="{dynamics}" dynprm="{words(T)}" {early} {limit} '
            f'gaintype="{rng.choice(["fixed", "affine"])}" gainprm="{gain}" '
            f'biastype="{rng.choice(["none", "affine"])}" biasprm="{bias}"'
        )
    return ""


KINDS = ("motor", "position", "velocity", "damper", "intvelocity", "cylinder", "general")


def with_actuators(rng, text):
    """The MJCF text with springs, limits of joint forces, tendons and actuators."""
    parts = text.split('<joint name="')
    names = [part.split('"')[0] for part in parts[1:]]
    for k in range(1, len(parts)):
        name, rest = parts[k].split('"', 1)
        more = maybe(rng, "stiffness", words(rng.uniform(0, 30)))
        more += maybe(rng, "springref", words(rng.normal() * 0.3))
        # with 0 outside the range MuJoCo pushes joints that have no actuator, too
        more += maybe(rng, "actuatorfrcrange", words(rng.uniform((-3, 0.1), (-0.1, 3))))
        more += maybe(rng, "ref", words(rng.normal() * 0.3))
        parts[k] = f'{name}"{more}{rest}'
    tendons = actuators = ""
    # MuJoCo knows a tendon of one joint from the joint where the sum of forces is clamped
    for t in range(int(rng.integers(0, 3)) if len(names) > 1 else 0):
        first, second = (names[int(k)] for k in rng.permutation(len(names))[:2])
        chosen = sorted({first, second, str(rng.choice(names))})
        ends = "".join(JOINT.format(name, words(rng.uniform(0.3, 2))) for name in chosen)
        stiffness = words(rng.uniform(0.1, 10))
        tendons += f'<fixed name="tendon{t}" stiffness="{stiffness}">{ends}</fixed>'
    count = tendons.count("<fixed")
    for a in range(int(rng.integers(1, 6))):
        on_tendon = count and rng.random() < 0.4
        target = f'tendon="tendon{int(rng.integers(count))}"' if on_tendon else ""
        target = target or f'joint="{rng.choice(names)}"'
        kind = str(rng.choice(KINDS))
        more = own_attributes(rng, kind)
        if "ctrlrange" not in more:
            more += maybe(rng, "ctrlrange", pair(rng, 1))
        more += maybe(rng, "forcerange", pair(rng, 3)) + maybe(rng, "gear", words(rng.normal() * 2))
        more += maybe(rng, "armature", "0.02") if not on_tendon else ""
        name = f'name="actuator{a}"' if rng.random() < 0.8 else ""
        actuators += f"<{kind} {name} {target} {more}/>"
    whole = '<joint name="'.join(parts).replace("</mujoco>", "")
    return f"{whole}<tendon>{tendons}</tendon><actuator>{actuators}</actuator></mujoco>"


def read(text):
    """The robot of an MJCF text, and MuJoCo's model without constraints."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    flag = mujoco.mjtDisableBit
    model.opt.disableflags |= flag.mjDSBL_CONSTRAINT | flag.mjDSBL_AUTORESET
    with warnings.catch_warnings():  # of servos that are unstable, which MuJoCo steps as well
        warnings.filterwarnings("ignore", ".*push away from their goal", kt.KinetreeWarning)
        return kt.load_string(text), model


class Run:
    """A robot and MuJoCo's model at the same random state, controls and step."""

    def __init__(self, rng, robot, model):
        import mujoco

        self.robot, self.model, self.data = robot, model, mujoco.MjData(model)
        fast, kinds = rng.random() < 0.6, mujoco.mjtIntegrator
        self.method = "implicitfast" if fast else "semi_implicit_euler"
        model.opt.integrator = kinds.mjINT_IMPLICITFAST if fast else kinds.mjINT_EULER
        model.opt.disableflags |= 0 if fast else mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        self.dt = model.opt.timestep = float(rng.choice([1e-4, 1e-3, 5e-3]))
        joints = [model.joint(j).name for j in range(model.njnt)]
        self.back = convert.from_mujoco(robot, joints)
        there = convert.to_mujoco(robot, joints)
        self.q, self.dq = rng.normal(size=(2, robot.n))
        names = [model.actuator(k).name or f"#a{k}" for k in range(model.nu)]
        self.u = {name: float(rng.normal()) for name in names}
        self.states = {
            name: int(model.actuator_actadr[k])
            for k, name in enumerate(names)
            if model.actuator_actnum[k]
        }
        self.a = {name: float(rng.normal()) for name in self.states}
        self.data.qpos[:] = there.q(self.q)
        self.data.qvel[:] = there.dq(self.q, self.dq)
        self.data.ctrl[:] = list(self.u.values())
        for name, k in self.states.items():
            self.data.act[k] = self.a[name]
        idle = [name for k, name in enumerate(names) if not model.actuator_gear[k, 0]]
        assert sorted(set(names) - set(idle)) == sorted(robot.model.actuator_names)

    def steps(self, robot, count):
        """q, dq and activations after some steps of a robot with the same actuators."""
        q, dq = self.q, self.dq
        u = np.array([self.u[name] for name in robot.model.actuator_names])
        a = np.array([self.a[name] for name in robot.model.activation_names])
        tau = None if len(u) else np.zeros(robot.n)
        given = ({"controls": u} if len(u) else {}) | {"method": self.method}
        for _ in range(count):
            if len(a):
                q, dq, a = robot.step(q, dq, tau, self.dt, activation=a, **given)
            else:
                q, dq = robot.step(q, dq, tau, self.dt, **given)
        return q, dq, a

    def expected(self, count):
        """The same of MuJoCo."""
        import mujoco

        for _ in range(count):
            mujoco.mj_step(self.model, self.data)
        place, names = self.data.qpos.copy(), self.robot.model.activation_names
        a = np.array([self.data.act[self.states[name]] for name in names])
        return self.back.q(place), self.back.dq(place, self.data.qvel.copy()), a


def agree(found, expected, tolerance):
    """Assert that q, dq and activations are equal."""
    for name, x, y in zip(("q", "dq", "activations"), found, expected, strict=True):
        close(x, y, tolerance * (1 + np.abs(y).max(initial=0)), name)


@law(ci=1)
def law_steps_with_actuators_against_mujoco(rng):
    """Ten steps of MuJoCo's implicitfast, or of its Euler, with constant controls."""
    text = with_actuators(rng, random_mjcf(rng, most=4))
    note(rng, text=text)
    run = Run(rng, *read(text))
    agree(run.steps(run.robot, 10), run.expected(10), 1e-9)


@law(ci=1)
def law_written_actuators_read_back(rng):
    """By kinetree and by MuJoCo: the written file takes the same steps."""
    text = with_actuators(rng, random_mjcf(rng, most=3))
    note(rng, text=text)
    robot, _ = read(text)
    written = robot.to_mjcf()
    note(rng, written=written)
    again, model = read(written)
    run = Run(rng, again, model)
    found = run.steps(again, 5)
    agree(found, run.expected(5), 1e-9)
    assert again.joint_names == robot.joint_names
    assert again.model.actuator_names == robot.model.actuator_names
    agree(run.steps(robot, 5), found, 1e-12)

"""System: a robot with all that acts on it, as one function rate(t, x, p, s) -> k, y.

x = (q, dq, z), p the constants and s the values over time (external.py). For fixed steps
k = (dq, a, dz) with the acceleration of the step (dynamics/step_law.py), which may depend on the
"step" that s ends with and on the slopes of the joint forces. The adaptive method has the rates of
the coordinates in the place of dq, and the "mode" of dry friction in p (friction_modes.py). y has
joint forces and other results (outcome.py).

The function is traced. If a user's law cannot be traced (laws.py), only the robot is, and the law
runs in Python, rollout by rollout.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import lean_items
from kinetree.dynamics.contacts.points import lean_places
from kinetree.dynamics.forward_dynamics import check_inertia, forward_dynamics
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.joints.presliding import Bristling, bend, bristles, without_bristle_friction
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.methods import Method
from kinetree.dynamics.state import StateSpace, coordinate_rates, tangents
from kinetree.dynamics.step_law import rate_in_mode, step_rate
from kinetree.dynamics.step_system import Step
from kinetree.engine.compiler.derivatives import jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.model import Model
from kinetree.scalars import Scalar, clip
from kinetree.simulate.actuation import DriveOutput
from kinetree.simulate.forces import FROM_PYTHON, ActingForces, Moment, recent
from kinetree.simulate.inputs import ExternalInputs, NamedParts
from kinetree.spatial.matrices import is_zero

log = logging.getLogger(__name__)

Rate = Callable[[Array | float, Array, Array, Array], tuple[Array, Array]]
# of the robot and of what is given by name, at rates dq
Change = Callable[[Model, NamedParts, Array], tuple[Model, NamedParts]]


@dataclass(frozen=True, eq=False)
class ForcedState:
    """A state and the forces in it: model, with its changed data, q, dq, tau, dz and F_ext.

    given: everything external by name; it has the "step" or the "mode" of dry friction. law: the
    joint forces of controller and tau alone. acted: of actuators and drives. shown: further numbers
    to record. bristling: dry friction with a memory, which `model` is without.
    """

    model: Model
    q: Array
    dq: Array
    tau: Array
    dz: Array
    F_ext: Array | None
    given: NamedParts
    law: Array
    acted: DriveOutput | None = None
    shown: Array | None = None
    bristling: Bristling | None = None
    bristles_at: int = 0

    @property
    def moving(self) -> Array:
        """Joint forces less dry friction with a memory, (n,)."""
        return self.tau if self.bristling is None else self.tau - self.bristling.forces

    def rates_at_end(self, a: Array) -> Array:
        """dz with bristles bent at the rates of the end of an implicit step of acceleration a."""
        before, at = self.bristling, self.bristles_at
        if before is None:
            return self.dz
        rates = bend(before.model, self.dq + a * before.h, before.z, before.h).rates
        return np.concatenate([self.dz[:at], rates, self.dz[at + len(rates) :]])


def uses_step(method: Method, space: StateSpace) -> bool:
    """True if accelerations depend on the length of the step."""
    return method.implicit or method.mean_rates or method.impulsive or bool(space.dry)


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """The robot with everything that acts on it, over any scalars; method: None is adaptive.

    stops: limits of joints stop them. saturates: forces of laws stay within those of the joints.
    """

    space: StateSpace
    acting: ActingForces
    external: ExternalInputs
    method: Method | None
    stops: bool = False
    saturates: bool = False

    @property
    def implicit(self) -> bool:
        """True if accelerations depend on the length of the step."""
        return self.method is not None and self.method.implicit

    def moment(
        self, t: Scalar, x: Array, p: Array, s: Array, changed: Change | None = None
    ) -> tuple[Moment, Array, Array]:
        """A time and state, with the deflections of bristles and the memory of the actuation."""
        inputs: NamedParts = self.external.named(p, s)
        model = own_model = self.acting.changed_model(self.space.model, inputs)
        q, dq, z = self.space.split(x)
        if changed is not None:
            model, inputs = changed(model, inputs, dq)
        end = len(z) - (0 if self.acting.actuation is None else self.acting.actuation.size)
        own, bent, memory = np.split(z, [end - len(bristles(self.space.model)), end])
        return Moment(model, t, q, dq, own, inputs, model is not own_model), bent, memory

    def loads(
        self, t: Scalar, x: Array, p: Array, s: Array, changed: Change | None = None
    ) -> ForcedState:
        """The forces in a state; `changed` may change the robot and what it is given once more."""
        at, bent, memory = self.moment(t, x, p, s, changed)
        model, acting, inputs, bristling = at.model, self.acting, at.inputs, None
        h = inputs["step"][0][0] if "step" in inputs else None
        law, dz = acting.joint_forces(at)
        tau = law = self._within_efforts(law)
        rates, acted, shown = [dz], None, None
        if len(bent):
            sampled = self.method is not None and self.method.sampled
            bristling = bend(model, at.dq, bent, h if sampled else None)
            model = without_bristle_friction(model)
            rates.append(bristling.rates)
        if acting.actuation is not None:
            u = acting.value("controls", at)
            acted = acting.actuation.act(at.model, (at.q, at.dq, memory), law, u, h)
            tau, shown = acted.tau, acting.actuation.shown(acted, u)
            rates += [np.array(acted.dz)] if acted.dz else []
        return ForcedState(
            model,
            at.q,
            at.dq,
            tau,
            np.concatenate(rates),
            acting.value("F_ext", at),
            inputs,
            law,
            acted,
            shown,
            bristling,
            len(at.z),
        )

    def _within_efforts(self, tau: Array) -> Array:
        """Forces of laws, (n,), clipped to the limits of the joints if they saturate."""
        if not self.saturates:
            return tau
        most = {x.dofs[0]: x.limits.effort for x in self.space.model.joints if len(x.dofs) == 1}
        most = {d: float(x) for d, x in most.items() if np.isfinite(x)}
        return np.array([clip(x, -most[d], most[d]) if d in most else x for d, x in enumerate(tau)])

    def python_results(self, t: float, x: Array, p: Array, s: Array) -> Array:
        """The values of all that runs in Python in a state, in one row."""
        return self.acting.python_results(self.moment(t, x, p, s)[0])

    def motion(
        self, loads: ForcedState, traced: bool = False, gains: Gains | None = None
    ) -> tuple[Array, Array, Array]:
        """The rate of q, ddq, and the dry friction of joints in a mode.

        Of an implicit method: dq, the acceleration of the step, and ddq. Of a robot with
        constraints (lambda, Phi) comes last, then the results of contacts.

        traced: the masses are traced scalars, as they are if `acting` has parameters; their links
        cannot be regrouped into fewer numbers. gains: slopes of tau, for an implicit method.
        """
        regrouped = not (traced or self.acting.parameters)
        lean, inputs = lean_model(loads.model, regrouped=regrouped), loads.given
        tree, dq, tau = lean_tree(lean, loads.q, loads.F_ext), loads.dq, loads.moving
        items, method = lean_items(lean), self.method
        if method is not None:
            h = inputs["step"][0][0] if "step" in inputs else 0
            rows = items, lean_places(lean)
            step = Step(tree, loads.q, dq, tau, h, *rows, gains, stops=self.stops)
            k, more = step_rate(method, step)
            return dq, k[len(dq) :], more
        moving = coordinate_rates(self.space.model, loads.q, dq)
        if not items and "mode" not in inputs:
            return moving, forward_dynamics(tree, dq, tau), np.zeros(0, int)
        mode = inputs["mode"][0] if "mode" in inputs else np.zeros(0)
        return moving, *rate_in_mode(Step(tree, loads.q, dq, tau, 0, items), mode)

    def rate(
        self, t: Scalar, x: Array, p: Array, s: Array, changed: Change | None = None
    ) -> tuple[Array, Array]:
        """The function of the system: k and y; `changed` as in `loads`."""
        loads = self.loads(t, x, p, s, changed)
        gains = self.slopes(loads, t, x, p, s) if self.implicit else None
        moving, ddq, friction = self.motion(loads, traced=changed is not None, gains=gains)
        dz = loads.rates_at_end(ddq) if self.implicit else loads.dz
        y = [loads.tau, friction, *([] if loads.shown is None else [loads.shown])]
        return np.concatenate([moving, ddq, dz]), np.concatenate(y)

    def slopes(self, loads: ForcedState, t: Scalar, x: Array, p: Array, s: Array) -> Gains | None:
        """Slopes of all joint forces by q and dq, from the derivative of their graph.

        A controller's own state z counts as constant in the step, and so do wrenches. None: joint
        forces do not depend on the state.
        """
        total = None if self.acting.steady_laws else self._gains_of_laws(t, x, p, s)
        actuation, controls = self.acting.actuation, self.acting.controls
        if actuation is not None and loads.acted is not None:
            of_controls = None
            if controls is not None and controls.law is not None:
                (slope,) = interpret(self.control_slopes, t, x, p, s)  # (u, N)
                of_controls = slope[:, : 2 * self.space.model.n]
            total = actuation.gains(loads.model, loads.dq, loads.acted, total, of_controls)
        if loads.bristling is None:
            return total
        return loads.bristling.gains if total is None else total.plus(loads.bristling.gains)

    def _gains_of_laws(self, t: Scalar, x: Array, p: Array, s: Array) -> Gains | None:
        """Slopes of the forces of controller and tau."""
        n = self.space.model.n
        (slope,) = interpret(self.force_slopes, t, x, p, s)  # (n, N), d tau/d x along tangents
        slope = -slope[:, : 2 * n]
        if all(map(is_zero, slope.flat)):
            return None
        kp, kd = slope[:, :n], slope[:, n:]
        apart = ~np.eye(n, dtype=bool)
        diagonal = all(map(is_zero, [*kp[apart], *kd[apart]]))
        return Gains(kp, kd, symmetric=diagonal)

    @cached_property
    def force_slopes(self) -> Graph:
        """The graph of d law/d x, (n, N), of t, x, p and s; x along tangent vectors."""
        return self._slopes(lambda t, x, p, s: self.loads(t, x, p, s).law, "tau")

    @cached_property
    def control_slopes(self) -> Graph:
        """The graph of d u/d x, (u, N), of t, x, p and s; x along tangent vectors."""
        return self._slopes(lambda *at: self.acting.value("controls", self.moment(*at)[0]), "u")

    def _slopes(self, function: Callable[..., Array | None], name: str) -> Graph:
        """The graph of the derivative of a function of t, x, p and s, which returns an array."""
        graph = optimise(trace(cast(Callable[..., Array], function), self.ports, [(name, ())]))
        return jacobian(graph, ["x"], along={"x": partial(tangents, self.space)})

    @property
    def ports(self) -> list[Port]:
        """The arguments t, x, p and s of the function."""
        external = self.external
        sizes = {"x": self.space.size, "p": external.params_size, "s": external.table_size}
        return [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]

    def traced(self) -> Graph:
        """The graph of the function."""
        return optimise(trace(self.rate, self.ports, [("k", ()), ("y", ())]))


@dataclass(frozen=True, eq=False)
class System:
    """The function as a graph; or `by_python`, with a note that gives the reason."""

    space: StateSpace
    graph: Graph | None
    by_python: Rate | None = None
    note: str | None = None

    @cached_property
    def rate(self) -> Rate:
        """The function on arrays, compiled on first use: a loop of fixed steps has its own code."""
        if self.by_python is not None:
            return self.by_python
        assert self.graph is not None
        return Kernel(self.graph, "rate", dtypes=("float64",))


def make_system(equations: EquationsOfMotion) -> System:
    """Trace everything but the functions that run in Python, whose values become constants."""
    space, acting = equations.space, equations.acting
    if not acting.parameters:
        check_inertia(space.model)
    return _with_python(equations) if acting.python else System(space, equations.traced())


def _with_python(equations: EquationsOfMotion) -> System:
    """The system whose forces come from Python, at least some of them, and why."""
    space, acting, external = equations.space, equations.acting, equations.external
    note = f"forces come from Python, not from compiled code: {acting.note}"
    if equations.implicit:
        note = f"{note} Their slopes are not known, so each step takes them as constant."
        if acting.actuation is not None:
            note = f"{note} Slopes of actuators and drives count."
    count = sum(x.size for x in external.constants.values())
    wider = external
    for name in acting.python:
        size = acting.inputs[name].size if name in acting.inputs else 0
        if name == "controller":
            memory = 0 if acting.actuation is None else acting.actuation.size
            size = space.model.n + space.extra - len(bristles(space.model)) - memory
        wider = wider.with_constant(FROM_PYTHON + name, np.zeros(size))
    whole = replace(equations, external=wider)
    key = acting.key, acting.python, wider.code_key, acting.actuation, space.extra, space.dry
    key = *key, acting.parameters, equations.method and equations.method.name

    def make() -> Kernel:
        return Kernel(whole.traced(), "robot", dtypes=("float64",))

    kernel = recent(space.model, "robots", key, make)

    def rate(t: Array | float, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
        t = np.broadcast_to(t, len(x))
        p, s = (np.broadcast_to(y, (len(x), y.shape[-1])) for y in (p, s))
        states = zip(t, x, p, s, strict=True)
        given = [equations.python_results(float(t), *arrays) for t, *arrays in states]
        return kernel(t, x, np.concatenate([p[:, :count], np.array(given)], -1), s)

    log.warning("kinetree simulates %s slowly: %s", space.model.name, note)
    return System(space, None, rate, note)

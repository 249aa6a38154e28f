"""Controllers step by step, for a loop of the user: hardware, another simulator, a lesson."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.dynamics import neutral
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.ports import check_model
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import Alignment
from kinetree.scalars import Scalar
from kinetree.simulate.controller import Controller, Sampled
from kinetree.simulate.forces import ActingForces, Moment, recent, with_key
from kinetree.simulate.inputs import ExternalInputs, NamedParts
from kinetree.simulate.options import Run
from kinetree.simulate.setup import Setup, external_inputs, first_state, read_forces, trial_states


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A controller, compiled for one robot: tau, dz = law(t, q, dq, z), over leading axes.

    It has no state: z begins as `start`, and the caller integrates it, z = z + dz * dt. Gains and
    everything else that the law reads have the values of the time at which it was compiled.
    `note`: why it could not be compiled; then the law itself is called, once for each state, with
    the present values.

    Args:
        start: state z at the beginning, shape (..., m), in the units of z.
        note: why the law could not be compiled; it is then called state by state. None: it is
            compiled.
    """

    start: Array
    note: str | None
    _model: Model
    _acting: ActingForces
    _external: ExternalInputs
    _kernel: Kernel | None

    def __call__(
        self, t: float, q: StateLike, dq: StateLike, z: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Return tau, (..., n), and dz, (..., m), at time t."""
        model = self._model
        labelled = [(q, coordinate_axis(model), "q"), (dq, dof_axis(model), "dq"), (z, None, "z")]
        alignment = Alignment(labelled)
        plain_q, plain_dq, z = alignment.values
        z = self.start if z is None else np.asarray(z, float)
        now = np.asarray(plain_q, float), np.asarray(plain_dq, float), z
        times = np.array([t], float)
        s = self._external.table(times, np.array([False]), ())[0, 0]
        p = self._external.params(())[0]
        if self._kernel is None:
            tau, dz = self._by_python(float(t), *now, self._external.named(p, s))
        else:
            padded = np.concatenate([z, np.zeros((*z.shape[:-1], 1))], -1)
            tau, dz = self._kernel(float(t), *now[:2], padded, p, s)
        dz = dz[..., : self.start.shape[-1]]
        return alignment.label(tau, [dof_axis(model)], "tau"), dz

    def _by_python(
        self, t: float, q: Array, dq: Array, z: Array, inputs: NamedParts
    ) -> tuple[Array, Array]:
        """Call the law for every state of the leading axes."""
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in (q, dq, z)))
        q, dq, z = (np.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, dq, z))
        tau, dz = np.zeros((*lead, self._model.n)), np.zeros(z.shape)
        for at in np.ndindex(lead):
            moment = Moment(self._model, t, q[at], dq[at], z[at], inputs)
            tau[at], dz[at] = self._acting.joint_forces(moment)
        return tau, dz


def step_by_step(
    controller: Controller | Callable[..., ArrayLike], robot: Model | HasModel
) -> Stepwise:
    """Compile a controller or law for a loop of your own.

    Args:
        controller: one of `kinetree.controllers`, or a function law(t, q, dq).
        robot: the robot that is controlled, or its model.
    """
    if isinstance(controller, Sampled):
        raise controller.refusal()
    model = model_of(robot)
    check_model(model)
    run = Run(model=model, q0=neutral(model), duration=1.0, controller=controller)
    trials = trial_states(model, np.asarray(neutral(model), float), np.zeros(model.n), 1.0)
    acting = read_forces(model, run, trials)
    external = external_inputs(model, acting, {})
    start = first_state(model, acting.controller)
    acting = with_key(model, acting, external, trials)
    setup = Setup(model, start, (), acting, external, start.shape[-1])

    def law(t: Scalar, q: Array, dq: Array, z: Array, p: Array, s: Array) -> tuple[Array, Array]:
        tau, dz = acting.joint_forces(Moment(model, t, q, dq, z[:-1], external.named(p, s)))
        return tau, np.array([*dz, 0])  # no array of a kernel is empty

    sizes = {"q": model.nq, "dq": model.n, "z": start.shape[-1] + 1}
    sizes |= {"p": external.params_size, "s": external.table_size}
    ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
    if acting.python:
        note = f"runs in Python: {acting.note}"
        # the caller calls it once a step, in order, so that it may remember something
        return Stepwise(start, note, model, replace(acting, law=None), external, None)

    def make() -> Kernel:
        graph = optimise(trace(law, ports, [("tau", ()), ("dz", ())]))
        return Kernel(graph, "law", dtypes=("float64",))

    compiled = recent(model, "laws step by step", setup.code_key, make)
    return Stepwise(start, None, model, acting, external, compiled)

"""sensitivities: how a simulated motion changes with its initial state, forces and parameters.

The steps that `simulate` takes are differentiated themselves, not the differential equation: the
derivatives are exact for the numbers that the simulation returns, whatever dt.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import typed
from kinetree.dynamics.contacts.impacts import check_smooth
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.dynamics.joints.presliding import refuse_presliding
from kinetree.dynamics.methods import METHODS
from kinetree.errors import InputError
from kinetree.model import HasModel, Model, model_of
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.actuation import refuse_actuation
from kinetree.simulate.controller import Controller
from kinetree.simulate.fixed import fixed_steps
from kinetree.simulate.inputs import ForceInput
from kinetree.simulate.options import FixedMethod, Law, LimitsChoice, Run, checked
from kinetree.simulate.sensitivity.inputs import (
    PARAMETERS,
    Input,
    complete,
    find_inputs,
    read_names,
)
from kinetree.simulate.sensitivity.result import MAX_SLOPES, Sensitivities
from kinetree.simulate.sensitivity.steps import StepDerivatives
from kinetree.simulate.setup import Setup, read_setup
from kinetree.simulate.simulation import motion


@typed
def sensitivities(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    method: FixedMethod | None = None,
    wrt: str | Sequence[str] = ("q0", "dq0"),
    tau: ForceInput | None = None,
    F_ext: ForceInput | None = None,
    controller: Controller | Law | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    limits: LimitsChoice = "stop",
) -> Sensitivities:
    """The motion from q0 and dq0, with its derivatives.

    Args:
        robot: a Robot or a Model.
        q0, dq0, duration, dt, tau, F_ext, controller, parameters, limits:
            as in `Robot.simulate`; leading axes are a batch of rollouts.
        method: of fixed steps; None: as in `Robot.simulate`.
        wrt: the inputs to differentiate by, some of
            "q0" (along tangent vectors) and "dq0", (n,);
            "tau" and "F_ext": the constant, (n,) or (links, 6), by default zeros; or the values of
            a `signal`, (N, n) or (N, links, 6);
            "mass", "com", "inertia", "gravity", "friction", "springs", "contact_friction",
            "restitution", "ground": as in `Robot.compile(free=...)`;
            "parameters": pi of `Robot.parameters`, (p,).

    Returns:
        A record of the steps: `by(name)` is the derivative of every state, `gradient` and `cost`
        go backward for one number.

    Raises:
        InputError: the motion has no derivative: joints that dry friction holds or stops, rigid
            contacts, laws that cannot be traced, forces that are functions.
    """
    model, names = model_of(robot), read_names(wrt)
    refuse_dry_motors(model, "sensitivities")
    check_smooth(model)
    asked = Run(
        model=model,
        q0=q0,
        dq0=dq0,
        duration=duration,
        dt=dt,
        method=method,
        tau=tau,
        F_ext=F_ext,
        controller=controller,
        parameters=parameters,
        limits=limits,
    )
    run = complete(checked(asked), names)
    if run.fixed is None:
        raise InputError(
            f"method is {method!r}; sensitivities are those of fixed steps: {', '.join(METHODS)}."
        )
    check_tied(model, names)
    refuse_actuation(model, "sensitivities")
    if {"friction", PARAMETERS} & {*names, *(run.parameters or {})}:
        refuse_presliding(model, f"the derivative by friction of method {run.method_name!r}")
    setup = read_setup(run)
    if setup.sampling is not None:
        raise InputError(
            f"{setup.sampling.name} is called in Python, so the motion has no derivative. Take a "
            "law that can be traced, or kinetree.controllers.Stateful."
        )
    times, count, loop = run.times, len(setup.x0), fixed_steps(run, setup)
    steps = loop.method
    stages = times[:-1, None] + np.diff(times)[:, None] * np.array(steps.times)
    inputs = find_inputs(run, setup.external, names, stages, np.array(steps.times) == 1)
    columns = sum(x.size * x.values for x in inputs)
    numbers = len(times) * count * loop.space.rates * (loop.space.rates + columns)
    if numbers > MAX_SLOPES:
        raise InputError(
            f"the slopes of {len(times)} states of {count} rollouts are {numbers:.3g} numbers; "
            f"expected {MAX_SLOPES:.3g} at most. Take fewer rollouts, inputs or steps at a time."
        )
    key = tuple((x.name, x.weights is None) for x in inputs)
    if key not in loop.derivatives:  # compiled once for equal inputs of a loop
        loop.derivatives[key] = StepDerivatives(loop, setup, inputs, stops=run.stops)
    with run.bar() as bar:
        outcome = loop.run(run, setup, bar)
    simulated = motion(run, setup, loop, outcome)
    check_sliding(model, (run.parameters or {}).get("friction"), simulated)
    A, B = loop.derivatives[key].all(_states(simulated, setup), setup, times)
    return Sensitivities(simulated, run.model, inputs, *_with_batch(A, B, inputs, setup.batch))


def _states(simulated: Trajectory, setup: Setup) -> Array:
    """All states x, (T, B, x)."""
    parts = [simulated.q, simulated.dq]
    parts += [simulated.meta["controller_state"]] if setup.controller_size else []
    bent = simulated.meta.get("friction_state", {})
    parts += [np.stack(list(bent.values()), -1)] if bent else []
    return np.concatenate(parts, -1).reshape(len(simulated), len(setup.x0), -1)


def _with_batch(
    A: Array, B: Mapping[str, Array], inputs: Sequence[Input], batch: tuple[int, ...]
) -> tuple[Array, dict[str, Array]]:
    """A, (E, *batch, N, N), and B by name, (E, *batch, N, *shape), with S before a signal's."""
    E, N = len(A), A.shape[-1]
    shapes = {x.name: ((x.values,) if x.weights else ()) + x.shape for x in inputs}
    shaped = {name: B[name].reshape(E, *batch, N, *shapes[name]) for name in B}
    return A.reshape(E, *batch, N, N), shaped


def check_tied(model: Model, names: Collection[str]) -> None:
    """Raise InputError if motors, contacts or constraints rule out these derivatives."""
    owner = "contacts" if model.contacts is not None else "motors" if model.motors else None
    if owner is not None and PARAMETERS in names:
        raise InputError(
            f"wrt has 'parameters', which is not available for a robot with {owner}; ask for "
            "'mass', 'com' or 'inertia'."
        )
    if model.contacts is not None and "friction" in names:
        raise InputError(
            f"wrt has 'friction', and {model.name!r} has contacts, with which motions have no "
            "derivative by friction. Compare motions of robots with other friction."
        )
    dry = dry_dofs(model) if model.contacts is None else ()
    if model.constraints is not None and dry:
        raise InputError(
            f"joint {model.dof_names[dry[0]]!r} has dry friction and {model.name!r} constraints, "
            "with which steps have no derivatives. Take kt.friction.Friction(sigmoid=...)."
        )


def check_sliding(model: Model, friction: ArrayLike | None, motion: Trajectory) -> None:
    """Raise InputError if dry friction holds a joint, stops it or turns it around.

    friction: that of the rollouts, (..., links, 4), if it is given; None: that of the robot.
    """
    dofs = list(dry_dofs(model))
    if friction is not None:
        levels = np.asarray(friction, float)[..., 2:].reshape(-1, len(model.joints), 2)
        rubbing = zip(model.joints, (levels != 0).any((0, 2)), strict=True)
        dofs = [d for joint, rubs in rubbing if rubs for d in joint.dofs]
    if model.contacts is not None or not dofs:
        return
    dq = motion.dq[..., dofs].reshape(len(motion), -1, len(dofs))
    rests = dq == 0
    rests[1:] |= dq[1:] * dq[:-1] < 0
    if rests.any():
        row, _, k = (int(x) for x in np.argwhere(rests)[0])
        raise InputError(
            f"joint {model.dof_names[dofs[k]]!r} stands still or is stopped by its Coulomb "
            f"friction at t = {motion.t[row]:.6g} s, where its motion has no derivative. Start "
            "with dq0 that is not 0, end before it rests, or take the friction out of the robot."
        )

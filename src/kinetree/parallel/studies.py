"""The studies: rollouts, sweeps, limit envelopes, bootstraps."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from kinetree.errors import InputError
from kinetree.identify import Identification
from kinetree.identify.identify import row_memory
from kinetree.parallel.draws import Anywhere
from kinetree.parallel.results import Results
from kinetree.parallel.run import Options, run_study, whole
from kinetree.robot import Robot


def rollouts(
    robot: Robot,
    n: int,
    *,
    q0: Any,
    dq0: Any = 0.0,
    duration: float,
    dt: float = 1e-3,
    method: str = "rk4",
    tau: Any = None,
    F_ext: Any = None,
    controller: Any = None,
    parameters: Mapping[str, Any] | None = None,
    every: int | None = None,
    **options: Unpack[Options],
) -> Results:
    """Simulations from random states, of random robots, under random forces.

    Any of q0 (nq,), dq0 (n,), tau (n,), F_ext (links, 6) and `parameters` may be a number or array,
    or `Normal`, `Uniform`, `Choice`, `Grid`; positions also `Anywhere`, parameters `Spread`, and
    forces `Noise`, which changes with time.

    Args:
        robot: the robot.
        n: rollouts for every point of the grids.
        q0, dq0: initial state.
        duration, dt: of the motion and of its steps, s.
        method: "rk4", "semi_implicit_euler", "euler", or "dop853" with results dt apart.
        tau, F_ext: joint forces, and wrenches onto the links, besides those of the controller.
        controller: one of `kinetree.controllers` that follows a position or a Trajectory.
        parameters: data of the robot, named as in `Robot.compile(free=...)`.
        every: record every so many steps, one row each; None records one row a rollout: what was
            drawn, q and dq at the end, peak_dq, peak_tau, violated_at (when a limit of a joint was
            first left, s) and lost_at (when a number stopped being finite); NaN for never. From
            where a rollout lost a number, those of its motion are NaN.
        options: see `kinetree.parallel.Options`.
    """
    settings = {
        "q0": q0, "dq0": dq0, "duration": duration, "dt": dt, "method": method, "tau": tau,
        "F_ext": F_ext, "controller": controller, "parameters": _named(parameters, "parameters"),
        "every": None if every is None else whole(every, "every", 1),
    }  # fmt: skip
    return run_study("rollouts", robot, n, settings, options)


def sweep(
    robot: Robot,
    quantity: str,
    arguments: Mapping[str, Any],
    n: int = 1,
    *,
    frame: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Results:
    """Any quantity of a robot over random or systematic arguments.

    Args:
        robot: the robot.
        quantity: as for `Robot.compile`: "inverse_dynamics", "mass_matrix", "pose", ...
        arguments: those of the quantity by name, each a number, an array, or what is drawn.
        n: samples for every point of the grids.
        frame: of a pose or Jacobian; the tool when None.
        parameters: data of the robot that vary, as for `rollouts`.
        options: see `kinetree.parallel.Options`.
    """
    settings = {
        "quantity": quantity, "arguments": _named(arguments, "arguments"), "frame": frame,
        "parameters": _named(parameters, "parameters"),
    }  # fmt: skip
    return run_study("sweep", robot, n, settings, options)


def envelope(
    robot: Robot,
    n: int,
    *,
    q: Any = None,
    frame: str | None = None,
    effort: Any = None,
    parameters: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Results:
    """What the drives can hold, carry and push at rest, over the workspace or over many robots.

    Args:
        robot: the robot.
        n: samples for every point of the grids.
        q: positions; anywhere within the limits when None.
        frame: where the load is; the tool when None.
        effort: limits of the drives, a number or (n,), instead of those of the robot, N m or N.
        parameters: data of the robot that vary, as for `rollouts`.
        options: see `kinetree.parallel.Options`.

    Returns:
        What was drawn, the position p of the frame in {s}, m, and: holding, the largest share of an
        effort limit that the robot's own weight takes; payload, the largest point mass at the
        frame, kg; force, the largest force there that can be pushed in every direction, N.
    """
    settings = {
        "q": Anywhere() if q is None else q, "frame": frame, "effort": effort,
        "parameters": _named(parameters, "parameters"),
    }  # fmt: skip
    return run_study("envelope", robot, n, settings, options)


def bootstrap(
    found: Identification, n: int = 1000, *, block: int | None = None, **options: Unpack[Options]
) -> Results:
    """Base parameters of an identification from recordings drawn anew out of blocks of its own.

    `results.quantiles("beta", (0.025, 0.975))` is a 95 % interval for each, which takes errors as
    they are: not normal, and correlated within a block.

    Args:
        found: from `kinetree.identify.identify`, without its torque_cutoff.
        n: replicates.
        block: samples in a block; None: twice as long as errors may remember, so that there are
            at most 100 blocks.
        options: see `kinetree.parallel.Options`.
    """
    if not isinstance(found, Identification):
        raise InputError(f"found is {found!r}; expected what kinetree.identify.identify returns.")
    data, fit = found.train, found.fit
    if len(fit.residual) != len(data):
        raise InputError(
            f"the identification used {len(fit.residual)} of {len(data)} samples (torque_cutoff); "
            "expected all of them. Identify without torque_cutoff for a bootstrap."
        )
    T = len(data)
    length = max(2 * row_memory(data, 1, None), -(-T // 100)) if block is None else block
    blocks = T // length if isinstance(length, int) and length > 0 else 0
    if blocks < 8:
        raise InputError(f"block is {block!r} of {T} samples; expected 8 blocks or more.")
    W = found.sought.regressor(data.q, data.dq, data.ddq)[..., list(found.base.kept)]
    y = data.tau - found.sought.known(data.q, data.dq, data.ddq)
    scale = 1 / np.linalg.norm(W.reshape(-1, W.shape[-1]), axis=0)
    root = np.sqrt(fit.weights / fit.weights.max())
    X, z = W * scale * root[..., None], y * root
    cuts = np.linspace(0, T, blocks + 1).round().astype(int)
    parts = [(X[a:b].reshape(-1, X.shape[-1]), z[a:b].ravel()) for a, b in pairwise(cuts)]
    settings = {
        "A": np.array([x.T @ x for x, _ in parts]),
        "b": np.array([x.T @ y for x, y in parts]),
        "scale": scale,
        "names": [found.base.names[k] for k in found.base.kept],
    }
    return run_study("bootstrap", found.prior, n, settings, options)


def _named(values: Any, name: str) -> dict[str, Any]:
    """Values by name."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InputError(
            f"{name} are {values!r}; expected values by name, such as {{'mass': 1.0}}."
        )
    return dict(values)

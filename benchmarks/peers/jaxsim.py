"""jaxsim on JAX: its recursions of a fixed base, mapped over states.

It reads URDF only with the programs of Gazebo, so it gets the robot as SDF, which kinetree writes.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.jax_batch import jax  # noqa: F401  # sets its number type first
from benchmarks.robots import Case, scratch
from kinetree.files.write.sdf import to_sdf


@functools.cache
def model_of(case: Case) -> Any:
    """jaxsim's model of the robot."""
    import jaxsim.api as js

    path = scratch() / f"{case.key}.sdf"
    path.write_text(to_sdf(case.model, losses="allow"))
    return js.model.JaxSimModel.build_from_model_description(path, gravity=9.81)


def function_of(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
    """A quantity of one state, and the columns of its joints."""
    import jaxsim.api as js

    model = model_of(case)

    def state(q: Any, dq: Any = None) -> Any:
        return js.data.JaxSimModelData.build(model, joint_positions=q, joint_velocities=dq)

    functions = {
        "inverse_dynamics": lambda q, dq, ddq: js.model.inverse_dynamics(
            model, state(q, dq), joint_accelerations=ddq
        )[1],
        "forward_dynamics": lambda q, dq, tau: js.model.forward_dynamics_aba(
            model, state(q, dq), joint_forces=tau
        )[1],
        "mass_matrix": lambda q: js.model.free_floating_mass_matrix(model, state(q))[6:, 6:],
    }
    return functions[quantity], case.columns(model.joint_names())

"""Values that wait in shared memory: each comes back as it left, and no result is lost."""

import numpy as np
import pytest
from cuda_harness import run_on_host, states

import kinetree as kt
from kinetree.engine import Kernel
from kinetree.engine.compiler.schedule import short_lived
from kinetree.engine.kernels import trace_quantity

CASES = [
    ("humanoid", "inverse_dynamics"),
    ("quadruped", "forward_dynamics"),
    ("panda", "inverse_dynamics_derivatives"),
    ("scara", "mass_matrix"),
]


def graph_of(robot, quantity):
    return trace_quantity(getattr(kt.robots, robot)().model, quantity)


@pytest.mark.parametrize(("robot", "quantity"), CASES[:2])
def test_bits_do_not_change(robot, quantity, tmp_path):
    graph = short_lived(graph_of(robot, quantity))
    given = states(graph, "float64", 70)
    found = run_on_host(graph, "float64", given, tmp_path, most=15, spare=4, warps=2)
    np.testing.assert_array_equal(found[0], Kernel(graph)(*given))

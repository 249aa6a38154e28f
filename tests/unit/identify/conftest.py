"""Results that several files of tests look at, each identified once."""

import pytest
from identified_robots import BARE, DESCRIBED, TRUE, arm_motion

from kinetree.core.blas import one_blas_thread
from kinetree.identify import identify, simulated_recording


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Threads of OpenBLAS wait for each other; `identify` itself uses one."""
    with one_blas_thread():
        yield


@pytest.fixture(scope="session")
def experiments(pytestconfig):
    """Number of experiments that a statistical test makes: few, or many with --many."""
    return lambda few, many: many if pytestconfig.option.many else few


@pytest.fixture(scope="session")
def sound():
    """The result of recorded rates and forces with white noise of 0.2 N m."""
    data = simulated_recording(TRUE, arm_motion(duration=16.0), torque_noise=0.2)
    return identify(DESCRIBED, data)


@pytest.fixture(scope="session")
def reported():
    """The result of noisy positions and forces; the description has no friction."""
    data = simulated_recording(TRUE, arm_motion(), encoder_noise=2e-5, torque_noise=0.2)
    return identify(BARE, data)

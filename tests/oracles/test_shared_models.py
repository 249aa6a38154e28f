"""Real robots: loaded as their files say, and equal to what Pinocchio and MuJoCo compute of them.

Tolerances are those that the reference set states: 1e-10, and for accelerations 1e-14 times the
condition of M where that is larger. Friction is not part of the references, nor are the rotors that
some URDF files describe in their transmissions.
"""

import warnings

import numpy as np
import pytest
from shared_models import ROOT, Entry, Reference, angular_first, entries, rotation

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.friction import frictionless
from kinetree.model import Model, link_wrenches

ALL = entries()
pytestmark = pytest.mark.skipif(not ALL, reason=f"no reference models at {ROOT}")
LOADABLE = [entry for entry in ALL if entry.expected in ("load", "load_warn")]
CASES = [(entry, mode) for entry in LOADABLE for mode in entry.modes]
IDS = [f"{entry.name}-{mode}" for entry, mode in CASES]


def load(entry: Entry, mode: str) -> kt.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        robot = kt.load(entry.path, floating=mode == "floating", mimic=mode == "fixed_mimic")
        return robot.unconstrained()  # the values are those of the tree


def bare(robot: kt.Robot) -> Model:
    return frictionless(robot.model).with_gravity((0, 0, -9.81)).replace(rotors=(), springs=())


def assert_close(found, expected, scale, tolerance=1e-10):
    error = np.abs(np.asarray(found) - expected).max(initial=0)
    assert error <= tolerance * max(scale, np.abs(expected).max(initial=0))


@pytest.mark.parametrize(("entry", "mode"), CASES, ids=IDS)
def test_algorithms_give_the_numbers_of_the_reference(entry, mode):
    model = bare(load(entry, mode))
    ref = Reference(entry, mode, model)
    assert_dynamics(model, ref)
    assert_kinematics(model, ref)
    assert_energies_and_momenta(model, ref)


def assert_dynamics(model, ref):
    for s in range(0, len(ref.z["q"]), 5):
        q, v, a = ref.q(s), ref.vector("v", s), ref.vector("a", s)
        F_tip, scale = ref.wrenches(s), np.abs(ref.vector("tau_rnea", s)).max(initial=0)
        tau = algorithms.inverse_dynamics(model, q, v, a)
        loaded = algorithms.inverse_dynamics(model, q, v, a, F_tip=F_tip)
        C = algorithms.coriolis_matrix(model, q, v)
        assert_close(tau, ref.vector("tau_rnea", s), scale)
        assert_close(loaded, ref.vector("tau_rnea_fext", s), scale)
        assert_close(algorithms.gravity_forces(model, q), ref.vector("tau_gravity", s), scale)
        assert_close(C @ v, ref.vector("tau_coriolis", s), scale)
        assert_close(algorithms.mass_matrix(model, q), ref.matrix("M", s), 0)
        assert_forward_dynamics(model, ref, s, q, v, F_tip)


def assert_forward_dynamics(model, ref, s, q, v, F_tip):
    tau = ref.vector("tau_in", s)
    if ref.info["M_singular"]:
        with pytest.raises(kt.KinetreeError, match="joint"):
            algorithms.forward_dynamics(model, q, v, tau, F_tip=F_tip)
        return
    tolerance = max(1e-10, 1e-14 * float(ref.z["M_cond"][s]))
    ddq = algorithms.forward_dynamics(model, q, v, tau, F_tip=F_tip)
    assert_close(ddq, ref.vector("qdd_aba_fext", s), 0, tolerance)


def assert_kinematics(model, ref):
    for s in range(0, len(ref.z["q"]), 6):
        q, v, a = ref.q(s), ref.vector("v", s), ref.vector("a", s)
        for k, name in enumerate(ref.names("link_names")):
            T = algorithms.pose(model, q, name)
            assert_close(T[:3, 3], ref.z["link_pos"][s, k], 1)
            assert_close(T[:3, :3], rotation(ref.z["link_quat"][s, k]), 1)
        for k, name in enumerate(ref.names("tip_links")):
            assert_tip(model, ref, s, k, name, q, v, a)


def assert_tip(model, ref, s, k, name, q, v, a):
    """Jacobian and accelerations of a tip in world axes; the reference's are those of the point."""
    R = algorithms.pose(model, q, name)[:3, :3]
    turn = np.kron(np.eye(2), R)
    J = algorithms.body_jacobian(model, q, name)
    V = J @ v
    bias = algorithms.body_jacobian_rate(model, q, v, name) @ v
    bias[3:] += np.cross(V[:3], V[3:])  # the point's acceleration, not the twist's derivative
    assert_close(turn @ J, ref.jacobian(s, k), 1)
    assert_close(turn @ V, angular_first(ref.z["tip_vel"][s, k]), 1)
    assert_close(turn @ bias, angular_first(ref.z["tip_bias_acc"][s, k]), 1)
    assert_close(turn @ (J @ a + bias), angular_first(ref.z["tip_acc"][s, k]), 1)


def assert_energies_and_momenta(model, ref):
    for s in range(0, len(ref.z["q"]), 6):
        q, v = ref.q(s), ref.vector("v", s)
        kinetic = ref.z["kinetic_energy"][s]
        assert_close(algorithms.kinetic_energy(model, q, v), kinetic, 0)
        if not np.isfinite(ref.z["potential_energy"][s]) or ref.z["total_mass"] == 0:
            continue  # the mass of a fixed body comes from a mesh that is not there, or is none
        assert_close(algorithms.total_mass(model), ref.z["total_mass"], 0)
        assert_close(algorithms.potential_energy(model, q), ref.z["potential_energy"][s], 1)
        assert_close(algorithms.center_of_mass(model, q), ref.z["com"][s], 1)
        h = algorithms.centroidal_momentum(model, q, v)
        assert_close(h, angular_first(ref.z["centroidal_momentum"][s]), 1)
        if not ref.info["M_singular"] and ref.names("tip_links"):
            assert_mobility(model, ref, s, q)


def assert_mobility(model, ref, s, q):
    """J M^-1 J^T of the first tip, which task-space dynamics inverts."""
    tip = ref.names("tip_links")[0]
    turn = np.kron(np.eye(2), algorithms.pose(model, q, tip)[:3, :3])
    J = turn @ algorithms.body_jacobian(model, q, tip)
    M = algorithms.mass_matrix(model, q)
    expected = ref.z["tip_lambda_inv"][s]
    expected = np.block(
        [[expected[3:, 3:], expected[3:, :3]], [expected[:3, 3:], expected[:3, :3]]]
    )
    tolerance = max(1e-10, 1e-14 * float(ref.z["M_cond"][s]))
    assert_close(J @ np.linalg.solve(M, J.T), expected, 0, tolerance)


@pytest.mark.parametrize(
    "entry",
    # three kernels of each file are made; that kernels are the algorithms is proven elsewhere
    [pytest.param(x, marks=[pytest.mark.many] * (k % 3 > 0)) for k, x in enumerate(LOADABLE)],
    ids=lambda entry: entry.name,
)
def test_kernels_are_those_of_the_reference(entry):
    mode = entry.modes[-1]
    model = bare(load(entry, mode))
    if model.n == 0:
        pytest.skip("nothing moves")
    robot, ref = kt.Robot(model), Reference(entry, mode, model)
    states = range(len(ref.z["q"]))
    q, v, a, tau_in = (
        np.array([ref.q(s) if key == "q" else ref.vector(key, s) for s in states])
        for key in ("q", "v", "a", "tau_in")
    )
    F_ext = np.array([link_wrenches(model, None, ref.wrenches(s)) for s in states])
    tau = robot.inverse_dynamics(q, v, a, F_ext)
    M = robot.mass_matrix(q)
    singular = ref.info["M_singular"]
    ddq = None if singular else robot.forward_dynamics(q, v, tau_in)
    for s in states:
        scale = np.abs(ref.vector("tau_rnea", s)).max(initial=0)
        assert_close(tau[s], ref.vector("tau_rnea_fext", s), scale)
        assert_close(M[s], ref.matrix("M", s), 0)
        if ddq is not None:
            tolerance = max(1e-10, 1e-14 * float(ref.z["M_cond"][s]))
            assert_close(ddq[s], ref.vector("qdd_aba", s), 0, tolerance)
    if singular:
        with pytest.raises(kt.KinetreeError, match="joint"):
            robot.forward_dynamics(q, v, tau_in)


@pytest.mark.parametrize("entry", ALL, ids=[entry.name for entry in ALL])
def test_every_file_loads_or_fails_as_stated(entry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        if entry.expected in ("error", "error_without_meshes"):
            with pytest.raises(kt.KinetreeError):
                kt.load(entry.path)
            return
        try:
            robot = kt.load(entry.path)
        except kt.KinetreeError:
            assert entry.expected in ("error_or_warn", "load_or_error")
            return
    warned = robot.report.warnings or robot.model.constraints is not None
    assert entry.expected in ("load", "load_or_error") or warned

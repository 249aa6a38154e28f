"""Documentation of kernels: arguments and results with their shapes, units and frames.

`quantity_help` is the text of a quantity. The attributes of Robot have the same text as docstrings,
so that editors show it without running anything; a test compares the two. `kernel_help` is the text
of a kernel, which may have further arguments, and names the robot. What holds for all quantities is
in the docstring of Robot, which the first text refers to, and in full in that of a kernel.
"""

import textwrap
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from kinetree.compiler.graph import Graph
from kinetree.kernels import constrained
from kinetree.kernels.quantities import CONSTRAINED, find_quantity
from kinetree.model import Model

WIDTH = 92  # of a docstring that is indented by eight
EXAMPLE = "kt.robots.planar_2r()"

# name -> meaning, shape, unit and frame
ARGUMENTS = {
    "q": "joint positions, shape (..., nq), rad or m.",
    "dq": "joint rates, shape (..., n), rad/s or m/s.",
    "ddq": "joint accelerations, shape (..., n), rad/s^2 or m/s^2.",
    "dq_r": "reference rates, shape (..., n), rad/s or m/s.",
    "ddq_r": "rate of dq_r, shape (..., n), rad/s^2 or m/s^2.",
    "tau": "joint forces, shape (..., n), N m or N.",
    "F_ext": "wrenches (moment, force) from the world onto the links, each in its link's frame, "
    "shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.",
    "dt": "length of the step, shape (...), s.",
    "controls": "controls of the actuators, shape (..., u), in their order.",
    "activation": "activations of the actuators that have one, shape (..., a).",
    "kp": "-d tau/d q of each joint, shape (..., n), N m/rad or N/m.",
    "kd": "-d tau/d dq of each joint, shape (..., n), N m s/rad or N s/m.",
    "mass": "masses of the links, shape (..., l), kg.",
    "com": "centres of mass in the link frames, shape (..., l, 3), m.",
    "inertia": "inertias about the centres of mass, in the axes of the link frames, shape "
    "(..., l, 3, 3), kg m^2.",
    "gravity": "acceleration of free fall in {s}, shape (..., 3), m/s^2.",
    "friction": "coefficients of each joint, shape (..., l, 4): viscous for dq > 0 and dq < 0, "
    "N m s/rad or N s/m; Coulomb for dq > 0 and dq < 0, N m or N.",
    "springs": "stiffness and rest position of each spring, shape (..., s, 2), N m/rad or N/m, and "
    "rad or m.",
}
OPTIONS = {
    "out": "array for the result, a tuple of arrays for several; None: new arrays.",
    "options": "dtype, casting, order and axes of a NumPy ufunc.",
}
FRAME = "name of a link, a tool or a fixed frame of the robot; None: the tool."
EXPRESSED = (
    '"body": twist of the frame in its own axes; "space": in {s}, of the point at the origin of '
    '{s}; "aligned": of the origin of the frame, in the axes of {s}.'
)
SEE_ROBOT = "Names, batches and the letters of shapes: see `Robot`."
KINDS = (
    "Arrays, lists and tensors follow `robot.coordinate_names` (q) and `robot.dof_names` (the "
    "others); a dict, a pandas Series or DataFrame, a polars DataFrame or an xarray DataArray is "
    "aligned by these names, and results are labelled alike. Leading axes broadcast. In shapes, n "
    "is `robot.n`, nq is `robot.nq`, {letters}... any leading axes."
)
LETTERS = {
    "l": "l the number of moving links, ",
    "p": "p the length of `robot.parameters`, ",
    "s": "s the number of springs, ",
    "m": "m the number of equations of the constraints, ",
    "d": "d the number of independent rates, ",
    "k": "k the number of rows of the task, ",
}


@dataclass(frozen=True)
class Text:
    """The meaning of a quantity and of each of its results, and a call with what it prints."""

    title: str
    results: tuple[str, ...]
    call: str
    printed: str
    setup: tuple[str, ...] = (f"robot = {EXAMPLE}",)


FORCES = "joint forces, shape (..., n), N m or N."
TEXTS = {
    "inverse_dynamics": Text(
        "Joint forces of a motion: tau = M ddq + c + g + springs + friction - J^T F_ext.",
        (f"tau: {FORCES}",),
        "robot.inverse_dynamics([0.1, 0.2], [1, 0], [0, 2]).round(3)",
        "array([385.633,  79.416])",
    ),
    "forward_dynamics": Text(
        "Joint accelerations under joint forces: ddq = M^-1 (tau - h + J^T F_ext).",
        ("ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.",),
        "robot.forward_dynamics([0.1, 0.2], [1, 0], [0, 0]).round(3)",
        "array([-15.576,  28.535])",
    ),
    "mass_matrix": Text(
        "Mass matrix M(q), the inertia of the robot as its joints see it.",
        ("M: shape (..., n, n), symmetric, kg m^2, kg m or kg by the types of the joints.",),
        "robot.mass_matrix([0.1, 0.2]).round(3)",
        "array([[43.137, 10.789],\n       [10.789,  3.34 ]])",
    ),
    "mass_matrix_rate": Text(
        "Rate of the mass matrix: dM/dt = C + C^T.",
        ("dM: shape (..., n, n), the units of M per second.",),
        "robot.mass_matrix_rate([0.1, 0.2], [1, 0.5]).round(3)",
        "array([[-1.51 , -0.755],\n       [-0.755,  0.   ]])",
    ),
    "coriolis_matrix": Text(
        "Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.",
        ("C: shape (..., n, n), the units of M per second.",),
        "robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)",
        "array([[-0.755, -2.265],\n       [ 1.51 ,  0.   ]])",
    ),
    "coriolis_forces": Text(
        "Coriolis and centrifugal joint forces: c(q, dq) = C dq.",
        (f"c: {FORCES}",),
        "robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)",
        "array([-1.887,  1.51 ])",
    ),
    "gravity_forces": Text(
        "Joint forces that carry the weight of the robot at rest: g(q), without springs.",
        (f"g: {FORCES}",),
        "robot.gravity_forces([0.1, 0.2]).round(3)",
        "array([364.056,  71.226])",
    ),
    "bias_forces": Text(
        "Joint forces at zero acceleration: h(q, dq) = c + g + springs + friction - J^T F_ext.",
        (f"h: {FORCES}",),
        "robot.bias_forces([0.1, 0.2], [1, 0.5]).round(3)",
        "array([362.168,  72.736])",
    ),
    "friction_forces": Text(
        "Friction of the joints, as the drives must overcome it: b(dq), without load friction.",
        (f"b: {FORCES}",),
        "robot.friction_forces([1, 0.5])",
        "array([0., 0.])",
    ),
    "spring_forces": Text(
        "Joint forces against springs: the gradient of their energy; zero without springs.",
        (f"tau: {FORCES}",),
        "robot.with_springs({'joint2': kt.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])",
        "array([0., 2.])",
    ),
    "kinetic_energy": Text(
        "Kinetic energy: T = dq^T M dq / 2.",
        ("T: shape (...), J.",),
        "round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)",
        "27.38",
    ),
    "potential_energy": Text(
        "Potential energy of gravity, zero at the origin of {s}, and of springs.",
        ("U: shape (...), J.",),
        "round(float(robot.potential_energy([0.1, 0.2])), 3)",
        "51.414",
    ),
    "center_of_mass": Text(
        "Centre of mass of all links and the base, in {s}.",
        ("p: position, shape (..., 3), m.",),
        "robot.center_of_mass([0.1, 0.2]).round(3)",
        "array([0.905, 0.128, 0.   ])",
    ),
    "momentum": Text(
        "Momentum (angular, linear) of the robot about the origin of {s}, in {s}.",
        ("h: shape (..., 6), N m s and N s.",),
        "robot.momentum([0.1, 0.2], [1, 0.5]).round(3)",
        "array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])",
    ),
    "centroidal_momentum": Text(
        "Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.",
        ("h: shape (..., 6), N m s and N s.",),
        "robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)",
        "array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])",
    ),
    "link_poses": Text(
        "Poses T_si of all moving links in {s}, in the order of `robot.model.link_names`.",
        ("T: shape (..., l, 4, 4), positions in m.",),
        "robot.link_poses([0.1, 0.2])[-1, :3, 3].round(3)",
        "array([0.995, 0.1  , 0.   ])",
    ),
    "inverse_dynamics_derivatives": Text(
        "Derivatives of `inverse_dynamics`; q is moved along tangent vectors of `integrate`.",
        (
            "dtau_dq: d tau/d q, shape (..., n, n), N m/rad or the like.",
            "dtau_dv: d tau/d dq, shape (..., n, n), N m s/rad or the like.",
        ),
        "robot.inverse_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[0].round(3)",
        "array([[-51.414, -25.053],\n       [-22.033, -14.584]])",
    ),
    "forward_dynamics_derivatives": Text(
        "Derivatives of `forward_dynamics`; q is moved along tangent vectors of `integrate`.",
        (
            "da_dq: d ddq/d q, shape (..., n, n), 1/s^2 or the like.",
            "da_dv: d ddq/d dq, shape (..., n, n), 1/s or the like.",
            "da_dtau: d ddq/d tau = M^-1, shape (..., n, n), 1/(kg m^2) or the like.",
        ),
        "robot.forward_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[2].round(3)",
        "array([[ 0.121, -0.39 ],\n       [-0.39 ,  1.558]])",
    ),
    "momentum_balance": Text(
        "Momentum p = M dq, and f = tau - friction + C^T dq - g - springs: dp/dt = f + J^T F_ext.",
        ("p: shape (..., n), kg m^2/s or kg m/s.", "f: shape (..., n), N m or N."),
        "robot.compile('momentum_balance')([0.1, 0.2], [1, 0], [0, 2])[1].round(3)",
        "array([-364.056,  -70.736])",
    ),
    "regressor": Text(
        "Regressor Y of the joint forces: tau = Y @ robot.parameters.",
        ("Y: shape (..., n, p), N m or N for a unit of each parameter.",),
        "robot.regressor([0.1, 0.2], [1, 0], [0, 2]).shape",
        "(2, 30)",
    ),
    "energy_regressor": Text(
        "Regressors of the energies: T = y_T @ robot.parameters, U = y_U @ robot.parameters.",
        (
            "y_T: of the kinetic energy, shape (..., p), J for a unit of each parameter.",
            "y_U: of the potential energy, shape (..., p), J for a unit of each parameter.",
        ),
        "robot.energy_regressor([0.1, 0.2], [1, 0])[0].shape",
        "(30,)",
    ),
    "momentum_regressor": Text(
        "Regressor of the momentum about the origin of {s}: h = Y @ robot.parameters.",
        ("Y: shape (..., 6, p), N m s and N s for a unit of each parameter.",),
        "robot.momentum_regressor([0.1, 0.2], [1, 0]).shape",
        "(6, 30)",
    ),
    "pose": Text(
        "Pose T_sb of a frame in {s}.",
        ("T: shape (..., 4, 4), position in m.",),
        "robot.pose([0.1, 0.2])[:3, 3].round(3)",
        "array([1.759, 0.336, 0.   ])",
    ),
    "body_jacobian": Text(
        "Body Jacobian J_b of a frame: its twist (angular, linear) in its own axes is J_b dq.",
        ("J_b: shape (..., 6, n), rad/s and m/s for a unit of each rate.",),
        "robot.body_jacobian([0.1, 0.2])[:, 0].round(3)",
        "array([0.   , 0.   , 1.   , 0.199, 1.78 , 0.   ])",
    ),
    "space_jacobian": Text(
        "Space Jacobian J_s of a frame: its twist (angular, linear) in {s} is J_s dq.",
        ("J_s: shape (..., 6, n), rad/s and m/s for a unit of each rate.",),
        "robot.space_jacobian([0.1, 0.2])[:, 1].round(3)",
        "array([ 0.   ,  0.   ,  1.   ,  0.1  , -0.995,  0.   ])",
    ),
    "body_jacobian_rate": Text(
        "Rate of the body Jacobian of a frame, dJ_b/dt.",
        ("dJ_b: shape (..., 6, n), the units of J_b per second.",),
        "robot.body_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 0].round(3)",
        "array([ 0.   ,  0.   ,  0.   ,  0.49 , -0.099,  0.   ])",
    ),
    "space_jacobian_rate": Text(
        "Rate of the space Jacobian of a frame, dJ_s/dt.",
        ("dJ_s: shape (..., 6, n), the units of J_s per second.",),
        "robot.space_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 1].round(3)",
        "array([0.   , 0.   , 0.   , 0.995, 0.1  , 0.   ])",
    ),
}

TEXTS |= {
    "inverse_mass_matrix": Text(
        "Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.",
        ("M_inv: shape (..., n, n), symmetric, 1/(kg m^2) or the like.",),
        "robot.inverse_mass_matrix([0.1, 0.2]).round(3)",
        "array([[ 0.121, -0.39 ],\n       [-0.39 ,  1.558]])",
    ),
    "transposed_coriolis_forces": Text(
        "C(q, dq)^T dq = dM/dt dq - c: rate of the momentum M dq by the motion of the joints.",
        (f"f: {FORCES}",),
        "robot.transposed_coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)",
        "array([ 0.   , -2.265])",
    ),
    "center_of_mass_jacobian": Text(
        "Jacobian of the centre of mass: its velocity in {s} is J dq.",
        ("J: shape (..., 3, n), m/s for a unit of each rate.",),
        "robot.center_of_mass_jacobian([0.1, 0.2]).round(3)",
        "array([[-0.128, -0.055],\n       [ 0.905,  0.177],\n       [ 0.   ,  0.   ]])",
    ),
    "centroidal_momentum_matrix": Text(
        "Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.",
        ("A_G: shape (..., 6, n), N m s and N s for a unit of each rate.",),
        "robot.centroidal_momentum_matrix([0.1, 0.2])[2].round(3)",
        "array([8.877, 3.93 ])",
    ),
    "centroidal_momentum_matrix_rate": Text(
        "Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.",
        ("dA_G: shape (..., 6, n), the units of A_G per second.",),
        "robot.centroidal_momentum_matrix_rate([0.1, 0.2], [1, 0.5])[3].round(3)",
        "array([-40.741, -10.891])",
    ),
    "reference_regressor": Text(
        "Regressor of Slotine and Li: Y pi = M ddq_r + C dq_r + g + springs + friction of dq.",
        ("Y: shape (..., n, p), N m or N for a unit of each parameter pi of `robot.parameters`.",),
        "robot.reference_regressor([0.1, 0.2], [1, 0], [0.5, 0], [0, 2]).shape",
        "(2, 30)",
    ),
    "frame_velocity": Text(
        "Twist (angular, linear) of a frame: V = J dq.",
        ("V: shape (..., 6), rad/s and m/s.",),
        "robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)",
        "array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])",
    ),
    "frame_acceleration": Text(
        "Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.",
        (
            'dV: shape (..., 6), rad/s^2 and m/s^2. With expressed="aligned" it is the '
            "acceleration of the origin of the frame.",
        ),
        "robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)",
        "array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])",
    ),
    "task_space": Text(
        "Dynamics of k coordinates of a frame: F = Lambda dV + eta, with the null space of the "
        "task; NaN where J has lost rank (a singular value not above 1e-6).",
        (
            "J: Jacobian of the task, shape (..., k, n), rad/s and m/s for a unit of each rate.",
            "dJ: rate of J, shape (..., k, n), the units of J per second.",
            "Lambda: task-space inertia, shape (..., k, k), kg m^2, kg m and kg.",
            "eta: bias wrench mu + p + J_bar^T (springs + friction), shape (..., k), N m and N.",
            "mu: part of eta by Coriolis and centrifugal forces, shape (..., k), N m and N.",
            "p: part of eta by gravity, shape (..., k), N m and N.",
            "J_bar: dynamically consistent inverse of J, shape (..., n, k), inverse units of J.",
            "N: null-space projector 1 - J_bar J, shape (..., n, n), dimensionless.",
        ),
        "robot.compile('task_space', rows=(3, 4))([0.1, 0.2], [1, 0.5])[2].round(3)",
        "array([[295.486,  21.12 ],\n       [ 21.12 ,   5.219]])",
    ),
}

# one step: name of the quantity -> how, further arguments of the example, and the next q
STATE = (
    "q_next: joint positions after the step, shape (..., nq), rad or m.",
    "dq_next: joint rates after the step, shape (..., n), rad/s or m/s.",
)
STEPS = {
    "step_euler": ("Euler's method: q moves with the old dq.", "", "[0.11, 0.2 ]"),
    "step_semi_implicit_euler": (
        "Euler's method, in which q moves with the new dq.",
        "",
        "[0.108442, 0.202853]",
    ),
    "step_rk4": ("the classical method of Runge and Kutta.", "", "[0.10922 , 0.201435]"),
    "step_implicit": (
        "Euler's method with the friction and the springs of the end of the step.",
        "",
        "[0.108442, 0.202853]",
    ),
    "step_implicit_with_gains": (
        "Euler's method with the friction, the springs and the tau of the end of the step.",
        ", [0, 0], [0, 0]",
        "[0.108442, 0.202853]",
    ),
    "step_implicitfast": (
        "Euler's method with the friction of the end of the step.",
        "",
        "[0.108442, 0.202853]",
    ),
    "step_implicitfast_with_gains": (
        "Euler's method with the friction and the damping in tau of the end of the step.",
        ", [0, 0]",
        "[0.108442, 0.202853]",
    ),
}
TEXTS |= {
    name: Text(
        f"Joint positions and rates after the time dt, by {how}",
        STATE,
        f"robot.compile({name!r})([0.1, 0.2], [1, 0], [0, 0], 0.01{more})[0].round(6)",
        f"array({printed})",
    )
    for name, (how, more, printed) in STEPS.items()
}
MOTOR = (
    "servo = kt.Actuator.position('joint2', kp=50, kd=5, time_constant={})",
    "robot = kt.robots.planar_2r().with_actuators({{'elbow': servo}})",
)
TEXTS |= {
    f"{name}_with_{kind}": Text(
        f"State after the time dt with the forces of actuators, by {STEPS[name][0]}",
        (*STATE, *more),
        f"robot.compile('{name}_with_{kind}')([0.1, 0.2], [1, 0], [0, 0], 0.01{given})[0].shape",
        "(2,)",
        tuple(line.format(lag) for line in MOTOR),
    )
    for name in ("step_euler", "step_semi_implicit_euler", "step_rk4", "step_implicit",
                 "step_implicitfast")
    for kind, more, given, lag in (
        ("controls", (), ", [1]", 0),
        ("activation", ("activation_next: activations after it, shape (..., a).",), ", [1], [0]",
         0.1),
    )
}  # fmt: skip

GEARED = (
    "gear = kt.constraints.Couple('joint2', {'joint1': -2})",
    "robot = kt.robots.planar_2r().constrained({'gear': gear})",
)
# one line each: in a list of results the documentation takes continued lines for another paragraph
RESIDUAL = "J ddq + gamma, shape (..., m), rad/s^2 or m/s^2; 0 if Phi stays 0."
LAM = "lam: forces onto frame_b in axes of frame_a, of least norm, shape (..., m), N or N m."
TEXTS |= {
    "constraint_errors": Text(
        "Errors Phi(q) of all equations of the constraints, as in `mobility.rows`.",
        ("Phi: shape (..., m), rad or m.",),
        "robot.constraint_errors([0.1, 0.2]).round(3)",
        "array([0.4])",
        GEARED,
    ),
    "constraint_jacobian": Text(
        "Jacobian J of the constraints: dPhi/dt = J dq.",
        ("J: shape (..., m, n), units of Phi per unit of each rate.",),
        "robot.constraint_jacobian([0.1, -0.2])",
        "array([[2., 1.]])",
        GEARED,
    ),
    "constraint_bias": Text(
        "Bias gamma = dJ/dt dq of the constraints: d^2 Phi/dt^2 = J ddq + gamma.",
        ("gamma: shape (..., m), rad/s^2 or m/s^2.",),
        "robot.constraint_bias([0.1, -0.2], [1, -2])",
        "array([0.])",
        GEARED,
    ),
    "constrained_forward_dynamics": Text(
        "Accelerations and forces of constraints: M ddq + h = tau + J^T lambda, J ddq + gamma = 0.",
        (
            "ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.",
            LAM,
            f"residual: {RESIDUAL}",
        ),
        "robot.constrained_forward_dynamics([0.1, -0.2], [1, -2], [0, 0])[1].round(3)",
        "array([4.419])",
        GEARED,
    ),
    "constrained_inverse_dynamics": Text(
        "Forces of the motors and of the constraints: tau + J^T lambda = M ddq + h.",
        (
            "tau: motor forces of least weighted norm, shape (..., n), N m or N; 0 without motor.",
            LAM,
            "force_residual: M ddq + h - tau - J^T lambda, shape (..., n), N m or N.",
            f"motion_residual: {RESIDUAL}",
        ),
        "robot.constrained_inverse_dynamics([0.1, -0.2], [1, -2], [1, -2])[0].round(3)",
        "array([ 47.002, -94.004])",
        GEARED,
    ),
    "constraint_impulse": Text(
        "Impulse of constraints that close without rebound: M (dq_after - dq) = J^T impulse.",
        (
            "dq_after: the nearest rates that are allowed, shape (..., n), rad/s or m/s.",
            "impulse: of the equations, shape (..., m), N s or N m s.",
            "residual: J dq_after, shape (..., m), rad/s or m/s.",
        ),
        "robot.constraint_impulse([0.1, -0.2], [1, 0])[0].round(3)",
        "array([ 1.616, -3.232])",
        GEARED,
    ),
    "reduced_dynamics": Text(
        "Equation of motion of the independent rates y': M_r y'' + h_r = N^T tau, dq = N y'.",
        (
            "M_r: shape (..., d, d), kg m^2, kg m or kg.",
            "h_r: shape (..., d), N m or N.",
            "N: shape (..., n, d), rates of all joints for a unit of each independent one.",
            "NaN: at a dead centre, where the independent rates do not determine the others.",
        ),
        "robot.reduced_dynamics([0.1, -0.2], [1, -2])[2].round(3)",
        "array([[ 1.],\n       [-2.]])",
        GEARED,
    ),
}
HONOURED = (
    "The constraints of this robot are honoured: results satisfy M ddq + h = tau + J^T lambda and "
    "J ddq + gamma = 0, with lambda in `constrained_forward_dynamics` and "
    "`constrained_inverse_dynamics`."
)
MOTORS = (
    "Joints without motors have no force. tau is NaN where the motors cannot make the motion, as "
    "at a dead centre; `constrained_inverse_dynamics` has the force that is left over. If the "
    "constraints forbid ddq, the forces make the nearest motion that is allowed."
)
STEPPED = (
    "The constraints of this robot are honoured: q and dq must satisfy them (otherwise the results "
    "are NaN), and the results do, because they are projected."
)
OF_THE_TREE = "The constraints of this robot do not enter: this is the quantity of its tree."


def quantity_help(name: str) -> str:
    """Return the documentation of a quantity as an attribute or method of Robot."""
    quantity = find_quantity(name)
    arguments = {key: ARGUMENTS[key] for key in quantity.inputs}
    if quantity.framed:
        choice = {"expressed": EXPRESSED} if quantity.choices else {}
        return _text(name, arguments | {"frame": FRAME} | choice, SEE_ROBOT)
    if quantity.wrenches:
        arguments["F_ext"] = ARGUMENTS["F_ext"]
    return _text(name, arguments | OPTIONS, SEE_ROBOT)


def kernel_help(name: str, model: Model, graph: Graph, extra: str | None = None) -> str:
    """Return the documentation of the kernel of a quantity, compiled for a robot.

    Args:
        name: the quantity.
        model: the robot.
        graph: the graph of the kernel.
        extra: the name of an optional further argument.
    """
    given = [port.name for port in graph.inputs] + ([extra] if extra else [])
    letters = {letter for port in (*graph.inputs, *graph.outputs) for letter in port.dims}
    letters |= {"l"} if extra else set()
    text = _text(name, {key: ARGUMENTS[key] for key in given} | OPTIONS, _kinds(letters))
    if model.constraints is not None and name not in CONSTRAINED:
        remark = HONOURED if name in constrained.HONOURED else OF_THE_TREE
        remark = STEPPED if find_quantity(name).step else remark
        remark = f"{remark} {MOTORS}" if name == "inverse_dynamics" else remark
        text = f"{text}\n\n{textwrap.fill(remark, WIDTH)}"
    return f"{text}\n\n{_sizes(model)}"


def derivative_help(name: str, wrt: Sequence[str], model: Model, graph: Graph) -> str:
    """Return the documentation of the kernel of a derivative, compiled for a robot.

    Args:
        name: the quantity.
        wrt: the arguments that it is differentiated by.
        model: the robot.
        graph: the graph of the kernel.
    """
    along = "; q is moved along tangent vectors of `integrate`" if "q" in wrt else ""
    letters = {letter for port in (*graph.inputs, *graph.outputs) for letter in port.dims}
    arguments = {port.name: ARGUMENTS[port.name] for port in graph.inputs} | OPTIONS
    results = [
        f"{port.name}: shape ({', '.join(('...', *map(str, port.shape)))}), in units of the "
        "result per unit of the argument."
        for port in graph.outputs
    ]
    title = f"Derivatives of {name} by {', '.join(map(str, wrt))}{along}."
    return f"{_sections(title, arguments, results, _kinds(letters))}\n\n{_sizes(model)}"


def _kinds(letters: Set[str]) -> str:
    known = "".join(text for letter, text in LETTERS.items() if letter in letters)
    return KINDS.format(letters=known)


def _text(name: str, arguments: Mapping[str, str], kinds: str) -> str:
    text = TEXTS[name]
    lines = [*(f">>> {line}" for line in (*text.setup, text.call)), *text.printed.split("\n")]
    example = "\n    ".join(["Example:", *lines])
    return f"{_sections(text.title, arguments, text.results, kinds)}\n\n{example}"


def _sections(title: str, arguments: Mapping[str, str], results: Sequence[str], kinds: str) -> str:
    described = [f"{key}: {text}" for key, text in arguments.items()]
    parts = [
        textwrap.fill(title, WIDTH),
        _entries("Args:", described),
        _entries("Returns:", results),
        textwrap.fill(kinds, WIDTH),
    ]
    return "\n\n".join(parts)


def _entries(title: str, entries: Sequence[str]) -> str:
    fill = partial(textwrap.fill, width=WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join([title, *map(fill, entries)])


def _sizes(model: Model) -> str:
    sizes = f"n = {model.n}, nq = {model.nq}, l = {len(model.links)}"
    return f"This kernel is compiled for {model.name!r}: {sizes}."

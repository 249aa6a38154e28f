"""Names of the arguments and results of exported functions, with words and units for each."""

JOINT_FORCES = "N m or N"

# argument -> what it is, with its unit
ARGUMENTS = {
    "q": "joint positions, see below",
    "dq": "joint rates, see below",
    "ddq": "joint accelerations, units of dq per s",
    "tau": f"joint forces, {JOINT_FORCES}, see below",
    "F_ext": "wrenches (moment, force) from the world onto the links, in their frames, N m and N",
    "mass": "masses of the links, kg",
    "com": "centres of mass in the frames of the links, m",
    "inertia": "inertias about the centres of mass, kg m^2",
    "gravity": "acceleration of free fall in the space frame, m/s^2",
    "friction": "of each joint: viscous for dq > 0 and dq < 0, Coulomb for dq > 0 and dq < 0",
}

# quantity, or one of its results -> letter, and what it is
RESULTS = {
    "inverse_dynamics": ("tau", f"joint forces, {JOINT_FORCES}"),
    "forward_dynamics": ("ddq", "joint accelerations, units of dq per s"),
    "mass_matrix": ("M", "mass matrix, with armature and rotors; kg m^2, kg m, kg"),
    "mass_matrix_rate": ("dM", "time derivative of the mass matrix"),
    "bias_forces": ("h", f"joint forces of a motion without acceleration, {JOINT_FORCES}"),
    "gravity_forces": ("g", f"joint forces that hold the robot still, {JOINT_FORCES}"),
    "coriolis_forces": ("c", f"Coriolis and centrifugal forces, {JOINT_FORCES}"),
    "coriolis_matrix": ("C", "Coriolis matrix of the Christoffel symbols, c = C dq"),
    "kinetic_energy": ("K", "kinetic energy, J"),
    "potential_energy": ("U", "potential energy, J"),
    "center_of_mass": ("p_com", "centre of mass in the space frame, m"),
    "momentum": ("H", "momentum (angular, linear) in the space frame, N m s and N s"),
    "centroidal_momentum": ("H_com", "the same about the centre of mass"),
    "friction_forces": ("b", f"joint forces against friction, {JOINT_FORCES}"),
    "link_poses": ("T_si", "poses of the link frames in the space frame, m"),
    "pose": ("T_sb", "pose of the frame in the space frame, m"),
    "body_jacobian": ("J_b", "its twist (omega, v) in its own axes is J_b dq"),
    "space_jacobian": ("J_s", "its twist (omega, v) in the space frame is J_s dq"),
    "body_jacobian_rate": ("dJ_b", "time derivative of the body Jacobian"),
    "space_jacobian_rate": ("dJ_s", "time derivative of the space Jacobian"),
    "dtau_dq": ("dtau_dq", "derivative of tau by q, along rates of the joints"),
    "dtau_dv": ("dtau_dv", "derivative of tau by dq"),
    "da_dq": ("da_dq", "derivative of ddq by q, along rates of the joints"),
    "da_dv": ("da_dv", "derivative of ddq by dq"),
    "da_dtau": ("da_dtau", "derivative of ddq by tau, the inverse of M"),
}

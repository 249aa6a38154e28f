"""Names that rows of peers have and requirements look for."""

PYTHON_LOOP, POOL = "Pinocchio, Python loop", "Pinocchio, parallel pool"
CASADI = "CasADi, generated C"
FRAX = "frax, JAX on the CPU"
CONSTRAINED = "Pinocchio, constraintDynamics"
SOLVERS = ("Crocoddyl, SolverDDP", "Crocoddyl, SolverFDDP", "mim-solvers, SolverSQP")

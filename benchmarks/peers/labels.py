"""Names that rows of peers have and requirements look for."""

PYTHON_LOOP, POOL = "Pinocchio, Python loop", "Pinocchio, parallel pool"
CASADI = "CasADi, generated C"
FRAX, ADAM = "frax, JAX on the CPU", "adam, JAX on the CPU"
JAXSIM = "jaxsim, JAX on the CPU"
CONSTRAINED = "Pinocchio, constraintDynamics"
SOLVERS = ("Crocoddyl, SolverDDP", "Crocoddyl, SolverFDDP", "mim-solvers, SolverSQP")
# second derivatives of inverse dynamics in C++: tensors that stay in its Data, or are copied out
CPP, CPP_COPIES = "Pinocchio, C++", "Pinocchio, C++, with copies"

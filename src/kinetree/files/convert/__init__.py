"""Joint vectors in the orders of other libraries: Pinocchio, MuJoCo and Drake."""

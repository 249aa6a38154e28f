"""Joint limits: the loads of a motion, their check, the report, and the fitting time scale."""

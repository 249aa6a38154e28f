"""Kernels: a quantity of a robot becomes a compiled function; algorithms meet the compiler."""

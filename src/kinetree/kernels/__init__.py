"""Kernels: where algorithms meet the compiler. A quantity of a robot becomes a compiled function."""

"""The call of a kernel: from Python's call protocol and NumPy arrays into machine code."""

"""The call of a kernel: from Python's call protocol and NumPy arrays into machine code.

Three ways lead there: one float64 state enters machine code directly (`fast_entry`), other NumPy
arrays, lists and numbers go through a gufunc (`gufunc`), with threads for large batches
(`dispatch`), and arrays of other packages through `kinetree.engine.tensors`.
"""

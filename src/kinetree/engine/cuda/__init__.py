"""CUDA: a graph as a GPU kernel with one thread per state, compiled at run time through CuPy."""

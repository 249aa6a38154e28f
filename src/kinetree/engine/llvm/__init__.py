"""LLVM: a graph as vector code for the processor at hand."""

"""Graph -> callable: machine code where LLVM is there, the interpreter where it is not."""

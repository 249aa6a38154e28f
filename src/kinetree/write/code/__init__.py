"""Write quantities of a robot as source code in other languages, from the graphs of the kernels."""

from kinetree.write.code.export import LANGUAGES, export

__all__ = ["LANGUAGES", "export"]

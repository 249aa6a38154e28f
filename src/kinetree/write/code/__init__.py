"""Quantities of a robot as source code: the graph of the kernels, written in other languages."""

from kinetree.write.code.export import LANGUAGES, export

__all__ = ["LANGUAGES", "export"]

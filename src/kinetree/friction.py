"""Friction of joints: viscous and Coulomb friction, and further laws that `Friction` takes."""

from kinetree.files.description.friction import Dahl, Friction, LuGre, Sigmoid, Stribeck

__all__ = ["Dahl", "Friction", "LuGre", "Sigmoid", "Stribeck"]

"""Dry friction in a simulation: joints that slide, stop and are held."""

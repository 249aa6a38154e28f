"""Derivatives of the dynamics by recursion: changes along a chain are summed once, inward."""

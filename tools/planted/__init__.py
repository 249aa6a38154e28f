"""Planted faults: small random mistakes, and which tests of a folder notice them."""

"""Traced scalars -> graph -> schedule. It knows nothing of robots."""

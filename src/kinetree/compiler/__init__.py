"""Traced scalars -> graph -> schedule. Has never heard of a robot."""

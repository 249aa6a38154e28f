"""Descriptions of robots: records that are faithful to their source, before any maths."""

"""Contacts with known ground, over any scalars."""

"""Robot files: read, written, converted, and loaded as robots."""

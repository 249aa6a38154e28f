"""The same quantities with the fewest operations: what kernels are traced from.

The textbook's link frames stand where the source puts them. Here every frame is moved onto its
joint's axis and turned so that constant rotations are sparse (frames.py), bodies are given by their
mass moments, those that only the parent feels are handed to it (regroup.py), and the recursions
work on 3-vectors at the frames' origins. The results are the textbook's.
"""

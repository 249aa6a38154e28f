"""The equations as the book writes them, over a Model: to read, and to check algorithms against.

Kinematics, the Newton-Euler recursion in four forms (screw, closed, link, space), M, C and g by
Jacobians, M and ddq by n + 1 calls of the recursion. `dynamics` imports from here, never the
other way round; `newton_euler.newton_euler` chooses the formulation.
"""

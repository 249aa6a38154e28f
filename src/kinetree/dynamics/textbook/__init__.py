"""The equations as the book writes them, over a Model: to read, and to check algorithms against.

Kinematics, the Newton-Euler recursion in four forms (screw, closed, link, space), M, C and g by
Jacobians, M and ddq by n + 1 calls of the recursion; `newton_euler.newton_euler` chooses the
formulation. Loops over links are written out here; kinematics, friction and springs are shared.
"""

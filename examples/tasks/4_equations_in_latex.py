"""M, C and g of a 3R arm in LaTeX."""

import kinetree as kt

equations = kt.symbolic(kt.robots.spatial_3r())
print("M =", equations.M.latex())
print("C =", equations.C.latex())
print("g =", equations.g.latex())

"""The equations of a robot in closed form: with your symbols, with its numbers, with both."""

import sympy

import kinetree as kt

# 1. A robot with symbols: two point masses at the ends of two links, gravity along -y.
L1, L2, m1, m2, g = sympy.symbols("L1 L2 m1 m2 g", positive=True)
robot = kt.convert.from_points(
    P=[(0, 0, 0), (L1, 0, 0), (L1 + L2, 0, 0)],
    C=[(L1, 0, 0), (L1 + L2, 0, 0)],
    k=[(0, 0, 1), (0, 0, 1)],
    m=[m1, m2],
    I_com=[[[0] * 3] * 3] * 2,
    gravity=(0, -g, 0),
    name="2R",
)
s = kt.symbolic(robot)
print(s)
for quantity in (s.M, s.C, s.g, s.K, s.U):
    print(quantity.text())
print("\nfor a paper: M =", s.M.latex())

# 2. They are SymPy objects: Lagrange's equations give the same joint forces.
L = s.K - s.U
for i, (q, dq) in enumerate(zip(s.q, s.dq, strict=True)):
    p = L.diff(dq)
    rate = sum(p.diff(a) * b + p.diff(b) * c for a, b, c in zip(s.q, s.dq, s.ddq, strict=True))
    print(
        f"Lagrange less Newton-Euler, joint {i + 1}:", sympy.simplify(rate - L.diff(q) - s.tau[i])
    )

# 3. A robot with numbers: decimals become fractions, right angles exact; angles stay symbols.
puma = kt.symbolic(kt.robots.puma_560())
print("\nPuma 560, gravity at joint 2:", puma.g[1])
print("the same with four digits:", puma.g.text(digits=4).splitlines()[0])

# 4. Symbols in place of a robot's numbers, and numbers back again.
arm = kt.symbolic(kt.robots.spatial_3r(), parameters="inertial")
print("\nspatial 3R:", arm.M.text().splitlines()[-1])
print("with its own numbers:", arm.evaluate("M", q=(0.1, 0.2, 0.3))[2, 2])
print("with another mass:", arm.evaluate("M", q=(0.1, 0.2, 0.3), values={"m3": 8})[2, 2])

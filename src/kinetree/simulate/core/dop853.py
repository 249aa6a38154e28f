"""The Runge-Kutta method DOP853: one step of order 8 for many rollouts at once.

The coefficients and the two error estimates, of orders 5 and 3, are from Hairer, Norsett and
Wanner, Solving Ordinary Differential Equations I, sections II.5 and II.6 (Dormand and Prince; the
dense output of order 7 is theirs too). Rows of the tables are {column: number}; entries that are
not listed are zero. The tests compare them with those of SciPy.

Every rollout has its own time and step length. Arrays have one row for each rollout: t and h (B,),
states and rates (B, x).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array

STAGES = 12  # and one more for the next step, and three for the dense output

# fmt: off
# times at which the rate is evaluated, as parts of the step
C = (0.0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726,
     0.3333333333333333, 0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0,
     1.0, 0.1, 0.2, 0.7777777777777778)

# weights of the rates in the states of the stages; the last three rows serve the dense output
A: tuple[dict[int, float], ...] = (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {0: 0.03709200011850479, 3: 0.17038392571223998, 4: 0.10726203044637328,
     5: -0.015319437748624402, 6: 0.008273789163814023},
    {0: 0.6241109587160757, 3: -3.3608926294469414, 4: -0.868219346841726, 5: 27.59209969944671,
     6: 20.154067550477894, 7: -43.48988418106996},
    {0: 0.47766253643826434, 3: -2.4881146199716677, 4: -0.590290826836843, 5: 21.230051448181193,
     6: 15.279233632882423, 7: -33.28821096898486, 8: -0.020331201708508627},
    {0: -0.9371424300859873, 3: 5.186372428844064, 4: 1.0914373489967295, 5: -8.149787010746927,
     6: -18.52006565999696, 7: 22.739487099350505, 8: 2.4936055526796523, 9: -3.0467644718982196},
    {0: 2.273310147516538, 3: -10.53449546673725, 4: -2.0008720582248625, 5: -17.9589318631188,
     6: 27.94888452941996, 7: -2.8589982771350235, 8: -8.87285693353063, 9: 12.360567175794303,
     10: 0.6433927460157636},
    {0: 0.054293734116568765, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585,
     8: 0.3111643669578199, 9: -0.1521609496625161, 10: 0.20136540080403034,
     11: 0.04471061572777259},
    {0: 0.056167502283047954, 6: 0.25350021021662483, 7: -0.2462390374708025,
     8: -0.12419142326381637, 9: 0.15329179827876568, 10: 0.00820105229563469,
     11: 0.007567897660545699, 12: -0.008298},
    {0: 0.03183464816350214, 5: 0.028300909672366776, 6: 0.053541988307438566,
     7: -0.05492374857139099, 10: -0.00010834732869724932, 11: 0.0003825710908356584,
     12: -0.00034046500868740456, 13: 0.1413124436746325},
    {0: -0.42889630158379194, 5: -4.697621415361164, 6: 7.683421196062599, 7: 4.06898981839711,
     8: 0.3567271874552811, 12: -0.0013990241651590145, 13: 2.9475147891527724,
     14: -9.15095847217987},
)

# weights of the rates in the end of the step
B = {0: 0.054293734116568765, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585,
    8: 0.3111643669578199, 9: -0.1521609496625161, 10: 0.20136540080403034, 11: 0.04471061572777259}

# weights in its difference from a result of order 5
E5 = {0: 0.01312004499419488, 5: -1.2251564463762044, 6: -0.4957589496572502,
    7: 1.6643771824549864, 8: -0.35032884874997366, 9: 0.3341791187130175, 10: 0.08192320648511571,
    11: -0.022355307863886294}

# weights in its difference from a result of order 3
E3 = {0: -0.18980075407240762, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585,
    8: -0.4226823213237919, 9: -0.1521609496625161, 10: 0.20136540080403034,
    11: 0.02265179219836082}

# weights in the last four coefficients of the polynomial over a step
D: tuple[dict[int, float], ...] = (
    {0: -8.428938276109013, 5: 0.5667149535193777, 6: -3.0689499459498917, 7: 2.38466765651207,
     8: 2.117034582445028, 9: -0.871391583777973, 10: 2.2404374302607883, 11: 0.6315787787694688,
     12: -0.08899033645133331, 13: 18.148505520854727, 14: -9.194632392478356,
     15: -4.436036387594894},
    {0: 10.427508642579134, 5: 242.28349177525817, 6: 165.20045171727028, 7: -374.5467547226902,
     8: -22.113666853125306, 9: 7.733432668472264, 10: -30.674084731089398, 11: -9.332130526430229,
     12: 15.697238121770845, 13: -31.139403219565178, 14: -9.35292435884448, 15: 35.81684148639408},
    {0: 19.985053242002433, 5: -387.0373087493518, 6: -189.17813819516758, 7: 527.8081592054236,
     8: -11.57390253995963, 9: 6.8812326946963, 10: -1.0006050966910838, 11: 0.7777137798053443,
     12: -2.778205752353508, 13: -60.19669523126412, 14: 84.32040550667716, 15: 11.99229113618279},
    {0: -25.69393346270375, 5: -154.18974869023643, 6: -231.5293791760455, 7: 357.6391179106141,
     8: 93.40532418362432, 9: -37.45832313645163, 10: 104.0996495089623, 11: 29.8402934266605,
     12: -43.53345659001114, 13: 96.32455395918828, 14: -39.17726167561544,
     15: -149.72683625798564},
)
# fmt: on

# (t, x, ends) -> dx/dt; `ends`: t is the end of a step, and not the beginning of one
Slope = Callable[[Array, Array, bool], Array]
Weights = tuple[Array, Array]
ORDER = 8
RATES = STAGES + 4
SAFETY, SHRINK, GROW = 0.9, 0.333, 6.0  # of the next step's length, as in Hairer's program
LARGEST = 1e6  # of which a root is taken: a larger defect shortens the step by the most allowed
ROOT_ITERATIONS = 8  # of Newton's method: from 1 to LARGEST, the last ones change nothing


def _as_arrays(weights: Mapping[int, float]) -> Weights:
    """The numbers of the rates that have weights, (w,), and the weights, (w, 1, 1)."""
    return np.array(list(weights), int), np.array(list(weights.values()))[:, None, None]


STATES = [_as_arrays(weights) for weights in A]
END, FIFTH, THIRD = _as_arrays(B), _as_arrays(E5), _as_arrays(E3)
BETWEEN = [_as_arrays(weights) for weights in D]


def total(x: Array) -> Array:
    """The sums over the last axis, from its first number on: NumPy's depend on the shape."""
    return np.add.accumulate(x, -1)[..., -1]


def root(x: Array, order: int) -> Array:
    """The root of order 3, 4, 7 or 8 of numbers; for 3 and 7, of those from 1 to LARGEST.

    NumPy's power differs between processors.
    """
    y = np.sqrt(np.sqrt(x))
    y = np.sqrt(y) if order > 4 else y
    if order in (4, 8):
        return y
    x = np.minimum(x, LARGEST)
    y = np.minimum(y, LARGEST)
    for _ in range(ROOT_ITERATIONS):
        power = y
        for _ in range(order - 2):
            power = power * y
        y = y - (power * y - x) / (order * power)
    return y


@dataclass(frozen=True, eq=False)
class RungeKuttaStep:
    """A step from x to `end`, and its rates (RATES, B, x), number STAGES at its end.

    No rate is evaluated after `until`, (B,), although t + h may lie there by rounding: forces may
    jump at that time.
    """

    t: Array
    h: Array
    x: Array
    end: Array
    rates: Array
    until: Array

    def of(self, rows: Array) -> "RungeKuttaStep":
        """The step of some of its rollouts."""
        t, h, x, end, until = (a[rows] for a in (self.t, self.h, self.x, self.end, self.until))
        return RungeKuttaStep(t, h, x, end, self.rates[:, rows], until)

    @property
    def evaluated(self) -> Array:
        """The rates at the stages and at the end, (STAGES + 1, B, x)."""
        return self.rates[: STAGES + 1]

    def weighed(self, rows: Array, off: Array) -> Array:
        """Differences of rates, (K, x), as they are (compare radau.py)."""
        return off

    def times(self, rows: Array, share: Array) -> Array:
        """The times at shares from 0 to 1 of the step of some rollouts."""
        return np.minimum(self.t[rows] + share * self.h[rows], self.until[rows])


def take_step(
    slope: Slope, t: Array, h: Array, x: Array, k: Array, until: Array | None = None
) -> RungeKuttaStep:
    """Take a step of length h from (t, x) with rate k there."""
    until = np.full(len(t), np.inf) if until is None else until
    rates = np.empty((RATES, *k.shape), k.dtype)  # the last three are for `dense_output`
    rates[0] = k
    column = h[:, None]
    for i in range(1, STAGES):
        at = np.minimum(t + C[i] * h, until)
        rates[i] = slope(at, x + column * _weighted(STATES[i], rates), C[i] == 1)
    end = x + column * _weighted(END, rates)
    rates[STAGES] = slope(np.minimum(t + h, until), end, True)
    return RungeKuttaStep(t, h, x, end, rates, until)


def _weighted(weights: Weights, rates: Array) -> Array:
    """A weighted sum of rates; its rounding does not depend on the number of rollouts."""
    index, weight = weights
    return np.add.reduce(weight * rates[index])


def error_ratio(step: RungeKuttaStep, rtol: float, atol: float) -> Array:
    """Error of the step divided by the error allowed, (B,): up to 1 the step is accepted."""
    scale = atol + rtol * np.maximum(abs(step.x), abs(step.end))
    fifth, third = (_weighted(E, step.rates) / scale for E in (FIFTH, THIRD))
    five, three = total(fifth**2), total(third**2)
    below = np.sqrt((five + 0.01 * three) * step.x.shape[-1])
    return np.abs(step.h) * five / np.where(below > 0, below, 1.0)


def stiffness(step: RungeKuttaStep) -> Array:
    """Length of the step times the size of the slope of the rate, (B,), seen at its end."""
    rates = step.rates
    before = step.x + step.h[:, None] * _weighted(STATES[STAGES - 1], rates)
    change, way = (total(x**2) for x in (rates[STAGES] - rates[STAGES - 1], step.end - before))
    return step.h * np.sqrt(change / np.where(way > 0, way, np.inf))


def step_factor(ratio: Array) -> Array:
    """Length of the next step divided by that of a step with this error ratio."""
    with np.errstate(divide="ignore"):
        return np.clip(SAFETY / root(ratio, ORDER), SHRINK, GROW)


class DOP853:
    """The method as `Integration` calls it; rows: numbers of the rollouts."""

    defect_order = 7

    def __init__(self, slope: Callable[[Array], Slope], rtol: float, atol: float) -> None:
        self.slope, self.rtol, self.atol = slope, rtol, atol

    def take_step(
        self, rows: Array, t: Array, h: Array, x: Array, k: Array, until: Array
    ) -> RungeKuttaStep:
        """Take a step of length h from (t, x) with rate k there."""
        return take_step(self.slope(rows), t, h, x, k, until)

    def error_ratio(self, step: RungeKuttaStep) -> Array:
        """Error of the step divided by the error allowed, (B,)."""
        return error_ratio(step, self.rtol, self.atol)

    def step_factor(self, ratio: Array) -> Array:
        """Length of the next step divided by that of a step with this error ratio."""
        return step_factor(ratio)

    def polynomial(self, rows: Array, step: RungeKuttaStep) -> "DenseOutput":
        """The polynomial over a step."""
        return dense_output(self.slope(rows), step)


def first_length(slope: Slope, t: Array, x: Array, k: Array, rtol: float, atol: float) -> Array:
    """Length of the first step: from the size of the rate, and its change over an Euler step."""
    scale = atol + rtol * abs(x)

    def norm(v: Array) -> Array:
        return np.sqrt(((v / scale) ** 2).mean(-1))

    d0, d1 = norm(x), norm(k)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    small = np.where(tiny, 1e-6, 0.01 * d0 / np.where(tiny, 1.0, d1))
    d2 = norm(slope(t + small, x + small[:, None] * k, True) - k) / small
    largest = np.maximum(d1, d2)
    steady = largest <= 1e-15
    next_to = (0.01 / np.where(steady, 1.0, largest)) ** (1 / ORDER)
    return np.minimum(100 * small, np.where(steady, np.maximum(1e-6, small * 1e-3), next_to))


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """The polynomial of degree 7 over a step: seven coefficients (B, x)."""

    step: RungeKuttaStep
    parts: list[Array]

    def at(self, rows: Array, share: Array) -> Array:
        """States of some rollouts, by row, at a share from 0 to 1 of the step; (K,) -> (K, x)."""
        y = np.zeros((len(rows), self.step.x.shape[-1]))
        for i, part in enumerate(reversed(self.parts)):
            y = (y + part[rows]) * (share if i % 2 == 0 else 1 - share)[:, None]
        return y + self.step.x[rows]

    def moving(self, rows: Array, share: Array) -> tuple[Array, Array]:
        """States as in `at`, and their time derivatives, both (K, x)."""
        y = np.zeros((len(rows), self.step.x.shape[-1]))
        slope = np.zeros_like(y)
        up, down = share[:, None], 1 - share[:, None]
        for i, part in enumerate(reversed(self.parts)):
            y += part[rows]
            if i % 2 == 0:
                slope *= up
                slope += y
                y *= up
            else:
                slope *= down
                slope -= y
                y *= down
        return y + self.step.x[rows], slope / self.step.h[rows, None]


def dense_output(slope: Slope, step: RungeKuttaStep) -> DenseOutput:
    """The polynomial over a step; it needs three more rates, which are written into the step."""
    rates = step.rates
    column = step.h[:, None]
    for i in range(STAGES + 1, STAGES + 4):
        state = step.x + column * _weighted(STATES[i], rates)
        rates[i] = slope(np.minimum(step.t + C[i] * step.h, step.until), state, False)
    move = step.end - step.x
    parts = [
        move,
        column * rates[0] - move,
        2 * move - column * (rates[STAGES] + rates[0]),
        *(column * _weighted(row, rates) for row in BETWEEN),
    ]
    return DenseOutput(step, parts)

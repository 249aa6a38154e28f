"""Equations: the samples of a recording as equations that are linear in all unknowns but shapes.

With the shapes of friction laws, and with the directions of loads where there is load friction,
joint forces are W x. The tangent has the derivatives of joint forces by the shapes: with it the
equations are linear in shapes as well, close to given values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.identify.base import Base, separated
from kinetree.identify.filtering import check_cutoff, low_pass
from kinetree.identify.laws import Law, curve, slopes
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns, load_factor


@dataclass(frozen=True, eq=False)
class Equations:
    """Joint forces of a recording, with and without the columns that depend on shapes.

    Args:
        sought: the unknowns.
        plain: columns without those of laws with shapes, (T, n, p).
        y: joint forces less their known part, (T, n); with load friction less known friction only.
        loaded: known joint forces that cause load friction, (T, n); zero if there is none.
        dq: joint rates, (T, n).
        dt: time step, s.
        cutoff: of the low-pass of both sides, Hz; None: not filtered.
        step: samples from one row to the next.
        signs: 1 where the load drives a joint, -1 where it brakes it, else 0, (T, n).
    """

    sought: Unknowns
    plain: Array
    y: Array
    loaded: Array
    dq: Array
    dt: float
    cutoff: float | None
    step: int
    signs: Array

    @property
    def has_load(self) -> bool:
        """Return True if there is load friction, described or sought."""
        return bool(self.sought.load.any()) or any(x.kind == "load" for x in self.sought.laws)

    def soft(self, x: Array) -> Array:
        """Rows of samples x, (T, ...): all, or low-passed ones with `step` samples in between."""
        return x if self.cutoff is None else low_pass(x, self.dt, self.cutoff)[:: self.step]

    def at(self, shapes: Array) -> "Equations":
        """The same equations with columns at other shapes.

        Args:
            shapes: values, shape (s,), each in its unit.
        """
        return replace(self, sought=self.sought.at(shapes))

    def rates(self, law: Law) -> Array:
        """Rates of the joint of a law, (T,)."""
        return law.ratio * self.dq[:, law.dof]

    def sides(self, columns: Sequence[int], *, bent: bool = True) -> tuple[Array, Array]:
        """W, (rows, n, r), of some columns, and y, (rows, n).

        Args:
            columns: indices of unknowns.
            bent: whether columns are those at the shapes; False: the plain ones.
        """
        sought, columns = self.sought, list(columns)
        W = (sought.bent(self.plain, self.dq) if bent else self.plain)[..., columns]
        if not self.has_load:
            return self.soft(W), self.soft(self.y)
        factor = load_factor(sought.load, self.signs)
        own = sought.loading[columns]
        W = np.where(own, factor[..., None], 1) * W
        return self.soft(W), self.soft(self.y - factor * self.loaded)

    def load(self, columns: Sequence[int], beta: Array) -> Array:
        """Joint forces without friction, (T, n), of values of some unknowns."""
        own = self.sought.loading[list(columns)]
        return self.plain[..., np.asarray(columns)[own]] @ beta[own] + self.loaded

    def turned(self, columns: Sequence[int], beta: Array) -> "Equations":
        """The same equations with the directions of the loads of these values."""
        if not self.has_load:
            return self
        return replace(self, signs=np.sign(self.load(columns, beta) * self.dq))

    def curves(self) -> list[Array]:
        """Column of each law that has a size, (rows,), at its degree of freedom."""
        return [
            self.soft(law.ratio * curve(law, self.rates(law), self.own(k)))
            for k, law in enumerate(self.sought.laws)
            if law.size is not None
        ]

    def own(self, k: int) -> Array:
        """Shapes of the k-th law."""
        return self.sought.shapes[self.sought.places[k] - self.sought.p]

    def tangent(self, sizes: Sequence[float], load: Array) -> Array:
        """Derivatives of joint forces by the shapes, (rows, n, s).

        Args:
            sizes: factor of the curve of each law; not used for load friction.
            load: joint forces without friction, (T, n).
        """
        found = np.zeros((*self.soft(self.y).shape, len(self.sought.shapes)))
        for k, law in enumerate(self.sought.laws):
            at = self.sought.places[k] - self.sought.p
            if law.kind == "load":
                D = (self.signs[:, law.dof] * load[:, law.dof])[:, None]
            else:
                D = sizes[k] * law.ratio * slopes(law, self.rates(law), self.own(k))
            found[:, law.dof, at] = self.soft(D)
        return found

    def sizes(self, columns: Sequence[int], beta: Array) -> list[tuple[float, Array]]:
        """Factor of the curve of each law in values of some unknowns, and its derivative by them.

        NaN if the recording combines a part of it with other unknowns.
        """
        names, columns = self.sought.names, list(columns)
        found: list[tuple[float, Array]] = []
        for law in self.sought.laws:
            parts = {law.size: 1.0, f"coulomb[{law.joint}]": -1.0}
            wanted = {None: 0, "stribeck": 2, "sigmoid": 1}[None if law.size is None else law.kind]
            slope = np.zeros(len(columns))
            present = 0
            for name, sign in list(parts.items())[:wanted]:
                at = names.index(str(name))
                if at in columns:
                    slope[columns.index(at)] = sign
                    present += 1
            found.append((float(slope @ beta) if present == wanted else np.nan, slope))
        return found


def make_equations(sought: Unknowns, data: Recording, cutoff: float | None) -> Equations:
    """The equations of a recording.

    A low-passed signal has little information between samples 1 / (4 cutoff) apart.
    """
    state = data.q, data.dq, data.ddq
    plain, loaded = sought.plain(*state), np.zeros(data.tau.shape)
    plain[..., sought.at_rest(data.q)] = 0
    step = 1
    if cutoff is not None:
        check_cutoff(cutoff, data.dt)
        step = max(1, int(0.25 / (cutoff * data.dt) * (1 + 1e-9)))  # 3.9999999999 counts as 4
    found = Equations(
        sought, plain, data.tau, loaded, data.dq, data.dt, cutoff, step, np.zeros(data.tau.shape)
    )
    if found.has_load:
        return replace(
            found, y=data.tau - sought.known_friction(*state), loaded=sought.known_load(*state)
        )
    return replace(found, y=data.tau - sought.known(*state))


def linear_equations(
    sought: Unknowns, data: Recording, kept: Sequence[int], beta: Array
) -> tuple[Array, Array]:
    """W, (T, n, r), and y, (T, n), of a recording: y = W beta, for shapes close to their values.

    Args:
        sought: the unknowns, at the shapes that were found.
        data: the recording.
        kept: indices of the unknowns, shapes last.
        beta: values of the unknowns of `kept`, (r,).
    """
    count = len(kept) - len(sought.shapes)
    linear, values = list(kept[:count]), beta[:count]
    equations = make_equations(sought, data, None).turned(linear, values)
    W, y = equations.sides(linear)
    if not sought.laws:
        return W, y
    sizes = [x for x, _ in equations.sizes(linear, values)]
    D = equations.tangent(sizes, equations.load(linear, values))
    return np.concatenate([W, D], axis=-1), y + D @ sought.shapes


def separated_with_shapes(whole: Base, W: Array, sought: Unknowns) -> Base:
    """The combinations that a recording separates, and every shape by itself.

    W, (T, n, r), is the recording's regressor of the base `whole`.
    """
    base = separated(whole, W, sought)
    at = np.arange(sought.p, len(sought.names))
    rows = np.zeros((len(at), len(sought.names)))
    rows[np.arange(len(at)), at] = 1
    return Base(base.names, (*base.kept, *at.tolist()), np.vstack([base.K, rows]))

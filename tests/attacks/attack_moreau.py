"""Dry friction by time stepping in C: an oracle for the friction of kinetree.

Moreau's scheme: in a step of length h the new rates v' minimise the convex function
(v' - v)^T M (v' - v) / 2 - h f^T v' + h sum of F |v'|, which is M (v' - v) = h f + h (friction),
friction against v' where a joint moves and anything up to F where it does not. Gauss-Seidel finds
the minimum joint by joint: a joint whose force without friction is below F gets exactly v' = 0.
There are no modes and no event times. A step in which a rate changes its sign is repeated in many
small ones, which keeps the error small; that error is estimated with three step lengths.
"""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from attack_case import Skip

SOURCE = r"""
#include <math.h>
#include <string.h>
typedef struct {
    int family, n;
    double m[3], l[3], g, up[3], down[3], b_up[3], b_down[3], K[9], a0[3], a1[3], w[3], p[3];
    double pulse[3], on[3], off[3];
} Case;

static void mass(const Case *c, const double *q, double *M) {
    const double *m = c->m, *l = c->l;
    int n = c->n;
    if (c->family == 0)  /* sliders, each on the one before */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                M[i * n + j] = 0;
                for (int k = i > j ? i : j; k < n; k++) M[i * n + j] += m[k];
            }
    else if (c->family == 1)  /* sliders side by side */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) M[i * n + j] = i == j ? m[i] : 0;
    else if (c->family == 2) {  /* double pendulum */
        double x = l[0] * l[1] * cos(q[1]);
        M[0] = m[0] * l[0] * l[0] + m[1] * (l[0] * l[0] + l[1] * l[1] + 2 * x);
        M[1] = M[2] = m[1] * (l[1] * l[1] + x);
        M[3] = m[1] * l[1] * l[1];
    } else {  /* cart and pole */
        M[0] = m[0] + m[1];
        M[1] = M[2] = -m[1] * l[1] * cos(q[1]);
        M[3] = m[1] * l[1] * l[1];
    }
}

static void force(const Case *c, double t, const double *q, const double *v, double *f) {
    const double *m = c->m, *l = c->l;
    int n = c->n;
    for (int i = 0; i < n; i++) {
        f[i] = c->a0[i] + c->a1[i] * sin(c->w[i] * t + c->p[i]);
        if (t > c->on[i] && t <= c->off[i]) f[i] += c->pulse[i];
        for (int j = 0; j < n; j++) f[i] -= c->K[i * n + j] * q[j];
        f[i] -= (v[i] > 0 ? c->b_up[i] : c->b_down[i]) * v[i];
    }
    if (c->family < 2) {
        for (int i = 0; i < n; i++)
            for (int k = i; k < n; k++)
                if (c->family == 0 || k == i) f[i] += 0.3 * c->g * m[k];
    } else if (c->family == 2) {
        double s = m[1] * l[0] * l[1] * sin(q[1]), g2 = m[1] * c->g * l[1] * sin(q[0] + q[1]);
        f[0] += s * (2 * v[0] * v[1] + v[1] * v[1]) - (m[0] + m[1]) * c->g * l[0] * sin(q[0]) - g2;
        f[1] += -s * v[0] * v[0] - g2;
    } else {
        double s = m[1] * l[1] * sin(q[1]);
        f[0] += -s * v[1] * v[1];
        f[1] += -s * c->g;
    }
}

static void step(const Case *c, double t, double h, double *q, double *v, double *a) {
    int n = c->n;
    double M[9], f[3], mid[3], guess[3], new[3], b[3];
    for (int i = 0; i < n; i++) mid[i] = q[i] + h / 2 * v[i], guess[i] = v[i] + h / 2 * a[i];
    mass(c, mid, M);
    force(c, t + h / 2, mid, guess, f);
    for (int i = 0; i < n; i++) {
        new[i] = v[i] + h * a[i];
        b[i] = h * f[i];
        for (int j = 0; j < n; j++) b[i] += M[i * n + j] * v[j];
    }
    for (int k = 0; k < 100000; k++) {
        double change = 0, size = 1e-3;
        for (int i = 0; i < n; i++) {
            double s = b[i];
            for (int j = 0; j < n; j++)
                if (j != i) s -= M[i * n + j] * new[j];
            double up = h * c->up[i], down = h * c->down[i];
            double x = (s > up ? s - up : s < -down ? s + down : 0) / M[i * n + i];
            change = fmax(change, fabs(x - new[i]));
            size = fmax(size, fabs(x));
            new[i] = x;
        }
        if (change <= 1e-15 * size) break;
    }
    for (int i = 0; i < n; i++) {
        a[i] = (new[i] - v[i]) / h;
        q[i] += h / 2 * (v[i] + new[i]);
        v[i] = new[i];
    }
}

/* states, (samples + 1, 2 n); returns the number of steps that were repeated in smaller ones */
int run(const Case *c, double *q, double *v, double end, int steps, int samples, int inner,
        double *out) {
    int n = c->n, turns = 0;
    double a[3] = {0, 0, 0}, h = end / steps;
    memcpy(out, q, n * sizeof(double));
    memcpy(out + n, v, n * sizeof(double));
    for (int k = 0; k < steps; k++) {
        double q1[3], v1[3], a1[3];
        memcpy(q1, q, sizeof q1), memcpy(v1, v, sizeof v1), memcpy(a1, a, sizeof a1);
        step(c, k * h, h, q1, v1, a1);
        int turned = 0;
        for (int i = 0; i < n; i++) turned |= (v1[i] > 0) - (v1[i] < 0) != (v[i] > 0) - (v[i] < 0);
        if (turned) {
            turns++;
            for (int j = 0; j < inner; j++) step(c, k * h + j * h / inner, h / inner, q, v, a);
        } else
            memcpy(q, q1, sizeof q1), memcpy(v, v1, sizeof v1), memcpy(a, a1, sizeof a1);
        if ((k + 1) % (steps / samples) == 0) {
            out += 2 * n;
            memcpy(out, q, n * sizeof(double));
            memcpy(out + n, v, n * sizeof(double));
        }
    }
    return turns;
}
"""

VECTORS = ("up", "down", "b_up", "b_down")
FAMILIES = {
    "rail": (0, 1),
    "two sliders": (0, 2),
    "three sliders": (0, 3),
    "side by side": (1, 2),
    "double pendulum": (2, 2),
    "cart-pole": (3, 2),
}


class CaseData(ctypes.Structure):
    """The struct Case of the C code."""

    _fields_ = (
        ("family", ctypes.c_int),
        ("n", ctypes.c_int),
        ("m", ctypes.c_double * 3),
        ("l", ctypes.c_double * 3),
        ("g", ctypes.c_double),
        *((name, ctypes.c_double * 3) for name in VECTORS),
        ("K", ctypes.c_double * 9),
        *((name, ctypes.c_double * 3) for name in ("a0", "a1", "w", "p", "pulse", "on", "off")),
    )


@cache
def library() -> Any:
    """The compiled C code; a case is skipped where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise Skip("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="kinetree_moreau_"))
    (folder / "moreau.c").write_text(SOURCE)
    command = [
        compiler,
        "-O2",
        "-std=c99",
        "-shared",
        "-fPIC",
        "moreau.c",
        "-o",
        "moreau.so",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    loaded = ctypes.CDLL(str(folder / "moreau.so"))
    shutil.rmtree(folder, ignore_errors=True)
    return loaded


def time_steps(family: str, data: dict[str, Any], end: float, samples: int, steps: int) -> Any:
    """States, (samples + 1, 2 n), of the scheme with a number of steps."""
    number, n = FAMILIES[family]
    case = CaseData(family=number, n=n, g=float(data["g"]))
    for name in ("m", "l", *VECTORS, "K", "a0", "a1", "w", "p", "pulse", "on", "off"):
        values = np.ravel(np.asarray(data[name], float)).tolist()
        getattr(case, name)[: len(values)] = values
    q, v = (ctypes.c_double * 3)(*data["q0"]), (ctypes.c_double * 3)(*data["v0"])
    out = np.zeros((samples + 1, 2 * n))
    pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    library().run(ctypes.byref(case), q, v, ctypes.c_double(end), steps, samples, 64, pointer)
    return out


def reference(family: str, data: dict[str, Any], end: float, samples: int, steps: int) -> Any:
    """States of the finest of three runs, and the error of the scheme up to each sample.

    The numbers of steps have no common factor: a joint that turns close to a multiple of one step
    is seen late by another.
    """
    counts = [samples * (round(share * steps / samples) | 1) for share in (1.0, 0.79, 0.61)]
    first, *others = (time_steps(family, data, end, samples, k) for k in counts)
    error = np.max([np.abs(first - x).max(1) for x in others], axis=0)
    return first, np.maximum.accumulate(error)

/* Z: entries of (dx, du). Matrices are stored row by row. */
#define NAME_Z (NAME_D + NAME_M)

/* what the backward pass tells about a plan */
typedef struct {
    NUMBER cost;
    NUMBER gaps;       /* sum of the sizes of all gaps */
    NUMBER expected;   /* decrease of the cost */
    NUMBER multiplier; /* the largest one of a gap */
    NUMBER scale;      /* the largest diagonal entry of Q_uu, by which mu is measured */
} NAME_sums;

static bool NAME_finite(const NUMBER *values, int count)
{
    bool finite = true;
    for (int i = 0; i < count; ++i) {
        finite = finite && ((values[i] - values[i]) == 0.0);
    }
    return finite;
}

static NUMBER NAME_largest(const NUMBER *values, int count, NUMBER least)
{
    NUMBER size = least;
    for (int i = 0; i < count; ++i) {
        size = (fabs(values[i]) > size) ? fabs(values[i]) : size;
    }
    return size;
}

static void NAME_copy(NUMBER *to, const NUMBER *from, int count)
{
    for (int i = 0; i < count; ++i) {
        to[i] = from[i];
    }
}

/* S among the free forces as L D L^T, ones for the others; false if a pivot is not positive */
static bool NAME_factor(const NUMBER *S, const bool *held, NUMBER *L, NUMBER *D)
{
    bool sound = true;
    for (int j = 0; j < NAME_M; ++j) {
        for (int i = j; i < NAME_M; ++i) {
            const NUMBER same = (i == j) ? 1.0 : 0.0;
            NUMBER entry = (held[i] || held[j]) ? same : S[(i * NAME_M) + j];
            for (int c = 0; c < j; ++c) {
                entry -= L[(i * NAME_M) + c] * (L[(j * NAME_M) + c] * D[c]);
            }
            if (i == j) {
                D[j] = entry;
                sound = sound && (entry > 0.0);
            } else {
                L[(i * NAME_M) + j] = entry / D[j];
            }
        }
    }
    return sound;
}

/* replaces X, a matrix of so many columns, by the solution of L D L^T Y = X */
static void NAME_solve(const NUMBER *L, const NUMBER *D, NUMBER *X, int columns)
{
    for (int c = 0; c < columns; ++c) {
        for (int i = 0; i < NAME_M; ++i) {
            for (int j = 0; j < i; ++j) {
                X[(i * columns) + c] -= L[(i * NAME_M) + j] * X[(j * columns) + c];
            }
        }
        for (int i = NAME_M - 1; i >= 0; --i) {
            X[(i * columns) + c] /= D[i];
            for (int j = i + 1; j < NAME_M; ++j) {
                X[(i * columns) + c] -= L[(j * NAME_M) + i] * X[(j * columns) + c];
            }
        }
    }
}

/* entry i of g + S k */
static NUMBER NAME_slope(const NUMBER *S, const NUMBER *g, const NUMBER *k, int i)
{
    NUMBER slope = g[i];
    for (int j = 0; j < NAME_M; ++j) {
        slope += S[(i * NAME_M) + j] * k[j];
    }
    return slope;
}
#if NAME_LIMITED

static NUMBER NAME_clip(NUMBER x, NUMBER low, NUMBER high)
{
    const NUMBER raised = (x < low) ? low : x;
    return (raised > high) ? high : raised;
}

/* how much the gradient pulls force i from its limit; negative: it holds the force there */
static NUMBER NAME_pull(const NUMBER *S, const NUMBER *g, const NUMBER *k, const NUMBER *low, int i)
{
    const NUMBER slope = NAME_slope(S, g, k, i);
    return (k[i] <= low[i]) ? -slope : slope;
}

/* If k is outside: the least k of g k + k S k / 2 within limits, and which entries these hold. By
 * active sets: Newton's step among the free forces, as far as the first limit, which then holds its
 * force; after a whole step the force is released that the gradient pulls inside the most. */
static bool NAME_within(const NAME_plan *plan, int t, const NUMBER *S, const NUMBER *g, NUMBER *k,
    bool *held, NUMBER *L, NUMBER *D)
{
    NUMBER low[NAME_M];
    NUMBER high[NAME_M];
    NUMBER step[NAME_M];
    bool outside = false;
    for (int i = 0; i < NAME_M; ++i) {
        low[i] = plan->low[i] - plan->u[t][i];
        high[i] = plan->high[i] - plan->u[t][i];
        outside = outside || (k[i] < low[i]) || (k[i] > high[i]);
        k[i] = NAME_clip(k[i], low[i], high[i]);
    }
    for (int i = 0; i < NAME_M; ++i) {
        held[i] = ((k[i] <= low[i]) || (k[i] >= high[i])) && (NAME_pull(S, g, k, low, i) < 0.0);
    }
    bool again = outside;
    for (int turn = 0; (turn < (ROUNDS * NAME_M)) && again; ++turn) {
        for (int i = 0; i < NAME_M; ++i) {
            step[i] = held[i] ? 0.0 : -NAME_slope(S, g, k, i);
        }
        (void)NAME_factor(S, held, L, D);
        NAME_solve(L, D, step, 1);
        NUMBER length = 1.0;
        int chosen = -1;
        for (int i = 0; i < NAME_M; ++i) {
            const NUMBER room = ((step[i] < 0.0) ? low[i] : high[i]) - k[i];
            if ((step[i] != 0.0) && ((room / step[i]) < length)) {
                length = room / step[i];
                chosen = i;
            }
        }
        for (int i = 0; i < NAME_M; ++i) {
            k[i] = NAME_clip(k[i] + (length * step[i]), low[i], high[i]);
        }
        if (chosen >= 0) {
            k[chosen] = (step[chosen] < 0.0) ? low[chosen] : high[chosen];
            held[chosen] = true;
        } else {
            NUMBER most = LEAST_PULL * NAME_largest(g, NAME_M, 0.0);
            for (int i = 0; i < NAME_M; ++i) {
                const NUMBER pull = NAME_pull(S, g, k, low, i);
                if (held[i] && (pull > most)) {
                    most = pull;
                    chosen = i;
                }
            }
            again = chosen >= 0;
            if (again) {
                held[chosen] = false;
            }
        }
    }
    return outside;
}
#endif

/* X = (K, k) of the forces that are not held; false if these have no least cost */
static bool NAME_gains(const NUMBER *Q, const NUMBER *g, const NUMBER *S, const bool *held,
    NUMBER *L, NUMBER *D, NUMBER *X)
{
    const bool sound = NAME_factor(S, held, L, D);
    for (int i = 0; i < NAME_M; ++i) {
        NUMBER *row = &X[i * (NAME_D + 1)];
        for (int j = 0; j < NAME_D; ++j) {
            row[j] = held[i] ? 0.0 : -Q[((NAME_D + i) * NAME_Z) + j];
        }
        row[NAME_D] = held[i] ? 0.0 : -g[NAME_D + i];
    }
    NAME_solve(L, D, X, NAME_D + 1);
    return sound;
}

/* K and k of all stages from the last to the first; false if a stage has no least cost */
static bool NAME_backward(NAME_plan *plan, NAME_sums *sums)
{
    NUMBER V[NAME_D * NAME_D];
    NUMBER v[NAME_D];
    NUMBER F[NAME_D * NAME_Z];
    NUMBER Q[NAME_Z * NAME_Z];
    NUMBER g[NAME_Z];
    NUMBER w[NAME_D];
    NUMBER S[NAME_M * NAME_M];
    NUMBER L[NAME_M * NAME_M];
    NUMBER D[NAME_M];
    NUMBER X[NAME_M * (NAME_D + 1)]; /* (K, k) */
    NUMBER k[NAME_M];
    bool held[NAME_M];
    NUMBER part;
    NAME_end(plan->x[NAME_N], plan->p[NAME_N], V, v, &sums->cost);
    sums->gaps = 0.0;
    sums->scale = 1e-12;
    sums->expected = 0.0;
    sums->multiplier = NAME_largest(v, NAME_D, 0.0);
    bool sound = true;
    for (int t = NAME_N - 1; t >= 0; --t) {
        NAME_stage(plan->x[t], plan->u[t], plan->p[t], plan->x[t + 1], F, Q, g, plan->gap[t], &part);
        sums->cost += part;
        for (int i = 0; i < NAME_D; ++i) {
            sums->gaps += fabs(plan->gap[t][i]);
        }
        if (!sound) {
            continue; /* the cost and the gaps are those of all stages */
        }
        /* w = v + V gap,  g += F^T w,  Q += F^T V F */
        for (int i = 0; i < NAME_D; ++i) {
            w[i] = v[i];
            for (int j = 0; j < NAME_D; ++j) {
                w[i] += V[(i * NAME_D) + j] * plan->gap[t][j];
            }
        }
        for (int a = 0; a < NAME_Z; ++a) {
            for (int i = 0; i < NAME_D; ++i) {
                g[a] += F[(i * NAME_Z) + a] * w[i];
            }
        }
        for (int b = 0; b < NAME_Z; ++b) {
            for (int i = 0; i < NAME_D; ++i) {
                w[i] = 0.0;
                for (int j = 0; j < NAME_D; ++j) {
                    w[i] += V[(i * NAME_D) + j] * F[(j * NAME_Z) + b];
                }
            }
            for (int a = 0; a <= b; ++a) {
                for (int i = 0; i < NAME_D; ++i) {
                    Q[(a * NAME_Z) + b] += F[(i * NAME_Z) + a] * w[i];
                }
                Q[(b * NAME_Z) + a] = Q[(a * NAME_Z) + b];
            }
        }
        for (int i = 0; i < NAME_M; ++i) {
            for (int j = 0; j < NAME_M; ++j) {
                S[(i * NAME_M) + j] = Q[((NAME_D + i) * NAME_Z) + NAME_D + j];
            }
            sums->scale = (S[i * (NAME_M + 1)] > sums->scale) ? S[i * (NAME_M + 1)] : sums->scale;
            S[i * (NAME_M + 1)] += plan->mu;
            held[i] = false;
        }
        sound = NAME_gains(Q, g, S, held, L, D, X);
        for (int i = 0; i < NAME_M; ++i) {
            k[i] = X[(i * (NAME_D + 1)) + NAME_D];
        }
#if NAME_LIMITED
        if (sound && NAME_within(plan, t, S, &g[NAME_D], k, held, L, D)) {
            sound = NAME_gains(Q, g, S, held, L, D, X);
        }
#endif
        sound = sound && NAME_finite(X, NAME_M * (NAME_D + 1)) && NAME_finite(k, NAME_M);
        if (!sound) {
            continue;
        }
        for (int i = 0; i < NAME_M; ++i) {
            const NUMBER slope = NAME_slope(S, &g[NAME_D], k, i);
            sums->expected -= (0.5 * k[i]) * (slope + g[NAME_D + i]);
            NAME_copy(plan->K[t][i], &X[i * (NAME_D + 1)], NAME_D);
        }
        NAME_copy(plan->k[t], k, NAME_M);
        /* V = Q_xx + Q_ux^T K,  v = g_x + Q_ux^T k */
        for (int i = 0; i < NAME_D; ++i) {
            v[i] = g[i];
            for (int a = 0; a < NAME_M; ++a) {
                v[i] += Q[((NAME_D + a) * NAME_Z) + i] * k[a];
            }
            for (int j = 0; j <= i; ++j) {
                NUMBER entry = Q[(i * NAME_Z) + j];
                for (int a = 0; a < NAME_M; ++a) {
                    entry += Q[((NAME_D + a) * NAME_Z) + i] * plan->K[t][a][j];
                }
                V[(i * NAME_D) + j] = entry;
                V[(j * NAME_D) + i] = entry;
            }
        }
    }
    sums->multiplier = NAME_largest(v, NAME_D, sums->multiplier);
    return sound && NAME_finite(v, NAME_D) && NAME_finite(&sums->expected, 1);
}

/* forces of step t at a state, for the length a of their change */
static void NAME_forces(const NAME_plan *plan, int t, const NUMBER *x, NUMBER a, NUMBER *u)
{
    NUMBER dx[NAME_D];
    NAME_between(plan->x[t], x, dx);
    for (int i = 0; i < NAME_M; ++i) {
        NUMBER force = plan->u[t][i] + (a * plan->k[t][i]);
        for (int j = 0; j < NAME_D; ++j) {
            force += plan->K[t][i][j] * dx[j];
        }
#if NAME_LIMITED
        force = NAME_clip(force, plan->low[i], plan->high[i]);
#endif
        u[i] = force;
    }
}

/* cost of the motion for the length a of the change of the forces; keep: it becomes the plan */
static NUMBER NAME_forward(NAME_plan *plan, NUMBER a, bool keep)
{
    NUMBER x[NAME_X];
    NUMBER next[NAME_X];
    NUMBER u[NAME_M];
    NUMBER shift[NAME_D];
    NUMBER cost = 0.0;
    NUMBER part;
    NAME_copy(x, plan->x[0], NAME_X);
    for (int t = 0; t < NAME_N; ++t) {
        NAME_forces(plan, t, x, a, u);
        for (int i = 0; i < NAME_D; ++i) {
            shift[i] = (a - 1.0) * plan->gap[t][i];
        }
        NAME_step(x, u, plan->p[t], shift, next, &part);
        cost += part;
        if (keep) {
            NAME_copy(plan->x[t], x, NAME_X);
            NAME_copy(plan->u[t], u, NAME_M);
        }
        NAME_copy(x, next, NAME_X);
    }
    if (keep) {
        NAME_copy(plan->x[NAME_N], x, NAME_X);
    }
    return cost + NAME_last(x, plan->p[NAME_N]);
}

void NAME_start(NAME_plan *plan, const NUMBER *x0, const NUMBER *u0)
{
    static const NUMBER numbers[ROWS][NAME_P] = {
NUMBERS
    };
#if NAME_LIMITED
    static const NUMBER low[NAME_M] = { LOW };
    static const NUMBER high[NAME_M] = { HIGH };
    NAME_copy(plan->low, low, NAME_M);
    NAME_copy(plan->high, high, NAME_M);
#endif
    for (int t = 0; t <= NAME_N; ++t) {
        const int row = (t == NAME_N) ? (ROWS - 1) : ((t < (ROWS - 1)) ? t : 0);
        NAME_copy(plan->p[t], numbers[row], NAME_P);
        plan->p[t][0] = (NUMBER)t * STEP;
        NAME_copy(plan->x[t], x0, NAME_X);
    }
    for (int t = 0; t < NAME_N; ++t) {
        for (int i = 0; i < NAME_M; ++i) {
            plan->u[t][i] = (u0 != NULL) ? u0[i] : 0.0;
            plan->k[t][i] = 0.0;
            for (int j = 0; j < NAME_D; ++j) {
                plan->K[t][i][j] = 0.0;
            }
        }
        for (int j = 0; j < NAME_D; ++j) {
            plan->gap[t][j] = 0.0;
        }
    }
    plan->mu = 0.0;
    plan->checked = 0.0;
    plan->tolerance = TOLERANCE;
    plan->length = 0.0;
    plan->expected = 0.0;
    plan->cost = NAME_forward(plan, 1.0, true);
}

int NAME_iterate(NAME_plan *plan, const NUMBER *x0)
{
    if (x0 != NULL) {
        if (!NAME_finite(x0, NAME_X)) {
            return NAME_BAD_STATE;
        }
        NAME_copy(plan->x[0], x0, NAME_X);
    }
#if NAME_LIMITED
    for (int t = 0; t < NAME_N; ++t) {
        for (int i = 0; i < NAME_M; ++i) {
            plan->u[t][i] = NAME_clip(plan->u[t][i], plan->low[i], plan->high[i]);
        }
    }
#endif
    NAME_sums sums;
    const bool solved = NAME_backward(plan, &sums);
    plan->cost = sums.cost;
    plan->expected = sums.expected;
    plan->length = 0.0;
    if (!NAME_finite(&sums.cost, 1)) {
        return NAME_BAD_COST;
    }
    const bool still = sums.gaps <= plan->tolerance;
    /* a sum of squares cannot fall by more than itself: rounding has taken over */
    const bool sound = solved && !(still && (sums.expected > (2.0 * (1.0 + sums.cost))));
    const bool closed = sound && still;
    const NUMBER small = plan->tolerance * (1.0 + fabs(sums.cost));
    const NUMBER first = FIRST_MU * sums.scale;
    const bool light = plan->mu <= first; /* else mu alone may make k small */
    const NUMBER enough = (plan->checked > 1.0) ? (HIDDEN * small) : small;
    const bool near = closed && (sums.expected <= enough);
    if (near && light) {
        return NAME_CONVERGED;
    }
    const bool ask = near && (plan->checked == 0.0);
    const NUMBER penalty = still ? 0.0 : ((MULTIPLIER * sums.multiplier) * sums.gaps);
    NUMBER best = sums.cost + penalty;
    NUMBER a = 1.0;
    for (int i = 0; (i < LENGTHS) && sound && !ask; ++i) {
        const NUMBER merit = NAME_forward(plan, a, false) + ((1.0 - a) * penalty);
        if (merit < best) {
            best = merit;
            plan->length = a;
        }
        a *= 0.5;
    }
    const NUMBER more = ((10.0 * plan->mu) > first) ? (10.0 * plan->mu) : first;
    const NUMBER less = ((0.1 * plan->mu) > (0.01 * first)) ? (0.1 * plan->mu) : 0.0;
    if (plan->length > 0.0) {
        plan->cost = NAME_forward(plan, plan->length, true);
        plan->checked = 0.0;
        plan->mu = (plan->length < SHORT) ? more : ((plan->length > LONG) ? less : plan->mu);
        return NAME_MOVED;
    }
    const bool hidden = closed && (sums.expected <= (HIDDEN * small)); /* by rounding */
    const bool check = hidden && (plan->checked == 0.0);
    plan->mu = check ? 0.0 : more;
    plan->checked = light ? 1.0 : (check ? 2.0 : plan->checked);
    if (hidden && light) {
        return NAME_CONVERGED;
    }
    const NUMBER last = hidden ? sums.scale : (LAST_MU * sums.scale);
    return (plan->mu > last) ? NAME_STALLED : NAME_AGAIN;
}

void NAME_shift(NAME_plan *plan)
{
    for (int t = 0; t < NAME_N; ++t) {
        NAME_copy(plan->x[t], plan->x[t + 1], NAME_X);
        if ((t + 1) < NAME_N) {
            NAME_copy(plan->u[t], plan->u[t + 1], NAME_M);
            for (int i = 0; i < NAME_M; ++i) {
                NAME_copy(plan->K[t][i], plan->K[t + 1][i], NAME_D);
            }
        }
    }
    plan->mu = 0.0;
    plan->checked = 0.0;
}

int NAME_control(const NAME_plan *plan, const NUMBER *x, NUMBER *u)
{
    const bool finite = NAME_finite(x, NAME_X);
    NAME_forces(plan, 0, finite ? x : plan->x[0], 0.0, u);
    return finite ? NAME_MOVED : NAME_BAD_STATE;
}

"""CUDA C++ of iLQR around the graphs of a problem; sizes are defined before this text."""

# Matrices have a column for each of x and u, and a last one: gap, v and g. A lane has one column
# (of large robots several), a warp of a problem its share of the rows. F, V are in shared memory,
# from where all lanes read the same number at a time. Forces find their limits by principal pivots
# (Judice and Pires 1994): a free force beyond a limit is held there, a held one whose slope leads
# away from its limit becomes free, all at once. Where that does not help, one at a time.
BACKWARD = """
#define KT_WIDE (KT_N + KT_M)
#define KT_COLUMNS (KT_WIDE + 1)
#define KT_GROUPS ((KT_WIDE + KT_WARP) / KT_WARP)
#define KT_ALL 0xffffffffu
#define KT_EACH(i, end) _Pragma("unroll") for (int i = 0; i < end; i++)

KT_FUNCTION real kt_clip(real x, real low, real high) {
    x = x < low ? low : x;
    return high < x ? high : x;
}

KT_FUNCTION real kt_larger(real a, real b) { return a < b ? b : a; }

// 1 / x to some 20 bits
KT_FUNCTION real kt_guess(real x) {
#if defined(__CUDACC__)
    real y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
#else
    return 1 / x;
#endif
}

// Exchange force j with its slope in s = X (dx, k, 1): a row of X is the slope of a held force or
// the value of a free one. Limits of held forces are in the last column; before, after: that of j.
// With 1 / pivot = guess (1 + more), most products do not wait for more.
KT_FUNCTION void kt_exchange(
    real (&X)[KT_GROUPS][KT_M], int j, real before, real after, bool &sound, int lane) {
    const int home = (KT_N + j) / KT_WARP, from = (KT_N + j) % KT_WARP;
    const real pivot = __shfl_sync(KT_ALL, X[home][j], from), guess = kt_guess(pivot);
    const real error = kt_fma(-pivot, guess, 1), more = kt_fma(error, error, error);
    const real inverse = kt_fma(guess, more, guess);
    real column[KT_M];
    sound &= pivot > 0;  // otherwise there is no minimum
    KT_EACH(i, KT_M)
        if (i != j) column[i] = __shfl_sync(KT_ALL, X[home][i], from);
    KT_EACH(g, KT_GROUPS) {
        const bool mine = g == home && lane == from, last = g * KT_WARP + lane >= KT_WIDE;
        const real y = mine ? -1 : X[g][j] - (last ? before : 0);
        KT_EACH(i, KT_M) {
            if (i == j) continue;
            const real z = column[i] * y * guess;
            X[g][i] = kt_fma(-z, more, (mine ? 0 : X[g][i]) - z);
        }
        X[g][j] = kt_fma(-y, inverse, last ? after : 0);
    }
}

// the rows of K and k; k, which is in value too, within limits. Lane i has the limits of force i.
KT_FUNCTION void kt_minimise(
    real (&X)[KT_GROUPS][KT_M], real low, real high, real *value, real *limit, int lane) {
    unsigned free = KT_ALL >> (32 - KT_M);
    int least = KT_M + 1, patience = 0;
    bool sound = true, is_free = true, at_high = false;
    real x = 0;
    KT_EACH(j, KT_M) kt_exchange(X, j, 0, 0, sound, lane);
#pragma unroll 1
    for (int round = 0;; round++) {
        if (lane == KT_WARP - 1) KT_EACH(i, KT_M) value[i] = X[KT_GROUPS - 1][i];
        __syncwarp();
        x = value[lane < KT_M ? lane : 0];
        const bool over = x > (is_free ? high : 0), under = x < (is_free ? low : 0);
        const bool wrong = is_free ? over || under : at_high ? over : under;
        unsigned flips = __ballot_sync(KT_ALL, lane < KT_M && wrong);
        if (!KT_LIMITED || !flips || round == KT_ROUNDS) break;
        patience = __popc(flips) < least ? 3 : patience - 1;
        least = __popc(flips) < least ? __popc(flips) : least;
        if (patience < 0) flips = 0x80000000u >> __clz(flips);
        if (flips >> lane & 1 && is_free) at_high = over, limit[lane] = over ? high : low;
        __syncwarp();
        KT_EACH(j, KT_M) {
            if (!(flips >> j & 1)) continue;
            const bool was_free = free >> j & 1;
            kt_exchange(X, j, was_free ? limit[j] : 0, was_free ? 0 : limit[j], sound, lane);
        }
        free ^= flips;
        is_free = free >> lane & 1;
    }
    __syncwarp();
    if (!sound) x = kt_bits(0x7ff8ull << 48);
    if (lane < KT_M) value[lane] = is_free ? kt_clip(x, low, high) : limit[lane];
    __syncwarp();
    KT_EACH(g, KT_GROUPS)
        KT_EACH(i, KT_M) {
            if (!(free >> i & 1)) X[g][i] = 0;
            if (g * KT_WARP + lane >= KT_WIDE) X[g][i] = value[i];
        }
}

KT_ENTRY(KT_THREADS, 1) kt_backward(
    long long count, int problems, int stages, const real *slopes, const real *ends,
    const real *numbers, const unsigned short *places, const unsigned short *end_places,
    const real *u, const real *lows, const real *highs, const real *mus, const int *status,
    const int *which, real *gains, real *changes, real *gaps, real *facts) {
    KT_SHARED(memory);
    const int b = blockIdx.x, me = threadIdx.x, lane = me % KT_WARP, part = me / KT_WARP;
    if (status[b]) return;
    real *tile = (real *)memory;
@POINTERS@
    const auto fetch = [&](int t) {
        const long long row = (long long)t * problems + b;
#pragma unroll 4
        for (int e = me; e < KT_S; e += KT_THREADS)
            kt_fetch<real>(raw + e, slopes + row * KT_S + e);
        if (me < KT_M) kt_fetch<real>(now + me, u + row * KT_M + me);
    };
    const auto column = [&](int g) {  // the last one in lanes beyond it
        const int c = g * KT_WARP + lane;
        return c < KT_WIDE ? c : KT_WIDE;
    };
    real *value = both + 2 * part * KT_M, *limit = value + KT_M;
    const real lowest = lane < KT_M ? lows[(long long)b * KT_M + lane] : 0;
    const real highest = lane < KT_M ? highs[(long long)b * KT_M + lane] : 0;
    const real mu = mus[b];
    real low = 0, high = 0, linear = 0, curved = 0, worst = 0, open = 0, top = 0;
    real scale = KT_LEAST_CURVATURE;
    const auto measure = [&](long long at) {  // of the stage before
        if (lane >= KT_M) return;
        const real *M = U + lane * KT_PITCH + KT_N, slope = M[KT_M], x = value[lane];
        real steep = slope;
        KT_EACH(j, KT_M) steep = kt_fma(M[j], value[j], steep);
        changes[at * KT_M + lane] = x;
        linear = kt_fma(x, slope, linear);
        curved = kt_fma(0.5 * x, steep - slope, curved);
        const real better = kt_clip(x - steep * kt_guess(M[lane]), low, high);
        worst = kt_larger(worst, kt_fabs(x - better)), scale = kt_larger(scale, M[lane] - mu);
    };
    const long long chosen = (long long)(1 - which[b]) * stages;
    const int x0 = part * KT_X_ROWS, u0 = KT_N + part * KT_U_ROWS;  // first rows of this warp
    const bool last_part = part == KT_WARPS - 1;
    unsigned short x_places[KT_GROUPS][2][KT_X_ROWS], u_places[KT_GROUPS][KT_U_ROWS];
    KT_EACH(g, KT_GROUPS) {
        KT_EACH(i, KT_X_ROWS) {
            const int r = x0 + i < KT_N ? x0 + i : KT_N - 1;
            KT_EACH(h, 2) x_places[g][h][i] = places[(h * KT_N + r) * KT_COLUMNS + column(g)];
        }
        KT_EACH(i, KT_U_ROWS) {
            const int r = u0 + i < KT_WIDE ? u0 + i : KT_WIDE - 1;
            u_places[g][i] = places[(KT_N + r) * KT_COLUMNS + column(g)];
        }
    }
    for (int e = me; e < KT_NUMBERS; e += KT_THREADS) raw[KT_RAW + e] = numbers[e];
    for (int e = me; e < KT_END_S; e += KT_THREADS) raw[e] = ends[(long long)b * KT_END_S + e];
    __syncthreads();
    for (int e = me; e < KT_N * (KT_N + 1); e += KT_THREADS) {
        const int i = e / (KT_N + 1), c = e % (KT_N + 1);
        (c < KT_N ? V[i * KT_N + c] : v[i]) = raw[end_places[e]];
    }
    __syncthreads();
    for (int i = lane; i < KT_N; i += KT_WARP) top = kt_larger(top, kt_fabs(v[i]));
    fetch(stages - 1);
#pragma unroll 1
    for (int t = stages - 1; t >= 0; t--) {
        const long long row = (long long)t * problems + b, at = (chosen + t) * problems + b;
        real Q_x[KT_GROUPS][KT_X_ROWS], Q_u[KT_GROUPS][KT_U_ROWS], X[KT_GROUPS][KT_M];
        kt_arrived();
        __syncthreads();
        KT_EACH(g, KT_GROUPS) {
            KT_EACH(i, KT_X_ROWS) {
                const int r = x0 + i < KT_N ? x0 + i : KT_N - 1;
                F[r * KT_PITCH + column(g)] = raw[x_places[g][0][i]];
                Q_x[g][i] = raw[x_places[g][1][i]];
            }
            KT_EACH(i, KT_U_ROWS)
                Q_u[g][i] = raw[u_places[g][i]] + (column(g) == u0 + i ? mu : 0);
        }
        if (last_part && t + 1 < stages) measure(at + problems);
        const real here = now[lane < KT_M ? lane : 0];
        low = lowest - here, high = highest - here;
        __syncthreads();
        if (t > 0) fetch(t - 1);
#pragma unroll 1
        for (int i = me; i < KT_N; i += KT_THREADS) {
            const real gap = F[i * KT_PITCH + KT_WIDE];
            gaps[row * KT_N + i] = gap;
            open += kt_fabs(gap);
        }
        KT_EACH(g, KT_GROUPS) {
            real sum[2][KT_X_ROWS];
            KT_EACH(i, KT_X_ROWS) sum[0][i] = column(g) == KT_WIDE ? v[x0 + i] : 0, sum[1][i] = 0;
#pragma unroll 7
            for (int c = 0; c < KT_N; c += 2)
                KT_EACH(h, 2) {
                    if (c + h >= KT_N) continue;
                    const real x = F[(c + h) * KT_PITCH + column(g)], *y = V + (c + h) * KT_N + x0;
                    KT_EACH(i, KT_X_ROWS) sum[h][i] = kt_fma(y[i], x, sum[h][i]);
                }
            KT_EACH(i, KT_X_ROWS)
                if (x0 + i < KT_N) W[(x0 + i) * KT_PITCH + column(g)] = sum[0][i] + sum[1][i];
        }
        __syncthreads();
        KT_EACH(g, KT_GROUPS) {
            real sum_x[KT_X_ROWS] = {}, sum_u[KT_U_ROWS] = {};
#pragma unroll 7
            for (int c = 0; c < KT_N; c += 2)
                KT_EACH(h, 2) {
                    if (c + h >= KT_N) continue;
                    const real w = W[(c + h) * KT_PITCH + column(g)], *f = F + (c + h) * KT_PITCH;
                    real *s_x = h ? sum_x : Q_x[g], *s_u = h ? sum_u : Q_u[g];
                    KT_EACH(i, KT_X_ROWS) s_x[i] = kt_fma(f[x0 + i], w, s_x[i]);
                    KT_EACH(i, KT_U_ROWS) s_u[i] = kt_fma(f[u0 + i], w, s_u[i]);
                }
            KT_EACH(i, KT_X_ROWS) Q_x[g][i] += sum_x[i];
            KT_EACH(i, KT_U_ROWS)
                if (u0 + i < KT_WIDE)
                    U[(u0 + i - KT_N) * KT_PITCH + column(g)] = Q_u[g][i] + sum_u[i];
        }
        __syncthreads();
        KT_EACH(g, KT_GROUPS)
            KT_EACH(i, KT_M) X[g][i] = U[i * KT_PITCH + column(g)];
        kt_minimise(X, low, high, value, limit, lane);
        KT_EACH(g, KT_GROUPS) {
            KT_EACH(c, KT_M) {
                if (part == c % KT_WARPS && column(g) < KT_N)
                    gains[(at * KT_M + c) * KT_N + column(g)] = X[g][c];
                KT_EACH(i, KT_X_ROWS)
                    Q_x[g][i] = kt_fma(U[c * KT_PITCH + x0 + i], X[g][c], Q_x[g][i]);
            }
            KT_EACH(i, KT_X_ROWS) {
                const int r = x0 + i, c = column(g);
                if (c <= r && r < KT_N) V[r * KT_N + c] = V[c * KT_N + r] = Q_x[g][i];
                if (c == KT_WIDE && r < KT_N) v[r] = Q_x[g][i];
            }
        }
    }
    __syncthreads();
    if (last_part) measure(chosen * problems + b);
    for (int i = lane; i < KT_N; i += KT_WARP) {
        top = kt_larger(top, kt_fabs(v[i]));
        if (last_part) curved += v[i] * 0;  // NaN where v is not finite
    }
    const auto other = [&](real x, int far) { return __shfl_sync(KT_ALL, x, lane ^ far); };
    for (int far = KT_WARP / 2; far; far /= 2) {
        linear += other(linear, far), curved += other(curved, far), open += other(open, far);
        worst = kt_larger(worst, other(worst, far)), top = kt_larger(top, other(top, far));
        scale = kt_larger(scale, other(scale, far));
    }
    if (lane == 0) sums[part] = open;
    __syncthreads();
    if (lane || !last_part) return;
    for (int e = 0; e < KT_WARPS - 1; e++) open += sums[e];
    real *fact = facts + (long long)b * KT_FACTS;
    fact[0] = -(linear + curved), fact[1] = KT_LIMITED ? worst : 0, fact[2] = open;
    fact[3] = KT_MULTIPLIER * top, fact[4] = kt_is_finite(linear) && kt_is_finite(curved);
    fact[5] = scale;
}
"""

# thread of a length of a problem; those of a problem fetch its next stage together
FORWARD = """
KT_ENTRY(KT_WARP, 1) kt_forward(
    long long count, int problems, int stages, const real *states, const real *forces,
    const real *gains, const real *changes, const real *gaps, const real *p, const real *lows,
    const real *highs, const int *status, const int *which, real *tried_x, real *tried_u) {
    KT_SHARED(memory);
    const long long first = (long long)blockIdx.x * KT_WARP + threadIdx.x;
    const long long me = first < count ? first : count - 1, b = me / KT_LENGTHS;
    const long long begin = (long long)blockIdx.x * KT_WARP / KT_LENGTHS;
    const int rank = me % KT_LENGTHS;
    bool idle = true;
    for (long long k = begin; k < problems && k < begin + KT_WARP / KT_LENGTHS; k++)
        idle &= status[k] != 0;
    if (idle) return;
    const real length = 1.0 / (1 << rank);
    real *tile = (real *)memory + (b - begin) * KT_GROUP, *limits = tile + 2 * KT_TILE;
    const long long chosen = (1 - which[b]) * (long long)stages;
    const auto copy = [&](real *into, const real *from, int size) {
#pragma unroll
        for (int e = 0; e < size; e += KT_LENGTHS)
            if (e + rank < size) kt_fetch<real>(into + e + rank, from + e + rank);
        return into + size;
    };
    const auto fetch = [&](int t) {
        const long long row = (long long)t * problems + b, at = (chosen + t) * problems + b;
        real *into = copy(tile + t % 2 * KT_TILE, states + row * KT_NX, KT_NX);
        into = copy(into, forces + row * KT_M, KT_M);
        into = copy(into, gains + at * KT_M * KT_N, KT_M * KT_N);
        into = copy(into, changes + at * KT_M, KT_M);
        into = copy(into, gaps + row * KT_N, KT_N);
        if (KT_FREE) copy(into, p + row * KT_P, KT_P);
    };
    copy(copy(limits, lows + b * KT_M, KT_M), highs + b * KT_M, KT_M);
    real x[KT_NX];
    KT_EACH(j, KT_NX) tried_x[me * KT_NX + j] = x[j] = states[b * KT_NX + j];
    fetch(0);
#pragma unroll 1
    for (int t = 0; t < stages; t++) {
        kt_arrived();
        __syncwarp();
        if (t + 1 < stages) fetch(t + 1);
        const real *now = tile + t % 2 * KT_TILE;
        real next[KT_NX], force[KT_M];
@STEP@
        const long long at = (long long)t * count + me;
        KT_EACH(j, KT_M) tried_u[at * KT_M + j] = force[j];
        KT_EACH(j, KT_NX) tried_x[(at + count) * KT_NX + j] = x[j] = next[j];
    }
}

// thread of a stage of a length of a problem
KT_ENTRY(KT_WARP, 1) kt_costs(
    long long count, int problems, int stages, const int *status, const real *p,
    const real *tried_x, const real *tried_u, real *tried_costs) {
    const long long me = (long long)blockIdx.x * KT_WARP + threadIdx.x;
    const long long tries = (long long)problems * KT_LENGTHS, b = me % tries / KT_LENGTHS;
    if (me >= count || status[b]) return;
    const real *x = tried_x + me * KT_NX, *force = tried_u + me * KT_M;
    const real *now = p + (me / tries * problems + b) * KT_P;
    real here[KT_KINDS];
    if (me / tries < stages)
@COSTS@
    else
@END@
    KT_EACH(j, KT_KINDS) tried_costs[me * KT_KINDS + j] = here[j];
}
"""

PICK = """
KT_ENTRY(KT_WARP, 1) kt_pick(
    long long count, int problems, int stages, const real *tolerances, const real *facts,
    const real *tried_x, const real *tried_u, const real *tried_costs, const real *first_costs,
    real *states, real *forces, real *costs, real *mus, int *status, int *checked, int *which,
    int *turns, real *history) {
    KT_SHARED(memory);
    real *sums = (real *)memory;  // by length and kind
    const int lane = threadIdx.x, turn = turns[blockIdx.x];
    const long long b = blockIdx.x, tries = (long long)problems * KT_LENGTHS;
    const real *fact = facts + b * KT_FACTS;
    const real expected = fact[0], open = fact[2], scale = fact[5];
    const bool active = status[b] == 0, closed = open <= tolerances[0];
    const real penalty = closed ? 0 : fact[3] * open, first_mu = KT_FIRST_MU * scale;
    real total = 0, mu = mus[b], length = 0;
    for (int e = lane; active && e < KT_LENGTHS * KT_KINDS; e += KT_WARP) {
        real sum = 0;
#pragma unroll 8
        for (int t = 0; t <= stages; t++)
            sum += tried_costs[(t * tries + b * KT_LENGTHS) * KT_KINDS + e];
        sums[e] = sum;
    }
    __syncwarp();
    for (int j = 0; j < KT_KINDS; j++) total += costs[b * KT_KINDS + j];
    const real measure = total + KT_OF_FIRST * first_costs[b], small = tolerances[0] * measure;
    // no sum of squares falls by more than itself
    const bool sound = fact[4] != 0 && !(closed && expected > 2 * measure);
    const bool settled = sound && closed, light = mu <= first_mu;  // else mu may make k small
    const bool near = settled && expected <= small * (checked[b] > 1 ? KT_HIDDEN : 1);
    const bool done = active && near && light, ask = near && !checked[b];
    real least = total + penalty;
    int taken = -1;
    for (int k = 0; active && sound && !done && !ask && k < KT_LENGTHS; k++) {
        real cost = 0, a = 1.0 / (1 << k);
        for (int j = 0; j < KT_KINDS; j++) cost += sums[k * KT_KINDS + j];
        const real merit = cost + (1 - a) * penalty;
        if (merit < least) taken = k, least = merit, length = a, total = cost;
    }
    __syncwarp();
    const bool moved = taken >= 0;
    if (moved) {
        const long long from = b * KT_LENGTHS + taken;
#pragma unroll 8
        for (int e = lane; e < stages * KT_NX; e += KT_WARP) {
            const long long t = e / KT_NX + 1, j = e % KT_NX;
            states[(t * problems + b) * KT_NX + j] = tried_x[(t * tries + from) * KT_NX + j];
        }
#pragma unroll 8
        for (int e = lane; e < stages * KT_M; e += KT_WARP) {
            const long long t = e / KT_M, j = e % KT_M;
            forces[(t * problems + b) * KT_M + j] = tried_u[(t * tries + from) * KT_M + j];
        }
    }
    if (lane) return;
    if (moved) {
        for (int j = 0; j < KT_KINDS; j++) costs[b * KT_KINDS + j] = sums[taken * KT_KINDS + j];
        if (length < KT_SHORT) mu = kt_larger(10 * mu, first_mu);
        else if (length > KT_LONG) mu = mu > first_mu / 10 ? 0.1 * mu : 0;
        checked[b] = 0;
    } else if (active && !done) {
        // rounding hides a decrease that is still expected but tiny
        const bool hidden = settled && expected <= KT_HIDDEN * small, check = hidden && !checked[b];
        mu = check ? 0 : kt_larger(10 * mu, first_mu);
        checked[b] = light ? 1 : check ? 2 : checked[b];
        if (hidden && light) status[b] = 1;
        else if (mu > (hidden ? scale : KT_LAST_MU * scale)) status[b] = 2;
    }
    if (done) status[b] = 1;
    if (active && (moved || status[b])) which[b] = 1 - which[b];
    mus[b] = mu;
    turns[b] = turn + 1;
    const real values[KT_HISTORY] = {total, length, expected, open, mu, fact[1], (real)moved};
    for (int j = 0; j < KT_HISTORY + KT_KINDS; j++)
        history[((long long)turn * (KT_HISTORY + KT_KINDS) + j) * problems + b] =
            j < KT_HISTORY ? values[j] : costs[b * KT_KINDS + j - KT_HISTORY];
}
"""

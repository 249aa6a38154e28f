"""CUDA C++ of iLQR around the graphs of a problem; sizes are defined before this text."""

BACKWARD = """
#define KT_WIDE (KT_N + KT_M)
#define KT_COLUMNS (KT_WIDE + 1)

KT_FUNCTION real kt_clip(real x, real low, real high) {
    x = x < low ? low : x;
    return high < x ? high : x;
}

KT_FUNCTION real kt_larger(real a, real b) { return a < b ? b : a; }

// sum[i][j] += a[c][i] b[c][j], summed over c in this order
template <int I, int J, int terms>
KT_FUNCTION void kt_tile(real (&sum)[I][J], const real *a, int a_row, const real *b, int b_row) {
#pragma unroll 7
    for (int c = 0; c < terms; c++) {
        real x[I], y[J];
#pragma unroll
        for (int i = 0; i < I; i++) x[i] = a[c * a_row + i];
#pragma unroll
        for (int j = 0; j < J; j++) y[j] = b[c * b_row + j];
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int j = 0; j < J; j++) sum[i][j] = kt_fma(x[i], y[j], sum[i][j]);
    }
}

// out = start + sum over c of a[c] b[c], symmetric, from the tiles on and below the diagonal
template <int size, int T, int terms>
KT_FUNCTION void kt_symmetric(
    real *out, int row, const real *start, const real *a, int a_row, const real *b, int b_row,
    const int *corners, int lane) {
    const int tiles = size / T * (size / T + 1) / 2;
    for (int e = lane; e < tiles; e += KT_WARP) {
        const int i0 = (corners[e] >> 16) * T, j0 = (corners[e] & 0xffff) * T;
        real sum[T][T];
#pragma unroll
        for (int i = 0; i < T; i++)
#pragma unroll
            for (int j = 0; j < T; j++) sum[i][j] = start[(i0 + i) * KT_WIDE + j0 + j];
        kt_tile<T, T, terms>(sum, a + i0, a_row, b + j0, b_row);
#pragma unroll
        for (int i = 0; i < T; i++)
#pragma unroll
            for (int j = 0; j < T; j++)
                if (i0 + i >= j0 + j)
                    out[(i0 + i) * row + j0 + j] = out[(j0 + j) * row + i0 + i] = sum[i][j];
    }
}

// of a pivot; one that is not positive has no minimum: NaN reaches the sums
KT_FUNCTION real kt_inverse(real pivot) {
    return pivot > 0 ? kt_reciprocal(pivot) : kt_bits(0x7ff8ull << 48);
}

// M (K, k) = -(Q_ux, slope) among the free forces, by elimination; X keeps pivots on its diagonal
KT_FUNCTION void kt_eliminate(
    real *X, const real *M, const real *Q, const real *slope, const real *free, int lane) {
    for (int e = lane; e < KT_M * KT_COLUMNS; e += KT_WARP) {
        const int i = e / KT_COLUMNS, c = e % KT_COLUMNS;
        const real x = c < KT_M ? M[i * KT_M + c] * free[c]
            : c < KT_WIDE ? -Q[(KT_N + i) * KT_WIDE + c - KT_M] : -slope[i];
        X[e] = c == i && free[i] == 0 ? 1 : free[i] * x;
    }
    __syncwarp();
#pragma unroll 1
    for (int j = 0; j < KT_M; j++) {
        const real inverse = kt_inverse(X[j * KT_COLUMNS + j]);
        for (int e = lane; e < KT_M * KT_COLUMNS; e += KT_WARP) {
            const int i = e / KT_COLUMNS, c = e % KT_COLUMNS;
            if (c > j && i != j)
                X[e] = kt_fma(-(X[i * KT_COLUMNS + j] * inverse), X[j * KT_COLUMNS + c], X[e]);
        }
        __syncwarp();
    }
}

KT_FUNCTION real kt_row(const real *M, const real *g, const real *k, int i) {  // g + M k
    real sum = g[i];
    for (int j = 0; j < KT_M; j++) sum = kt_fma(M[i * KT_M + j], k[j], sum);
    return sum;
}

KT_FUNCTION real kt_height(const real *M, const real *g, const real *k) {  // g k + k M k / 2
    real sum = 0;
    for (int i = 0; i < KT_M; i++) sum = kt_fma(0.5 * k[i], kt_row(M, g, k, i) + g[i], sum);
    return sum;
}

KT_FUNCTION real kt_solved(const real *X, int i, int column) {
    return X[i * KT_COLUMNS + column] * kt_inverse(X[i * KT_COLUMNS + i]);
}

// slopes at k, and which forces no limit holds; returns whether another set is free than before
KT_FUNCTION bool kt_find_free(
    const real *M, const real *g, const real *k, const real *low, const real *high, real *slope,
    real *free, real *moved, int lane) {
    for (int i = lane; i < KT_M; i += KT_WARP) {
        slope[i] = kt_row(M, g, k, i);
        const bool held = (k[i] <= low[i] && slope[i] > 0) || (k[i] >= high[i] && slope[i] < 0);
        moved[i] = free[i] == (real)held;
        free[i] = !held;
    }
    __syncwarp();
    bool other = false;
    for (int i = 0; i < KT_M; i++) other |= moved[i] != 0;
    __syncwarp();
    return other;
}

// k within limits, by Newton's method among the free forces; where that leads beyond a limit, to
// the lowest of 32 points on its way, each of them clipped
KT_FUNCTION void kt_within(
    real *X, const real *M, const real *Q, const real *g, const real *low, const real *high,
    real *k, real *slope, real *free, real *moved, real *heights, int lane) {
    for (int i = lane; i < KT_M; i += KT_WARP)
        k[i] = kt_clip(kt_is_finite(k[i]) ? k[i] : 0, low[i], high[i]);
    __syncwarp();
    kt_find_free(M, g, k, low, high, slope, free, moved, lane);
#pragma unroll 1
    for (int round = 0; round < KT_ROUNDS; round++) {
        kt_eliminate(X, M, Q, slope, free, lane);
        bool inside = true;
        real a = 1.0 / (1u << lane), at[KT_M];
        for (int i = 0; i < KT_M; i++) {
            const real step = kt_solved(X, i, KT_WIDE);
            inside &= k[i] + step >= low[i] && k[i] + step <= high[i];
            at[i] = kt_clip(kt_fma(a, step, k[i]), low[i], high[i]);
        }
        real least = kt_height(M, g, k);
        if (inside) {
            a = 1;
        } else {
            heights[lane] = kt_height(M, g, at);
            a = 0;
            __syncwarp();
            for (int i = 0; i < KT_WARP; i++)
                if (heights[i] < least) least = heights[i], a = 1.0 / (1u << i);
            if (a == 0) return;  // no lower one: rounding
        }
        __syncwarp();
        for (int i = lane; i < KT_M; i += KT_WARP)
            k[i] = kt_clip(kt_fma(a, kt_solved(X, i, KT_WIDE), k[i]), low[i], high[i]);
        __syncwarp();
        if (!kt_find_free(M, g, k, low, high, slope, free, moved, lane) && inside) return;
    }
    kt_eliminate(X, M, Q, slope, free, lane);
}

KT_ENTRY(KT_WARP, 1) kt_backward(
    long long count, int problems, int stages, const real *slopes, const real *ends,
    const real *numbers, const int *pairs, const real *end_numbers, const int *end_pairs,
    const real *u, const real *lowest, const real *highest, const real *mus, const int *status,
    const int *which, real *gains, real *changes, real *gaps, real *facts) {
    KT_SHARED(memory);
    const int b = blockIdx.x, lane = threadIdx.x;
    if (status[b]) return;
    real *tile = (real *)memory;
@POINTERS@
    int *corner = (int *)corners;
    const real mu = mus[b];
    real linear = 0, curved = 0, worst = 0, open = 0, top = 0, ahead = 0;
    for (int e = lane; e < V - tile; e += KT_WARP) tile[e] = numbers[e];
    for (int e = lane; e < vt - V; e += KT_WARP) V[e] = end_numbers[e];
    for (int r = lane; r < KT_ROWS; r += KT_WARP)
        for (int c = 0; c <= r; c++) corner[r * (r + 1) / 2 + c] = r << 16 | c;
    __syncwarp();
    for (int e = lane; e < KT_END_PAIRS; e += KT_WARP)
        tile[end_pairs[2 * e + 1]] = ends[(long long)b * KT_END_S + end_pairs[2 * e]];
    const long long last = (long long)(stages - 1) * problems + b;
    for (int e = lane; e < KT_S; e += KT_WARP) kt_fetch<real>(raw + e, slopes + last * KT_S + e);
    if (lane < KT_M) ahead = u[last * KT_M + lane];
    __syncwarp();
    for (int i = lane; i < KT_N; i += KT_WARP) top = kt_larger(top, kt_fabs(v[i]));
#pragma unroll 1
    for (int t = stages - 1; t >= 0; t--) {
        const long long row = (long long)t * problems + b;
        kt_arrived();
        __syncwarp();
#pragma unroll 4
        for (int e = lane; e < KT_PAIRS; e += KT_WARP) tile[pairs[2 * e + 1]] = raw[pairs[2 * e]];
        for (int i = lane; i < KT_M; i += KT_WARP) {
            const real now = i < KT_WARP ? ahead : u[row * KT_M + i];
            low[i] = lowest[(long long)b * KT_M + i] - now;
            high[i] = highest[(long long)b * KT_M + i] - now;
        }
        __syncwarp();
        if (t > 0) {
            const long long before = row - problems;
            for (int e = lane; e < KT_S; e += KT_WARP)
                kt_fetch<real>(raw + e, slopes + before * KT_S + e);
            if (lane < KT_M) ahead = u[before * KT_M + lane];
        }
        for (int e = lane; e < KT_N / KT_TN * (KT_WIDE / KT_TW); e += KT_WARP) {
            const int i0 = e / (KT_WIDE / KT_TW) * KT_TN, j0 = e % (KT_WIDE / KT_TW) * KT_TW;
            real sum[KT_TN][KT_TW] = {};
            kt_tile<KT_TN, KT_TW, KT_N>(sum, V + i0, KT_N, F + j0, KT_WIDE);
#pragma unroll
            for (int i = 0; i < KT_TN; i++)
#pragma unroll
                for (int j = 0; j < KT_TW; j++) W[(i0 + i) * KT_WIDE + j0 + j] = sum[i][j];
        }
        for (int i = lane; i < KT_N; i += KT_WARP) {
            real sum = v[i];
            for (int c = 0; c < KT_N; c++) sum = kt_fma(gap[c], V[c * KT_N + i], sum);
            vt[i] = sum;
            gaps[row * KT_N + i] = gap[i];
            open += kt_fabs(gap[i]);
        }
        __syncwarp();
        kt_symmetric<KT_WIDE, KT_TW, KT_N>(Q, KT_WIDE, H, F, KT_WIDE, W, KT_WIDE, corner, lane);
        for (int j = lane; j < KT_WIDE; j += KT_WARP) {
            real sum = l[j];
            for (int c = 0; c < KT_N; c++) sum = kt_fma(vt[c], F[c * KT_WIDE + j], sum);
            g[j] = sum;
        }
        for (int i = lane; i < KT_M; i += KT_WARP) free[i] = 1;
        __syncwarp();
        for (int e = lane; e < KT_M * KT_M; e += KT_WARP) {
            const int i = e / KT_M, j = e % KT_M;
            M[e] = Q[(KT_N + i) * KT_WIDE + KT_N + j] + (i == j ? mu : 0);
        }
        __syncwarp();
        const real *g_u = g + KT_N;
        kt_eliminate(X, M, Q, g_u, free, lane);
        for (int i = lane; i < KT_M; i += KT_WARP) k[i] = kt_solved(X, i, KT_WIDE);
        __syncwarp();
        if (KT_LIMITED) {
            bool inside = true;
            for (int i = 0; i < KT_M; i++) inside &= k[i] >= low[i] && k[i] <= high[i];
            __syncwarp();
            if (!inside) kt_within(X, M, Q, g_u, low, high, k, slope, free, moved, sums, lane);
        }
        const long long at = ((long long)(1 - which[b]) * stages + t) * problems + b;
        for (int e = lane; e < KT_M * KT_N; e += KT_WARP)
            gains[at * KT_M * KT_N + e] = K[e] = kt_solved(X, e / KT_N, KT_M + e % KT_N);
        for (int i = lane; i < KT_M; i += KT_WARP) {
            const real steep = kt_row(M, g_u, k, i);
            const real x = k[i] - steep * kt_reciprocal(M[i * KT_M + i]);
            changes[at * KT_M + i] = k[i];
            linear = kt_fma(k[i], g_u[i], linear);
            curved = kt_fma(0.5 * k[i], steep - g_u[i], curved);
            worst = kt_larger(worst, kt_fabs(k[i] - kt_clip(x, low[i], high[i])));
        }
        __syncwarp();
        const real *Q_ux = Q + KT_N * KT_WIDE;
        kt_symmetric<KT_N, KT_TN, KT_M>(V, KT_N, Q, Q_ux, KT_WIDE, K, KT_N, corner, lane);
        for (int i = lane; i < KT_N; i += KT_WARP) {
            real sum = g[i];
            for (int c = 0; c < KT_M; c++) sum = kt_fma(k[c], Q_ux[c * KT_WIDE + i], sum);
            v[i] = sum;
        }
        __syncwarp();
    }
    for (int i = lane; i < KT_N; i += KT_WARP) {
        top = kt_larger(top, kt_fabs(v[i]));
        curved += v[i] * 0;  // NaN where v is not finite
    }
    sums[lane] = linear, sums[KT_WARP + lane] = curved, sums[2 * KT_WARP + lane] = worst;
    sums[3 * KT_WARP + lane] = open, sums[4 * KT_WARP + lane] = top;
    __syncwarp();
    if (lane) return;
    for (int i = 1; i < KT_WARP; i++) {
        linear += sums[i], curved += sums[KT_WARP + i], open += sums[3 * KT_WARP + i];
        worst = kt_larger(worst, sums[2 * KT_WARP + i]);
        top = kt_larger(top, sums[4 * KT_WARP + i]);
    }
    real *fact = facts + (long long)b * KT_FACTS;
    fact[0] = -(linear + curved), fact[1] = KT_LIMITED ? worst : 0, fact[2] = open;
    fact[3] = KT_MULTIPLIER * top, fact[4] = kt_is_finite(linear) && kt_is_finite(curved);
}
"""

FORWARD = """
#define KT_GROUPS (KT_WARP / KT_LENGTHS)

KT_ENTRY(KT_WARP, 1) kt_forward(
    long long count, int problems, int stages, const real *states, const real *forces,
    const real *gains, const real *changes, const real *gaps, const real *p, const real *lows,
    const real *highs, const int *status, const int *which, real *tried_x, real *tried_u,
    real *tried_costs) {
    KT_SHARED(memory);
    const int lane = threadIdx.x;
    const long long first = (long long)blockIdx.x * KT_WARP;
    const long long me = first + lane < count ? first + lane : count - 1;
    const long long begin = first / KT_LENGTHS, b = me / KT_LENGTHS;
    const int groups = problems - begin < KT_GROUPS ? (int)(problems - begin) : KT_GROUPS;
    const int group = (int)(b - begin);
    const real length = 1.0 / (1 << me % KT_LENGTHS);
    bool idle = true;
    for (int k = 0; k < groups; k++) idle &= status[begin + k] != 0;
    if (idle) return;
    real *tile = (real *)memory;
    const auto copy = [&](real *into, const real *from, int size) {
        for (int e = lane; e < groups * size; e += KT_WARP) kt_fetch<real>(into + e, from + e);
    };
    const auto chosen = [&](real *into, const real *from, int size, int t) {
        for (int e = lane; e < groups * size; e += KT_WARP) {
            const long long k = begin + e / size;
            const long long row = ((long long)(1 - which[k]) * stages + t) * problems + k;
            kt_fetch<real>(into + e, from + row * size + e % size);
        }
    };
    const auto fetch = [&](int t) {
        real *into = tile + t % 2 * KT_HALF;
        const long long row = (long long)t * problems + begin;
        copy(into, states + row * KT_NX, KT_NX);
        into += KT_GROUPS * KT_NX;
        copy(into, forces + row * KT_M, KT_M);
        into += KT_GROUPS * KT_M;
        chosen(into, gains, KT_M * KT_N, t);
        into += KT_GROUPS * KT_M * KT_N;
        chosen(into, changes, KT_M, t);
        into += KT_GROUPS * KT_M;
        copy(into, gaps + row * KT_N, KT_N);
        into += KT_GROUPS * KT_N;
        copy(into, p + row * KT_P, KT_P);
    };
    const real *lowest = lows + b * KT_M, *highest = highs + b * KT_M;
    real x[KT_NX], costs[KT_KINDS];
#pragma unroll
    for (int j = 0; j < KT_NX; j++) x[j] = states[b * KT_NX + j];
#pragma unroll
    for (int j = 0; j < KT_KINDS; j++) costs[j] = 0;
    fetch(0);
#pragma unroll 1
    for (int t = 0; t < stages; t++) {
        kt_arrived();
        __syncwarp();
        if (t + 1 < stages) fetch(t + 1);
        const real *now = tile + t % 2 * KT_HALF;
        real next[KT_NX], force[KT_M], here[KT_KINDS];
@STEP@
#pragma unroll
        for (int j = 0; j < KT_KINDS; j++) costs[j] += here[j];
        const long long row = (long long)t * count + me;
#pragma unroll
        for (int j = 0; j < KT_M; j++) tried_u[row * KT_M + j] = force[j];
#pragma unroll
        for (int j = 0; j < KT_NX; j++) tried_x[(row + count) * KT_NX + j] = x[j] = next[j];
    }
    const real *final = p + ((long long)stages * problems + b) * KT_P;
    real here[KT_KINDS];
@END@
#pragma unroll
    for (int j = 0; j < KT_KINDS; j++) tried_costs[me * KT_KINDS + j] = costs[j] + here[j];
}
"""

PICK = """
KT_ENTRY(KT_WARP, 1) kt_pick(
    long long count, int problems, int stages, const real *tolerances, const real *facts,
    const real *tried_x, const real *tried_u, const real *tried_costs, const real *scales,
    real *states, real *forces, real *costs, real *mus, int *status, int *which, int *turns,
    real *history) {
    const int lane = threadIdx.x;
    const long long b = blockIdx.x, tries = (long long)problems * KT_LENGTHS;
    const real *fact = facts + b * KT_FACTS;
    const real expected = fact[0], open = fact[2], penalty = open > 0 ? fact[3] * open : 0;
    const bool active = status[b] == 0, sound = fact[4] != 0;
    real total = 0, mu = mus[b], scale = scales[b], length = 0;
    for (int j = 0; j < KT_KINDS; j++) total += costs[b * KT_KINDS + j];
    const real small = tolerances[0] * (1 + kt_fabs(total));
    const bool closed = open <= tolerances[0];
    const bool done = active && sound && closed && expected <= small;
    real least = total + penalty;
    int taken = -1;
    for (int k = 0; k < KT_LENGTHS; k++) {
        real cost = 0, a = 1.0 / (1 << k);
        for (int j = 0; j < KT_KINDS; j++)
            cost += tried_costs[(b * KT_LENGTHS + k) * KT_KINDS + j];
        const real merit = cost + (1 - a) * penalty;
        if (active && sound && !done && merit < least && (taken < 0 || problems == 1)) {
            taken = k, least = merit, length = a;
        }
    }
    const int turn = turns[b];
    __syncwarp();
    const bool moved = taken >= 0;
    if (moved) {
        const long long from = b * KT_LENGTHS + taken;
        for (int e = lane; e < stages * KT_NX; e += KT_WARP) {
            const long long t = e / KT_NX + 1, j = e % KT_NX;
            states[(t * problems + b) * KT_NX + j] = tried_x[(t * tries + from) * KT_NX + j];
        }
        for (int e = lane; e < stages * KT_M; e += KT_WARP) {
            const long long t = e / KT_M, j = e % KT_M;
            forces[(t * problems + b) * KT_M + j] = tried_u[(t * tries + from) * KT_M + j];
        }
        total = 0;
        for (int j = 0; j < KT_KINDS; j++) total += tried_costs[from * KT_KINDS + j];
    }
    if (lane) return;
    if (moved) {
        for (int j = 0; j < KT_KINDS; j++)
            costs[b * KT_KINDS + j] = tried_costs[(b * KT_LENGTHS + taken) * KT_KINDS + j];
        mu = mu / 10 > KT_FIRST_MU * scale / 100 ? mu / 10 : 0;
    } else if (active && !done) {
        // rounding hides a decrease that is still expected but tiny
        if (sound && closed && expected <= 1e3 * small) status[b] = 1;
        else mu = kt_larger(10 * mu, KT_FIRST_MU * scale);
        if (mu > KT_MOST_MU * scale) status[b] = 2;
    }
    if (done) status[b] = 1;
    if (moved || done) which[b] = 1 - which[b];
    mus[b] = mu;
    turns[b] = turn + 1;
    const real values[KT_HISTORY] = {total, length, expected, open, mu, fact[1], (real)moved};
    for (int j = 0; j < KT_HISTORY; j++)
        history[((long long)turn * KT_HISTORY + j) * problems + b] = values[j];
}
"""

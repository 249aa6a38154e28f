// Constraints of a robot, as in kinetree.algorithms.constraints: their errors, and a position near
// the sliders at which they are closed. `loops` is the data of kinetree.views.loops.loop_data.

const CLOSED = 1e-9, MOST_STEPS = 60, LONGEST_STEP = 0.5, DIFFERENCE = 1e-6;

function inversePose(T) {
  const R = [0, 1, 2].map((i) => [T[i], T[4 + i], T[8 + i]]);
  return poseOf(R, R.map((row) => -dot(row, [T[3], T[7], T[11]])));
}

const frameOf = (link, T, poses) => link < 0 ? T : multiply(poses[link], T);

// Ends of the line of every constraint between two frames, in {s}.
function tieLines(loops, poses) {
  return loops.filter((loop) => loop.kind !== "couple").map((loop) =>
    [frameOf(loop.link_a, loop.a, poses), frameOf(loop.link_b, loop.b, poses)]
      .map((T) => [T[3], T[7], T[11]]));
}

// Errors of the equations of one constraint.
function loopErrors(loop, q, poses) {
  if (loop.kind === "couple") {
    let sum = -loop.constant;
    for (const term of loop.terms) {
      const x = term.scale * q[term.coord] + term.offset;
      sum += x * term.powers.reduceRight((value, c) => c + value * x, 0);
    }
    return [sum];
  }
  const T = multiply(inversePose(frameOf(loop.link_a, loop.a, poses)), frameOf(loop.link_b, loop.b, poses));
  const x = [T[3], T[7], T[11]];
  if (loop.kind === "rod") return [(dot(x, x) - loop.length ** 2) / (2 * loop.length)];
  if (loop.kind === "point") return x;
  if (loop.kind === "pose") {
    const scale = 2 / (1 + T[0] + T[5] + T[10]);
    return [...times([T[9] - T[6], T[2] - T[8], T[4] - T[1]], scale), ...x];
  }
  const e = [0, 1, 2].map((k) => k === loop.axis ? 1 : 0), s = turned(T, e);
  const lean = times(cross(e, s), 2 / (1 + dot(e, s))).filter((_, k) => k !== loop.axis);
  return [...lean, ...(loop.kind === "plane" ? [x[loop.axis]] : x)];
}

const allErrors = (loops, q, poses) => loops.flatMap((loop) => loopErrors(loop, q, poses));
const largest = (v) => v.reduce((m, x) => Math.max(m, Number.isFinite(x) ? Math.abs(x) : Infinity), 0);

// Name and largest error of the constraint that is open the most.
function worstLoop(loops, q, poses) {
  return loops.map((loop) => [loop.name, largest(loopErrors(loop, q, poses))])
    .reduce((worst, own) => own[1] > worst[1] ? own : worst, ["", 0]);
}

// Solution of a symmetric positive system by Gauss elimination.
function solveSystem(A, b) {
  const n = b.length, rows = A.map((row, i) => [...row, b[i]]);
  for (let k = 0; k < n; k++) {
    for (let i = k + 1; i < n; i++) {
      const factor = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  const x = new Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let sum = rows[i][n];
    for (let j = i + 1; j < n; j++) sum -= rows[i][j] * x[j];
    x[i] = sum / rows[i][i];
  }
  return x;
}

// Newton's method on the values of the sliders, all but the one at index `kept`; `errors` is a
// function of the values. Redundant equations are damped. Returns the best values found.
function closedValues(start, errors, kept) {
  let values = [...start], Phi = errors(values);
  for (let step = 0; step < MOST_STEPS && largest(Phi) > 1e-12; step++) {
    if (!Number.isFinite(largest(Phi))) break;
    const J = values.map((x, k) => {
      if (k === kept) return Phi.map(() => 0);
      const [more, less] = [1, -1].map((sign) => {
        const moved = [...values];
        moved[k] = x + sign * DIFFERENCE;
        return errors(moved);
      });
      return more.map((y, row) => (y - less[row]) / (2 * DIFFERENCE));
    });
    const A = Phi.map((_, i) => Phi.map((_, j) => J.reduce((sum, column) => sum + column[i] * column[j], 0)));
    const size = A.reduce((sum, row, i) => sum + row[i], 0);
    if (!(size > 0)) break;
    A.forEach((row, i) => { row[i] += 1e-10 * size; });
    const y = solveSystem(A, Phi.map((x) => -x));
    let v = J.map((column) => column.reduce((sum, x, i) => sum + x * y[i], 0));
    const length = largest(v);
    if (length > LONGEST_STEP) v = v.map((x) => x * LONGEST_STEP / length);
    let found = null;
    for (let half = 0; half < 12 && !found; half++, v = v.map((x) => x / 2)) {
      const tried = values.map((x, k) => x + v[k]), now = errors(tried);
      const sum = (e) => e.reduce((total, x) => total + x * x, 0);
      if (Number.isFinite(largest(now)) && sum(now) < sum(Phi)) found = [tried, now];
    }
    if (!found) break;
    [values, Phi] = found;
  }
  return values;
}

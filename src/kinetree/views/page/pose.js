// Positions: sliders and q, constraints, and a motion between its samples.

// Roll, pitch and yaw of a quaternion; the inverse of rpyQuaternion.
function quaternionAngles(quaternion) {
  const R = quaternionMatrix(quaternion);
  const pitch = Math.atan2(-R[2][0], Math.hypot(R[0][0], R[1][0]));
  if (Math.hypot(R[0][0], R[1][0]) < 1e-9) return [0, pitch, Math.atan2(-R[0][1], R[1][1])];
  return [Math.atan2(R[2][1], R[2][2]), pitch, Math.atan2(R[1][0], R[0][0])];
}

// The value of every slider at q.
function handleValues(robot, q) {
  const angles = {};
  return robot.handles.map((handle) => {
    if (handle.turn === null) return q[handle.coord];
    angles[handle.coord] ||= quaternionAngles(q.slice(handle.coord, handle.coord + 4));
    return angles[handle.coord][handle.turn];
  });
}

// q with the sliders at these values.
function positionsOf(robot, q, values) {
  const found = [...q], turns = {};
  robot.handles.forEach((handle, k) => {
    if (handle.turn === null) found[handle.coord] = values[k];
    else (turns[handle.coord] ||= [0, 0, 0])[handle.turn] = values[k];
  });
  for (const [first, angles] of Object.entries(turns))
    rpyQuaternion(...angles).forEach((x, k) => { found[+first + k] = x; });
  return found;
}

// q after slider `moved` was set to x; the other sliders follow where constraints ask for it.
function movedPositions(robot, q, moved, x) {
  let values = handleValues(robot, q);
  values[moved] = x;
  const { loops } = robot.stage;
  if (loops.length) {
    const errors = (tried) => {
      const at = positionsOf(robot, q, tried);
      return allErrors(loops, at, linkPoses(robot.stage.robot, at));
    };
    const whole = 2 * Math.PI;
    values = closedValues(values, errors, moved).map((value, k) =>
      k !== moved && robot.handles[k].wraps ? value - whole * Math.round(value / whole) : value);
  }
  return positionsOf(robot, q, values);
}

// A sentence on the constraints at q; empty without constraints.
function closureWords(robot, q, poses) {
  const { loops } = robot.stage;
  if (!loops.length) return "";
  const [name, error] = worstLoop(loops, q, poses);
  return error <= CLOSED ? "" : `Constraint ${name} is open by ${error.toPrecision(3)} (rad or m): no closed position is found near these sliders.`;
}

// Samples about a time: the one before, the one after, and the share of the way between them.
function placeInTime(t, time) {
  let low = 0, high = t.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle; else high = middle;
  }
  const span = t[high] - t[low];
  return [low, high, span > 0 ? clamp((time - t[low]) / span, 0, 1) : 0];
}

const mixed = (rows, [low, high, share]) => rows[low].map((x, k) => x + share * (rows[high][k] - x));

// q of a motion at a place; quaternions keep their length.
function positionsAt(robot, motion, place) {
  const q = mixed(motion.q, place);
  for (const handle of robot.handles) {
    if (handle.turn !== 0) continue;
    const own = q.slice(handle.coord, handle.coord + 4), length = Math.hypot(...own) || 1;
    own.forEach((x, k) => { q[handle.coord + k] = x / length; });
  }
  return q;
}

// q, dq and ddq of a motion at a time, and the forces of contacts and stops.
function motionAt(robot, motion, time) {
  const place = placeInTime(motion.t, time), q = positionsAt(robot, motion, place);
  return { q, dq: mixed(motion.dq, place), ddq: mixed(motion.ddq, place), ...forcesAt(motion, place) };
}

// Forces of contacts and stops at a place in time, by name.
function forcesAt({ contacts, stops }, place) {
  const found = {};
  if (contacts) found.contact_forces = Object.fromEntries(contacts.names.map((name, c) => [name, mixed(contacts.forces.map((row) => row[c]), place)]));
  if (stops) found.stop_forces = Object.fromEntries(Object.entries(stops).map(([name, x]) => [name, mixed(x.map((y) => [y]), place)[0]]));
  return found;
}

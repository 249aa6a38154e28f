// Interactive plots: lines over time or over another quantity, with grid, limits, a cursor and zoom.
//
// createPlot(element, {title, unit, t, series, cursor}) draws into an empty or static element.
//   series: [{name, values, limit: null | [low, high], t?, dots?, colour?}]; null is a gap;
//     a limit is a number, null, or an array over t. `t` of a series replaces that of the plot.
//     reference of a series: {t, values} that it should follow, drawn dotted.
//   note: words beside the title; x, y: {name, unit, log}, where they are not time in s and `unit`; marks: [{name, x}];
//   violations: [{start, end, name}], times that are shaded; computed from limits if not given;
//   band of a series: [lowest, highest] of a batch, which is shaded.
// Drag zooms, double click goes back, a click or arrow keys move the cursor, the legend switches lines.

const createPlot = (() => {
  const NEAR = 0.15; // a limit is drawn if its line comes as near as this part of the range of all lines
  const ROOMY = 320, NARROW_MARGIN = 14; // px: width from which limits have words, and the margin without
  const MAX_MARKS = 4, MARK = 7, MARK_GAP = 3; // colours of lines at the label of a limit, and their px
  const DUST = 1e-7; // values below this part of the largest limit do not fill the plot
  const MOST_ROWS = 10; // of the table at the cursor
  const SVG = (() => {
    const holder = document.createElement("div");
    holder.innerHTML = "<svg></svg>";
    return holder.firstChild.namespaceURI;
  })();

  function drawn(tag, attributes = {}, words = "") {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = words;
    return node;
  }
  function made(tag, kind = "", words = "") {
    const node = document.createElement(tag);
    node.className = kind;
    node.textContent = words;
    return node;
  }
  // Class of a line: the colour with a number, and dashes once all are used; or that of an energy.
  const strokeOf = (k) => typeof k === "string" ? `energy-${k}` : `c${k % 8} d${Math.floor(k / 8) % 4}`;
  const readable = (x, digits = 4) => {
    if (x === null || x === undefined || !Number.isFinite(x)) return "–";
    const size = Math.abs(x);
    const text = size !== 0 && (size < 1e-3 || size >= 1e5)
      ? Number(x.toPrecision(digits)).toExponential().replace("e+", "e")
      : String(Number(x.toPrecision(digits)));
    return text.replaceAll("-", "−");
  };

  // Round numbers between two bounds: multiples of 1, 2 or 5 times a power of ten.
  function ticksBetween(low, high, about, least = 3) {
    if (!(high > low)) return [low];
    const rough = (high - low) / Math.max(1, about), size = 10 ** Math.floor(Math.log10(rough));
    const step = size * [1, 2, 5, 10].find((k) => size * k >= rough * (1 - 1e-9)), found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++)
      found.push(Number((k * step).toPrecision(12)));
    return found.length < least ? ticksBetween(low, high, 2 * about, least) : found;
  }
  // Ticks of an axis of powers of ten: whole ones, 1, 2 and 5 of each, or steps between two of them.
  function powersBetween(low, high, about) {
    const whole = [];
    for (let k = Math.ceil(low - 1e-9); k <= Math.floor(high + 1e-9); k++) whole.push(k);
    if (whole.length > 2) return whole.filter((k) => k % Math.ceil(whole.length / about) === 0);
    const first = Math.floor(low), all = Array.from({ length: Math.ceil(high) - first + 1 }, (_, k) => first + k);
    const found = all.flatMap((k) => [1, 2, 5].map((m) => k + Math.log10(m))).filter((x) => x >= low && x <= high);
    return found.length > 1 ? found : ticksBetween(10 ** low, 10 ** high, about).map(Math.log10);
  }
  const isNumber = (x) => x !== null && x !== undefined && Number.isFinite(x);

  // Index of the entry of sorted times that is nearest to a time.
  function nearest(t, time) {
    let low = 0, high = t.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (t[middle] <= time) low = middle; else high = middle;
    }
    return Math.abs(t[high] - time) < Math.abs(t[low] - time) ? high : low;
  }

  return function createPlot(element, options) {
    const xAxis = { name: "t", unit: "s", log: false, ...options.x };
    const yAxis = { unit: options.unit || "", log: false, ...options.y };
    const series = options.series.map((one, k) => ({
      ...one, t: one.t || options.t, limit: one.limit || [null, null], colour: one.colour ?? k,
    }));
    const times = series.find((one) => !one.dots)?.t || options.t || [];
    const hidden = new Set(), listeners = [], zoomListeners = [], shownListeners = [];
    let cursor = options.cursor ?? null, hover = null, heard = null, view = null, compare = null;
    const ends = new Map(); // series -> lowest and highest value in view
    let near = 0; // distance from a limit, in the unit of the axis, at which it is drawn
    let width = 0, height = 0, box = null, scaleX = null, scaleY = null, timeAt = null, valueAt = null;

    element.replaceChildren();
    element.classList.add("chart");
    const head = made("figcaption", "chart-head"), note = made("span", "soft"), area = made("div", "chart-area");
    head.append(made("b", "", options.title), note);
    [area.tabIndex, area.role] = [0, "group"];
    area.ariaLabel = `${options.title}: arrow keys move the cursor, Escape shows all`;
    const table = made("div", "chart-table"), picture = drawn("svg", { class: "chart-svg", role: "img", "aria-label": options.title });
    [table.hidden, table.ariaLive] = [true, "polite"];
    area.append(picture, table);
    const legend = made("ul", "legend");
    element.append(head, area, legend);

    const onX = (x) => xAxis.log ? Math.log10(x) : x, onY = (y) => yAxis.log ? Math.log10(y) : y;
    const shown = () => series.filter((_, k) => !hidden.has(k));
    const others = () => compare === null ? [] : compare.filter((one) => shown().some((own) => own.name === one.name));

    function rangeOfX() {
      if (view) return view.x;
      const ends = [...series, ...(compare || [])].flatMap((one) => one.dots || one.t.length < 3
        ? one.t : [one.t[0], one.t[one.t.length - 1]]).map(onX).filter(isNumber);
      for (const mark of options.marks || []) ends.push(onX(mark.x));
      const low = Math.min(...ends), high = Math.max(...ends);
      return ends.length && high > low ? [low, high] : [low || 0, (low || 0) + 1];
    }
    function rangeOfY([from, to]) {
      if (view && view.y) return view.y;
      let low = Infinity, high = -Infinity;
      ends.clear();
      for (const one of [...shown(), ...others()]) {
        let [least, most] = [Infinity, -Infinity];
        for (const [t, values] of [[one.t, one.values], ...(one.band || []).map((side) => [one.t, side]), ...(one.reference ? [[one.reference.t, one.reference.values]] : [])])
          values.forEach((value, k) => {
            const x = onX(t[k]), y = value === null ? NaN : onY(value);
            if (!isNumber(y) || x < from || x > to) return;
            least = Math.min(least, y);
            most = Math.max(most, y);
          });
        ends.set(one, [least, most]);
        [low, high] = [Math.min(low, least), Math.max(high, most)];
      }
      if (!(low <= high)) [low, high] = [0, 1];
      let reach = Math.max(Math.abs(low), Math.abs(high));
      if (!view && !yAxis.log) {
        const bounds = shown().flatMap((one) => one.limit).filter(isNumber);
        if (reach < DUST * Math.max(0, ...bounds.map(Math.abs))) low = high = reach = 0;
        near = NEAR * (high - low);
        for (const { bound, isNear } of fixedLimits()) if (isNear) [low, high] = [Math.min(low, bound), Math.max(high, bound)];
        if (low > 0 && low < 0.5 * (high - low)) low = 0;
        if (high < 0 && -high < 0.5 * (high - low)) high = 0;
      }
      const pad = high - low > 1e-9 * reach ? 0.06 * (high - low) : 0.1 * reach || 1;
      return [low - pad, high + pad];
    }
    // Straight scales from values on the axes to pixels, and back.
    function setScales() {
      const xs = rangeOfX(), ys = rangeOfY(xs);
      const yTicks = (yAxis.log ? powersBetween : ticksBetween)(ys[0], ys[1], Math.max(3, height / 42), height < 120 ? 2 : 3);
      const labels = yTicks.map((y) => readable(yAxis.log ? 10 ** y : y, 6));
      const left = Math.max(44, ...labels.map((text) => 7 * text.length + 12), 6.6 * yAxis.unit.length + 8);
      const limits = width < ROOMY || yAxis.log ? [] : fixedLimits();
      const margin = Math.max(NARROW_MARGIN - 2, ...limits.map((x) => 6.6 * (limitWords(x).length + 2) + 6 + (MARK + MARK_GAP) * marked(x).length));
      box = { left, right: width - margin, top: 22, bottom: height - 24 };
      scaleX = (x) => box.left + (onX(x) - xs[0]) / (xs[1] - xs[0]) * (box.right - box.left);
      scaleY = (y) => box.bottom - (onY(y) - ys[0]) / (ys[1] - ys[0]) * (box.bottom - box.top);
      timeAt = (pixel) => xs[0] + (pixel - box.left) / (box.right - box.left) * (xs[1] - xs[0]);
      valueAt = (pixel) => ys[0] + (box.bottom - pixel) / (box.bottom - box.top) * (ys[1] - ys[0]);
      return { xs, ys, yTicks, labels };
    }
    function drawFrame({ xs, yTicks, labels }) {
      const { left, right, top, bottom } = box;
      yTicks.forEach((y, k) => {
        const at = scaleY(yAxis.log ? 10 ** y : y);
        picture.append(drawn("path", { class: y === 0 && !yAxis.log ? "axis zero" : "axis", d: `M${left} ${at.toFixed(1)}H${right}` }));
        picture.append(drawn("text", { x: left - 6, y: (at + 4).toFixed(1), "text-anchor": "end" }, labels[k]));
      });
      const words = xAxis.unit ? `${xAxis.name}, ${xAxis.unit}` : xAxis.name;
      const room = right - 7 * words.length - 8;
      for (const x of (xAxis.log ? powersBetween : ticksBetween)(xs[0], xs[1], Math.max(2, width / 90))) {
        const at = scaleX(xAxis.log ? 10 ** x : x), text = readable(xAxis.log ? 10 ** x : x, 6);
        picture.append(drawn("path", { class: "axis", d: `M${at.toFixed(1)} ${top}V${bottom}` }));
        if (at + 3.5 * text.length < room) picture.append(drawn("text", { x: at.toFixed(1), y: bottom + 17, "text-anchor": "middle" }, text));
      }
      picture.append(drawn("text", { x: right, y: bottom + 17, "text-anchor": "end" }, words));
      picture.append(drawn("text", { x: left - 6, y: 13, "text-anchor": "end" }, yAxis.unit));
    }
    function pathOf(one, values) {
      let d = "", pen = "M";
      values.forEach((value, k) => {
        if (!isNumber(value) || (yAxis.log && value <= 0)) { pen = "M"; return; }
        d += `${pen}${(scaleX(one.t[k]) - box.left).toFixed(1)} ${(scaleY(value) - box.top).toFixed(1)}`;
        if (one.dots) d += "h0"; else pen = "L";
      });
      return d;
    }
    // Times at which a shown line is beyond its limit.
    function beyondLimits() {
      if (options.violations) return options.violations.filter((x) => shown().some((one) => one.name === x.name));
      const found = [];
      for (const one of shown()) {
        let start = null;
        const at = (bound, k) => Array.isArray(bound) ? bound[k] : bound;
        one.values.forEach((value, k) => {
          const [low, high] = one.limit.map((bound) => at(bound, k));
          const slack = 1e-9 * Math.abs(value);
          const out = isNumber(value) && ((isNumber(high) && value > high + slack) || (isNumber(low) && value < low - slack));
          if (out && start === null) start = one.t[k];
          if (start !== null && (!out || k === one.values.length - 1)) {
            found.push({ start, end: one.t[k], name: one.name });
            start = null;
          }
        });
      }
      return found;
    }
    // Limits that are constant, each once: its value, side (0 lower, 1 upper), the lines that have it,
    // and whether one of them comes near it.
    function fixedLimits() {
      const found = new Map();
      for (const one of shown())
        one.limit.forEach((bound, side) => {
          if (!isNumber(bound)) return;
          const key = `${side} ${bound}`;
          if (!found.has(key)) found.set(key, { bound, side, owners: [], isNear: false });
          const limit = found.get(key), [least, most] = ends.get(one) || [0, 0];
          limit.owners.push(one);
          limit.isNear ||= bound >= least - near && bound <= most + near;
        });
      return [...found.values()].sort((a, b) => b.bound - a.bound);
    }
    // Lines whose colours stand at the label of a limit: none if all lines have it.
    const marked = ({ owners }) => owners.length === shown().length ? [] : owners.slice(0, MAX_MARKS);
    function limitWords(limit) {
      const more = marked(limit).length ? limit.owners.length - marked(limit).length : 0;
      return `${limit.side ? "≤" : "≥"} ${readable(limit.bound)}${more ? ` +${more}` : ""}`;
    }
    function namesOf({ bound, owners }) {
      const names = owners.slice(0, 3).map((one) => one.name).join(", ");
      return `limit ${readable(bound)} of ${names}${owners.length > 3 ? ` and ${owners.length - 3} more` : ""}`;
    }
    // Limits in view as dashed lines with a strip on their far side, and their values in the margin;
    // the nearest of those out of view as an arrow at the edge.
    function drawLimits(inside) {
      for (const one of shown())
        for (const bound of one.limit)
          if (Array.isArray(bound)) inside.append(drawn("path", { class: `bound ${strokeOf(one.colour)}`, d: pathOf(one, bound) }));
      const across = box.right - box.left, taken = [], roomy = width - box.right > NARROW_MARGIN;
      const label = (y, words, title, lines) => {
        if (taken.some((other) => Math.abs(other - y) < 12)) return;
        taken.push(y);
        let x = box.right + 4;
        for (const one of lines) {
          picture.append(drawn("path", { class: `track owner ${strokeOf(one.colour)}`, d: `M${x} ${y.toFixed(1)}h${MARK}` }));
          x += MARK + MARK_GAP;
        }
        const node = drawn("text", { class: "bound-name", x, y: (y + 4).toFixed(1) }, words);
        node.append(drawn("title", {}, title));
        picture.append(node);
      };
      const limits = fixedLimits(), above = limits.filter((x) => scaleY(x.bound) < box.top), below = limits.filter((x) => scaleY(x.bound) > box.bottom);
      const within = limits.filter((x) => x.isNear && !above.includes(x) && !below.includes(x));
      const edges = [[above.reverse(), "↑", box.top + 5], [below, "↓", box.bottom - 5]];
      for (const [away, arrow, y] of edges)
        if (away.length && !yAxis.log) label(y, roomy ? `${limitWords(away[0])} ${arrow}` : arrow, away.slice(0, 6).map(namesOf).join("\n"), roomy ? marked(away[0]) : []);
      for (const limit of within) {
        const y = scaleY(limit.bound), at = y - box.top, far = at + (limit.side ? -3 : 3);
        const kind = limit.owners.length === shown().length ? "" : strokeOf(limit.owners[0].colour);
        inside.append(drawn("path", { class: `bound-band ${kind}`, d: `M0 ${far.toFixed(1)}H${across}` }));
        inside.append(drawn("path", { class: `bound ${kind}`, d: `M0 ${at.toFixed(1)}H${across}` }));
        if (roomy) label(y, limitWords(limit), namesOf(limit), marked(limit));
      }
      const out = [...new Set(beyondLimits().map((x) => x.name))], more = out.length > 3 ? ` and ${out.length - 3} more` : "";
      note.classList.toggle("warning", out.length > 0);
      note.textContent = out.length ? `beyond its limit: ${out.slice(0, 3).join(", ")}${more}` : shown().some((one) => one.reference) ? "dotted: the reference" : options.note || "";
      note.title = note.textContent;
    }
    function draw() {
      if (width < 40 || height < 40) return;
      const frame = setScales(), { left, right, top, bottom } = box;
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.replaceChildren();
      drawFrame(frame);
      const inside = drawn("svg", { x: left, y: top, width: right - left, height: bottom - top });
      const shade = drawn("g", { class: "beyond" }); // as a group, overlaps are no darker
      for (const { start, end } of beyondLimits()) {
        const x = scaleX(start) - left;
        shade.append(drawn("rect", { x: x.toFixed(1), y: 0, width: Math.max(1.5, scaleX(end) - left - x).toFixed(1), height: bottom - top }));
      }
      inside.append(shade);
      drawLimits(inside);
      for (const one of others()) {
        const own = shown().find((other) => other.name === one.name);
        inside.append(drawn("path", { class: `track other c${own.colour % 8}`, d: pathOf(one, one.values) }));
      }
      for (const one of shown().filter((x) => x.band)) {
        const back = pathOf({ t: [...one.t].reverse() }, [...one.band[1]].reverse()).replace("M", "L");
        inside.append(drawn("path", { class: `band ${strokeOf(one.colour)}`, d: `${pathOf(one, one.band[0])}${back}Z` }));
      }
      for (const one of shown().filter((x) => x.reference))
        inside.append(drawn("path", { class: `track reference ${strokeOf(one.colour)}`, d: pathOf(one.reference, one.reference.values) }));
      for (const one of shown())
        inside.append(drawn("path", { class: `track ${one.dots ? "dots " : ""}${strokeOf(one.colour)}`, d: pathOf(one, one.values) }));
      for (const mark of options.marks || []) {
        const x = scaleX(mark.x) - left, late = x > (right - left) / 2;
        inside.append(drawn("path", { class: "bound", d: `M${x.toFixed(1)} 0V${bottom - top}` }));
        inside.append(drawn("text", { class: "bound-name", x: x + (late ? -5 : 5), y: 12, "text-anchor": late ? "end" : "start" }, mark.name));
      }
      inside.append(drawn("path", { class: "cursor" }), drawn("path", { class: "cursor hover" }), drawn("rect", { class: "zooming", width: 0, height: bottom - top }));
      picture.append(inside);
      placeCursor();
    }
    function placeCursor() {
      const lines = picture.querySelectorAll(".cursor");
      if (!lines.length) return;
      [cursor, hover].forEach((time, k) => {
        const x = time === null ? -9 : scaleX(time) - box.left;
        lines[k].setAttribute("d", `M${x.toFixed(1)} 0V${box.bottom - box.top}`);
      });
    }
    // The table of values at a time, beside it; of many lines those nearest to a level.
    function showTable(time, level) {
      const lines = shown().filter((one) => !one.dots && one.t.length);
      if (time === null || !lines.length) { table.hidden = true; return; }
      const rows = lines.map((one) => {
        const other = others().find((x) => x.name === one.name);
        return { one, value: one.values[nearest(one.t, time)], other: other ? other.values[nearest(other.t, time)] : undefined };
      });
      const far = (row) => isNumber(row.value) ? Math.abs(scaleY(row.value) - level) : Infinity;
      const chosen = level === null ? rows.slice(0, MOST_ROWS)
        : rows.filter((row) => rows.filter((x) => far(x) < far(row)).length < MOST_ROWS).slice(0, MOST_ROWS);
      const grid = made("table"), title = made("th", "", `${xAxis.name} = ${readable(time)} ${xAxis.unit}`);
      title.colSpan = 3;
      grid.append(title);
      for (const { one, value, other } of chosen) {
        const row = made("tr"), name = made("td");
        name.append(sample(one), one.name);
        row.append(name, made("td", "n", `${readable(value)} ${yAxis.unit}`));
        if (compare) row.append(made("td", "n soft", other === undefined ? "" : readable(other)));
        grid.append(row);
      }
      table.replaceChildren(grid);
      if (rows.length > chosen.length) table.append(made("small", "", `and ${rows.length - chosen.length} more`));
      table.hidden = false;
      const x = scaleX(time), wide = table.offsetWidth;
      table.style.left = `${Math.max(0, x + 14 + wide < width ? x + 14 : x - 14 - wide)}px`;
      table.style.top = `${Math.max(0, Math.min(26, level === null ? 26 : area.clientHeight - table.offsetHeight))}px`;
    }
    function sample(one) {
      const small = drawn("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" });
      small.append(drawn("path", { class: `track ${one.dots ? "dots " : ""}${strokeOf(one.colour)}`, d: one.dots ? "M4 4h0M11 4h0M18 4h0" : "M0 4H22" }));
      return small;
    }
    function drawLegend() {
      legend.replaceChildren(...series.map((one, k) => {
        const item = made("li"), button = made("button", "legend-name");
        [button.type, button.ariaPressed] = ["button", "true"];
        button.title = "click: hide or show; double click: this one alone";
        button.append(sample(one), one.name);
        button.addEventListener("click", () => plot.toggle(k));
        button.addEventListener("dblclick", () => plot.alone(k));
        item.append(button);
        return item;
      }));
    }
    function legendChanged(heardBy = shownListeners) {
      legend.querySelectorAll("button").forEach((button, k) => { button.ariaPressed = String(!hidden.has(k)); });
      draw();
      for (const fn of heardBy) fn(shown().map((one) => one.name));
    }
    const pixelOf = (event, place = area.getBoundingClientRect()) => [event.clientX - place.left, event.clientY - place.top];
    const within = (x) => Math.max(box.left, Math.min(box.right, x));
    function seek(time, heardBy = listeners) {
      cursor = time;
      placeCursor();
      for (const fn of heardBy) fn(time);
    }

    area.addEventListener("pointermove", (event) => {
      if (!box || !times.length) return;
      const [x, y] = pixelOf(event);
      if (heard) {
        heard.to = [within(x), y];
        const [from, to] = [heard.from[0], heard.to[0]].sort((a, b) => a - b), mark = picture.querySelector(".zooming");
        mark.setAttribute("x", (from - box.left).toFixed(1));
        mark.setAttribute("width", to - from < 5 ? 0 : (to - from).toFixed(1));
      }
      hover = times[nearest(times, xAxis.log ? 10 ** timeAt(within(x)) : timeAt(within(x)))];
      placeCursor();
      showTable(hover, y);
    });
    area.addEventListener("pointerleave", () => { hover = null; placeCursor(); showTable(null, null); });
    area.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !box) return;
      const at = pixelOf(event);
      heard = { from: [within(at[0]), at[1]], to: [within(at[0]), at[1]] };
      if (event.pointerType === "mouse") area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointercancel", () => { heard = null; });
    area.addEventListener("pointerup", () => {
      if (!heard) return;
      const [[a, b], [c, d]] = [heard.from, heard.to];
      heard = null;
      if (Math.abs(c - a) < 5) { if (times.length && !xAxis.log) seek(times[nearest(times, timeAt(a))]); return; }
      const sorted = (x, y) => x < y ? [x, y] : [y, x];
      const tall = Math.abs(d - b) > 0.35 * (box.bottom - box.top);
      zoom({ x: sorted(timeAt(a), timeAt(c)), y: tall ? sorted(valueAt(b), valueAt(d)) : null });
    });
    area.addEventListener("dblclick", () => zoom(null));
    area.addEventListener("keydown", (event) => {
      const last = times.length - 1, at = nearest(times, cursor ?? times[0]), stride = event.shiftKey ? 10 : 1;
      const to = { ArrowLeft: at - stride, ArrowRight: at + stride, Home: 0, End: last }[event.key];
      if (event.key === "Escape") { zoom(null); showTable(null, null); return; }
      if (to === undefined || last < 0) return;
      event.preventDefault();
      seek(times[Math.max(0, Math.min(last, to))]);
      showTable(cursor, null);
    });
    area.addEventListener("blur", () => showTable(null, null));
    function zoom(to, heardBy = zoomListeners) {
      view = to;
      draw();
      for (const fn of heardBy) fn(to ? to.x : null);
    }

    const plot = {
      legend,
      setCursor(time) { seek(time, []); },
      onCursor(fn) { listeners.push(fn); },
      setZoom(x) { zoom(x ? { x, y: null } : null, []); },
      onZoom(fn) { zoomListeners.push(fn); },
      setShown(names) {
        series.forEach((one, k) => hidden[names.includes(one.name) ? "delete" : "add"](k));
        legendChanged([]);
      },
      onShown(fn) { shownListeners.push(fn); },
      // A second run, drawn dashed in the colours of the lines with the same names; null: none.
      setCompare(second, t = options.t) {
        compare = second ? second.map((one) => ({ ...one, t: one.t || t })) : null;
        draw();
      },
      toggle(k) { hidden[hidden.has(k) ? "delete" : "add"](k); legendChanged(); },
      alone(k) {
        const only = shown().length === 1 && !hidden.has(k);
        hidden.clear();
        if (!only) series.forEach((_, other) => { if (other !== k) hidden.add(other); });
        legendChanged();
      },
      resize() {
        if (area.clientWidth === width && area.clientHeight === height) return;
        [width, height] = [area.clientWidth, area.clientHeight];
        draw();
      },
      state: () => ({ cursor, hover, view, x: rangeOfX(), shown: shown().map((one) => one.name) }),
      remove() { watcher.disconnect(); element.replaceChildren(); },
    };
    drawLegend();
    const watcher = new ResizeObserver(() => plot.resize());
    watcher.observe(area);
    plot.resize();
    return plot;
  };
})();

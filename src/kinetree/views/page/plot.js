// Interactive plots: lines over time or over another quantity, with grid, limits, a cursor and zoom.
//
// createPlot(element, {title, unit, t, series, cursor, note, x, violations}) draws into an element.
//   series: [{name, values, limit: null | [low, high], t?, dots?, colour?, reference?}]; null is a gap;
//     a limit is a number, null, or an array over t; reference: {t, values} that it should follow.
//   x: {name, unit}, if it is not time; violations: [{start, end, name}], times that are shaded, which
//     are computed from limits if not given.
// Drag zooms, double click goes back, a click or arrow keys move the cursor, the legend switches lines.

const createPlot = (() => {
  const NEAR = 0.15; // a limit is drawn if a line comes as near as this part of the range of all lines
  const MOST_ROWS = 10; // of the table at the cursor
  const SVG = "http://www.w3.org/2000/svg";

  function drawn(tag, attributes = {}, words = "") {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = words;
    return node;
  }
  function made(tag, kind = "", words = "") {
    return Object.assign(document.createElement(tag), { className: kind, textContent: words });
  }
  // Class of a line: the colour with a number, and dashes once all are used; or that of an energy.
  const strokeOf = (k) => typeof k === "string" ? `energy-${k}` : `c${k % 8} d${Math.floor(k / 8) % 4}`;
  const isNumber = (x) => x !== null && x !== undefined && Number.isFinite(x);

  // Round numbers between two bounds: multiples of 1, 2 or 5 times a power of ten.
  function ticksBetween(low, high, about, least) {
    if (!(high > low)) return [low];
    const rough = (high - low) / Math.max(1, about), size = 10 ** Math.floor(Math.log10(rough));
    const step = size * [1, 2, 5, 10].find((k) => size * k >= rough * (1 - 1e-9)), found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) found.push(Number((k * step).toPrecision(12)));
    return found.length < least ? ticksBetween(low, high, 2 * about, least) : found;
  }

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
    const xAxis = { name: "t", unit: "s", ...options.x }, unit = options.unit || "";
    const series = options.series.map((one, k) => ({ ...one, t: one.t || options.t, limit: one.limit || [null, null], colour: one.colour ?? k }));
    const times = series.find((one) => !one.dots)?.t || options.t || [];
    const hidden = new Set(), listeners = { cursor: [], zoom: [], shown: [] };
    let cursor = options.cursor ?? null, hover = null, pressed = null, view = null, compare = null;
    let width = 0, height = 0, box = null, scaleX = null, scaleY = null, timeAt = null;
    const tell = (kind, value) => { for (const fn of listeners[kind]) fn(value); };

    element.replaceChildren();
    element.classList.add("chart");
    const head = made("figcaption", "chart-head"), note = made("span", "soft"), area = made("div", "chart-area");
    head.append(made("b", "", options.title), note);
    Object.assign(area, { tabIndex: 0, role: "group", ariaLabel: `${options.title}: arrow keys move the cursor, Escape shows all` });
    const table = made("div", "chart-table"), picture = drawn("svg", { class: "chart-svg", role: "img", "aria-label": options.title });
    Object.assign(table, { hidden: true, ariaLive: "polite" });
    area.append(picture, table);
    const legend = made("ul", "legend");
    element.append(head, area, legend);

    const shown = () => series.filter((_, k) => !hidden.has(k));
    const others = () => (compare || []).filter((one) => shown().some((own) => own.name === one.name));
    const limitsOf = () => shown().flatMap((one) => one.limit.filter(isNumber));

    function rangeOfX() {
      if (view) return view;
      const ends = [...series, ...(compare || [])].flatMap((one) => one.dots || one.t.length < 3 ? one.t : [one.t[0], one.t.at(-1)]).filter(isNumber);
      const low = Math.min(...ends), high = Math.max(...ends);
      return ends.length && high > low ? [low, high] : [low || 0, (low || 0) + 1];
    }
    function rangeOfY([from, to]) {
      let low = Infinity, high = -Infinity;
      for (const one of [...shown(), ...others(), ...shown().flatMap((x) => x.reference || [])])
        one.values.forEach((y, k) => {
          if (!isNumber(y) || one.t[k] < from || one.t[k] > to) return;
          [low, high] = [Math.min(low, y), Math.max(high, y)];
        });
      if (!(low <= high)) [low, high] = [0, 1];
      const near = NEAR * (high - low), close = limitsOf().filter((x) => x >= low - near && x <= high + near);
      [low, high] = [Math.min(low, ...close), Math.max(high, ...close)];
      const reach = Math.max(Math.abs(low), Math.abs(high)), pad = high - low > 1e-9 * reach ? 0.06 * (high - low) : 0.1 * reach || 1;
      return [low - pad, high + pad];
    }
    // Straight scales from values on the axes to pixels, and back.
    function setScales() {
      const xs = rangeOfX(), ys = rangeOfY(xs);
      const yTicks = ticksBetween(...ys, Math.max(3, height / 42), height < 120 ? 2 : 3), labels = yTicks.map((y) => numberText(y, 6));
      const left = Math.max(44, ...labels.map((text) => 7 * text.length + 12), 6.6 * unit.length + 8);
      box = { left, right: width - 12, top: 22, bottom: height - 24 };
      scaleX = (x) => box.left + (x - xs[0]) / (xs[1] - xs[0]) * (box.right - box.left);
      scaleY = (y) => box.bottom - (y - ys[0]) / (ys[1] - ys[0]) * (box.bottom - box.top);
      timeAt = (pixel) => xs[0] + (pixel - box.left) / (box.right - box.left) * (xs[1] - xs[0]);
      return { xs, yTicks, labels };
    }
    function drawFrame({ xs, yTicks, labels }) {
      const { left, right, top, bottom } = box, words = xAxis.unit ? `${xAxis.name}, ${xAxis.unit}` : xAxis.name;
      yTicks.forEach((y, k) => {
        const at = scaleY(y).toFixed(1);
        picture.append(drawn("path", { class: y === 0 ? "axis zero" : "axis", d: `M${left} ${at}H${right}` }));
        picture.append(drawn("text", { x: left - 6, y: +at + 4, "text-anchor": "end" }, labels[k]));
      });
      for (const x of ticksBetween(...xs, Math.max(2, width / 90), 3)) {
        const at = scaleX(x), text = numberText(x, 6);
        picture.append(drawn("path", { class: "axis", d: `M${at.toFixed(1)} ${top}V${bottom}` }));
        if (at + 3.5 * text.length < right - 7 * words.length - 8) picture.append(drawn("text", { x: at.toFixed(1), y: bottom + 17, "text-anchor": "middle" }, text));
      }
      picture.append(drawn("text", { x: right, y: bottom + 17, "text-anchor": "end" }, words), drawn("text", { x: left - 6, y: 13, "text-anchor": "end" }, unit));
    }
    function pathOf(one, values = one.values) {
      let d = "", pen = "M";
      values.forEach((value, k) => {
        if (!isNumber(value)) { pen = "M"; return; }
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
        one.values.forEach((value, k) => {
          const [low, high] = one.limit.map((bound) => Array.isArray(bound) ? bound[k] : bound), slack = 1e-9 * Math.abs(value);
          const out = isNumber(value) && ((isNumber(high) && value > high + slack) || (isNumber(low) && value < low - slack));
          if (out && start === null) start = one.t[k];
          if (start === null || (out && k < one.values.length - 1)) return;
          found.push({ start, end: one.t[k], name: one.name });
          start = null;
        });
      }
      return found;
    }
    // Limits in view as dashed lines with their values; lines that are beyond theirs are named.
    function drawLimits(inside) {
      for (const one of shown())
        for (const bound of one.limit)
          if (Array.isArray(bound)) inside.append(drawn("path", { class: `bound ${strokeOf(one.colour)}`, d: pathOf(one, bound) }));
      for (const bound of new Set(limitsOf())) {
        const y = scaleY(bound) - box.top;
        if (y < 0 || y > box.bottom - box.top) continue;
        const owners = shown().filter((one) => one.limit.includes(bound)), label = drawn("text", { class: "bound-name", x: box.right - box.left - 4, y: y < 12 ? y + 12 : y - 3, "text-anchor": "end" }, `limit ${numberText(bound)}`);
        label.append(drawn("title", {}, owners.map((one) => one.name).join(", ")));
        inside.append(drawn("path", { class: `bound ${owners.length === 1 ? strokeOf(owners[0].colour) : ""}`, d: `M0 ${y.toFixed(1)}H${box.right - box.left}` }), label);
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
      for (const one of others()) inside.append(drawn("path", { class: `track other ${strokeOf(shown().find((own) => own.name === one.name).colour)}`, d: pathOf(one) }));
      for (const one of shown().filter((x) => x.reference)) inside.append(drawn("path", { class: `track reference ${strokeOf(one.colour)}`, d: pathOf(one.reference) }));
      for (const one of shown()) inside.append(drawn("path", { class: `track ${one.dots ? "dots " : ""}${strokeOf(one.colour)}`, d: pathOf(one) }));
      inside.append(drawn("path", { class: "cursor" }), drawn("path", { class: "cursor hover" }), drawn("rect", { class: "zooming", width: 0, height: bottom - top }));
      picture.append(inside);
      placeCursor();
    }
    function placeCursor() {
      const lines = picture.querySelectorAll(".cursor");
      if (lines.length) [cursor, hover].forEach((time, k) => lines[k].setAttribute("d", `M${(time === null ? -9 : scaleX(time) - box.left).toFixed(1)} 0V${box.bottom - box.top}`));
    }
    // The table of values at a time, beside it; of many lines those nearest to a level.
    function showTable(time, level) {
      const rows = shown().filter((one) => !one.dots && one.t.length).map((one) => {
        const other = others().find((x) => x.name === one.name);
        return { one, value: one.values[nearest(one.t, time)], other: other && other.values[nearest(other.t, time)] };
      });
      table.hidden = time === null || !rows.length;
      if (table.hidden) return;
      const far = ({ value }) => isNumber(value) && level !== null ? Math.abs(scaleY(value) - level) : 0;
      const chosen = [...rows].sort((a, b) => far(a) - far(b)).slice(0, MOST_ROWS), grid = made("table"), title = made("th", "", `${xAxis.name} = ${numberText(time)} ${xAxis.unit}`);
      title.colSpan = 3;
      grid.append(title);
      for (const { one, value, other } of rows.filter((row) => chosen.includes(row))) {
        const row = made("tr"), name = made("td");
        name.append(sample(one), one.name);
        row.append(name, made("td", "n", `${numberText(value)} ${unit}`));
        if (compare) row.append(made("td", "n soft", other === undefined ? "" : numberText(other)));
        grid.append(row);
      }
      table.replaceChildren(grid);
      if (rows.length > chosen.length) table.append(made("small", "", `and ${rows.length - chosen.length} more`));
      const x = scaleX(time), wide = table.offsetWidth;
      table.style.left = `${Math.max(0, x + 14 + wide < width ? x + 14 : x - 14 - wide)}px`;
      table.style.top = `${Math.max(0, Math.min(26, area.clientHeight - table.offsetHeight))}px`;
    }
    function sample(one) {
      const small = drawn("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" });
      small.append(drawn("path", { class: `track ${one.dots ? "dots " : ""}${strokeOf(one.colour)}`, d: one.dots ? "M4 4h0M11 4h0M18 4h0" : "M0 4H22" }));
      return small;
    }
    function drawLegend() {
      legend.replaceChildren(...series.map((one, k) => {
        const item = made("li"), button = Object.assign(made("button", "legend-name"), { type: "button", ariaPressed: "true", title: "click: hide or show; double click: this one alone" });
        button.append(sample(one), one.name);
        button.addEventListener("click", () => switchLines((hides) => hides[hides.has(k) ? "delete" : "add"](k)));
        button.addEventListener("dblclick", () => switchLines((hides) => {
          const only = shown().length === 1 && !hides.has(k);
          hides.clear();
          if (!only) series.forEach((_, other) => { if (other !== k) hides.add(other); });
        }));
        item.append(button);
        return item;
      }));
    }
    function switchLines(change, told = true) {
      change(hidden);
      legend.querySelectorAll("button").forEach((button, k) => { button.ariaPressed = String(!hidden.has(k)); });
      draw();
      if (told) tell("shown", shown().map((one) => one.name));
    }
    const pixelOf = (event, place = area.getBoundingClientRect()) => [event.clientX - place.left, event.clientY - place.top];
    const within = (x) => Math.max(box.left, Math.min(box.right, x)), timeOf = (x) => times[nearest(times, timeAt(within(x)))];
    function seek(time, told = true) {
      cursor = time;
      placeCursor();
      if (told) tell("cursor", time);
    }
    function zoom(to, told = true) {
      view = to;
      draw();
      if (told) tell("zoom", to);
    }

    area.addEventListener("pointermove", (event) => {
      if (!box || !times.length) return;
      const [x, y] = pixelOf(event);
      if (pressed !== null) {
        const [from, to] = [pressed, within(x)].sort((a, b) => a - b), mark = picture.querySelector(".zooming");
        mark.setAttribute("x", (from - box.left).toFixed(1));
        mark.setAttribute("width", to - from < 5 ? 0 : (to - from).toFixed(1));
      }
      hover = timeOf(x);
      placeCursor();
      showTable(hover, y);
    });
    area.addEventListener("pointerleave", () => { hover = null; placeCursor(); showTable(null, null); });
    area.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !box) return;
      pressed = within(pixelOf(event)[0]);
      if (event.pointerType === "mouse") area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointercancel", () => { pressed = null; });
    area.addEventListener("pointerup", (event) => {
      if (pressed === null) return;
      const [from, to] = [pressed, within(pixelOf(event)[0])].sort((a, b) => a - b);
      pressed = null;
      if (to - from >= 5) zoom([timeAt(from), timeAt(to)]); else if (times.length) seek(timeOf(from));
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

    const plot = {
      legend,
      setCursor(time) { seek(time, false); },
      setZoom(x) { zoom(x, false); },
      setShown(names) { switchLines((hides) => series.forEach((one, k) => hides[names.includes(one.name) ? "delete" : "add"](k)), false); },
      onCursor(fn) { listeners.cursor.push(fn); },
      onZoom(fn) { listeners.zoom.push(fn); },
      onShown(fn) { listeners.shown.push(fn); },
      // A second run, drawn dashed in the colours of the lines with the same names; null: none.
      setCompare(second) { compare = second; draw(); },
      state: () => ({ cursor, hover, view, x: rangeOfX(), shown: shown().map((one) => one.name) }),
    };
    drawLegend();
    new ResizeObserver(() => {
      if (area.clientWidth === width && area.clientHeight === height) return;
      [width, height] = [area.clientWidth, area.clientHeight];
      draw();
    }).observe(area);
    return plot;
  };
})();

// All charts of a page, drawn in place of their pictures: charts over time share zoom and cursor, and
// a line that is switched off in one is switched off in all that have the same names.

const namesOf = (options) => options.series.map((one) => one.name).join("\n");

function createCharts(charts, moved = () => {}) {
  const plots = charts.map((options, k) => createPlot(document.querySelector(`[data-chart="${k}"]`), options));
  const overTime = (k) => !charts[k].x || charts[k].x.name === "t";
  plots.forEach((plot, k) => {
    const repeated = k + 1 < charts.length && namesOf(charts[k + 1]) === namesOf(charts[k]);
    document.querySelector(`[data-chart="${k}"]`).classList.toggle("repeated", repeated);
    const linked = plots.filter((_, other) => other !== k && overTime(k) && overTime(other));
    const alike = plots.filter((_, other) => other !== k && namesOf(charts[other]) === namesOf(charts[k]));
    plot.onCursor((time) => {
      if (!overTime(k)) return;
      for (const other of linked) other.setCursor(time);
      moved(time);
    });
    plot.onZoom((x) => { for (const other of linked) other.setZoom(x); });
    plot.onShown((names) => { for (const other of alike) other.setShown(names); });
  });
  return plots;
}

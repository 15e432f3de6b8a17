const OPTIONS = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
const drawn = [];

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), tickcolor: colour("--line") };
  return {
    font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", axis,
    hover: { bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
  };
}

function themed(layout) {
  const { axis, hover, ...rest } = theme();
  const height = layout.height + (innerWidth < 560 ? 70 : 0);
  return { ...layout, ...rest, height, hoverlabel: hover, xaxis: titled(layout.xaxis, axis), yaxis: titled(layout.yaxis, axis) };
}

function titled(given, axis) {
  return { ...given, ...axis, title: { ...given.title, font: { size: 13 } } };
}

function draw(id, figure) {
  const place = at(id);
  if (!place || !figure) return;
  Plotly.react(place, figure.data, themed(figure.layout), OPTIONS);
  if (!drawn.includes(id)) drawn.push(id);
}

function chosenLine() {
  const sorted = rows.epsilon.map((values) => values[state.cosine]).filter((units) => units > 0).sort((a, b) => a - b);
  const scale = 10 ** data.digits, x = [0], y = [sorted.length / total];
  sorted.forEach((units, place) => {
    if (units === sorted[place + 1]) return;
    x.push(units / scale);
    y.push((sorted.length - place - 1) / total);
  });
  return { x, y };
}

function drawFractions() {
  const figure = data.charts.fractions;
  if (!figure || !at("chart-fractions")) return;
  const name = `chosen: cosine ${data.cosines[state.cosine]}`;
  Object.assign(figure.data[0], chosenLine(), { name, line: { ...figure.data[0].line, shape: "hv" } });
  figure.data[0].hovertemplate = `${name}: %{y:.1%} at epsilon %{x:.3f}<extra></extra>`;
  const x = state.epsilon / 10 ** data.digits;
  figure.layout.shapes = [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: theme().font.color, width: 1.5, dash: "dot" } }];
  const right = x > figure.layout.xaxis.range[1] / 2;
  figure.layout.annotations = [{
    x, y: 0.02, yref: "paper", yanchor: "bottom", xanchor: right ? "right" : "left", xshift: right ? -4 : 4,
    showarrow: false, bgcolor: theme().hover.bgcolor, text: `epsilon ${shown(state.epsilon)}`,
  }];
  draw("chart-fractions", figure);
}

// A cosine proved at epsilon holds for every smaller change, so the line steps down before each known point.
function drawCurve(row) {
  const curve = data.details[row].curve, x = [0], y = [1];
  curve.forEach((value, place) => { if (value >= 0) { x.push(data.grid[place]); y.push(value / 1000); } });
  if (x.length === 1) { Plotly.purge(at("large-curve")); at("large-curve").textContent = "No curve: nothing is " + data.word + "."; return; }
  at("large-curve").replaceChildren();
  const traces = [{ x, y, name: data.word, mode: "lines", line: { shape: "vh", width: 2.6, color: "#1a7f64" }, fill: "tozeroy", fillcolor: "rgba(26,127,100,0.16)", hovertemplate: "cosine at least %{y:.3f} at epsilon %{x:.3f}<extra></extra>" }];
  const found = data.findings[row];
  if (found) traces.push({ x: [Number(found.epsilon)], y: [Number(found.worst)], name: "worst found by attack", mode: "markers", marker: { size: 11, symbol: "x", color: "#c8553d" }, hovertemplate: "attack: cosine %{y:.3f} at epsilon %{x:.3f}<extra></extra>" });
  const layout = {
    height: 280, margin: { l: 58, r: 14, t: 10, b: 48 }, dragmode: false, showlegend: true, legend: { orientation: "h", y: 1.03, yanchor: "bottom" },
    xaxis: { title: { text: "epsilon: l2 size of the change" }, rangemode: "tozero", zeroline: false },
    yaxis: { title: { text: "cosine at least" }, range: [0, 1.03], zeroline: false },
  };
  Plotly.newPlot(at("large-curve"), traces, themed(layout), OPTIONS);
}

function drawFeatures(row) {
  const features = data.details[row].features, place = at("large-features");
  Plotly.purge(place);
  place.replaceChildren();
  if (!features) return;
  const colours = { plain: "#7a7a7a", smoothed: "#2b7bba", attacked: "#c8553d" };
  const traces = Object.entries(features).map(([key, y]) => ({
    type: "bar", name: NAMES[key], y, x: y.map((_, number) => number), marker: { color: colours[key] }, hovertemplate: "feature %{x}: %{y:.3f}<extra></extra>",
  }));
  const layout = {
    height: 240, margin: { l: 58, r: 14, t: 10, b: 48 }, dragmode: false, legend: { orientation: "h", y: 1.03, yanchor: "bottom" },
    xaxis: { title: { text: "feature" } }, yaxis: { title: { text: "share of the map" }, zeroline: true },
  };
  Plotly.newPlot(place, traces, themed(layout), OPTIONS);
}

function drawAll() {
  drawFractions();
  draw("chart-band", data.charts.band);
  draw("chart-scan", data.charts.scan);
  if (at("large").open && opened !== null) drawCurve(opened);
}

function setUpCharts() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);
}

const STYLES = ["c0", "c1", "c2", "c3", "c4", "c5"];
const EPSILON = `epsilon: the change's ${data.size}`;
const stops = Array.from({ length: data.scale.count }, (_, place) => (place + 1) * data.scale.step);
const amount = (units) => units / 10 ** data.scale.digits;

// Counted shares are rounded down: 9,996 of 10,000 are 99.9 %.
const percentDown = (count, all) => `${(Math.floor(1000 * count / all) / 10).toFixed(1)} %`;

// The first stop at or beyond a size: what is proved there covers it.
const stopAt = (value) => stops.findIndex((units) => amount(units) >= value);

function shareLine(column, style, name) {
  const counts = data.counts.holds[column], any = counts[0] ?? 0;
  return { name, style, steps: true, x: [0, ...stops.map(amount)], y: [any, ...counts].map((count) => count / data.total), column };
}

function drawFractions() {
  const place = at("chart-fractions");
  if (!place) return;
  const chosen = state.cosine, lines = [];
  data.drawn.forEach((column, number) => {
    if (column !== chosen) lines.push(shareLine(column, STYLES[number % 6], `cosine ${data.cosines[column]}`));
  });
  lines.push(shareLine(chosen, "chosen", `chosen: cosine ${data.cosines[chosen]}`));
  const last = Math.max(...lines.map((line) => data.counts.holds[line.column].findLastIndex((count) => count > 0)), stop());
  for (const line of lines) for (const axis of ["x", "y"]) line[axis] = line[axis].slice(0, last + 3);
  plot(place, {
    x: { title: EPSILON, top: amount(stops[Math.min(last + 1, stops.length - 1)]) * 1.01 },
    y: { title: `share of all ${data.nouns}`, top: 1.02, percent: true },
    lines,
    mark: { x: amount(state.epsilon), text: `epsilon ${shown(state.epsilon)}` },
    tip: (value) => {
      const here = stopAt(value);
      if (here < 0) return [];
      const rest = lines.map((line) => `${line.name}: ${percentDown(data.counts.holds[line.column][here], data.total)}`);
      return [`epsilon ${shown(stops[here])}`, ...rest.reverse()];
    },
  });
}

function drawBand() {
  const figure = data.charts.band, place = at("chart-band");
  if (!figure || !place) return;
  const styles = ["chosen", "broken"];
  const lines = figure.lines.map((line, number) => ({
    name: line.name, style: styles[number], steps: true, fill: number === 0,
    x: figure.x.slice(0, line.counts.length), y: line.counts.map((count) => count / figure.total),
  }));
  plot(place, {
    x: { title: EPSILON, top: figure.top }, y: { title: "share of attacked inputs", top: 1.02, percent: true }, lines,
    tip: (value) => {
      const point = figure.x.findIndex((known) => known >= value);
      if (point < 0) return [];
      const known = figure.lines.filter((line) => point < line.counts.length);
      return [`epsilon ${(Math.floor(1000 * value) / 1000).toFixed(3)}`, ...known.map((line) => `${line.name}: ${percentDown(line.counts[point], figure.total)}`)];
    },
  });
}

function drawScan() {
  const figure = data.charts.scan, place = at("chart-scan");
  if (!figure || !place) return;
  const top = Math.max(...figure.x, 1e-9) * 1.15;
  plot(place, {
    x: { title: figure.title, top }, y: { title: "accuracy under noise", top: 1.05, percent: true },
    lines: [
      { name: "accuracy without noise", style: "c5", x: [0, top], y: [figure.accuracy, figure.accuracy] },
      { name: "noise levels", style: "c1", dots: true, x: figure.x, y: figure.y, names: figure.names },
    ],
    tip: (value) => {
      const near = figure.x.map((known) => Math.abs(known - value));
      return [figure.texts[near.indexOf(Math.min(...near))]];
    },
  });
}

// A cosine proved at epsilon holds for every smaller change, so the line steps down before each known point.
function drawCurve(row) {
  const curve = data.details[row].curve, place = at("large-curve"), x = [0], y = [1];
  curve.forEach((value, stop) => { if (value >= 0) { x.push(amount(stops[stop])); y.push(value / 1000); } });
  if (x.length === 1) { place.textContent = `No curve: nothing is ${data.word}.`; return; }
  const lines = [{ name: `${data.word}: cosine at least`, style: "chosen", steps: true, fill: true, x, y }];
  const found = data.findings[row];
  if (found) lines.push({ name: "worst found by attack", style: "broken", points: true, x: [Number(found.epsilon)], y: [Math.max(Number(found.worst), 0)] });
  plot(place, {
    height: 260, x: { title: EPSILON, top: Math.max(x.at(-1), found ? Number(found.epsilon) : 0) * 1.05 }, y: { title: "cosine at least", top: 1.03 }, lines,
    tip: (value) => {
      const here = stopAt(value);
      return here < 0 || !(curve[here] >= 0) ? [] : [`epsilon ${shown(stops[here])}`, `cosine at least ${(curve[here] / 1000).toFixed(3)}`];
    },
  });
}

const BAR_STYLES = { plain: "c5", smoothed: "c1", attacked: "c2" };

// Features whose side is proved carry their mark before their name.
function drawMarks(row, place) {
  const features = data.details[row].features, marks = marksOf(row);
  if (!marks.length) return;
  place.querySelectorAll(".feature .label").forEach((label, number) => {
    const mark = marks[features.places[number]];
    label.prepend(make("span", { className: `badge ${mark}`, title: MARKS[mark], text: { hot: "hot", cold: "cold", open: "?" }[mark] }));
  });
}

function drawFeatures(row, place, most) {
  const features = data.details[row].features;
  if (!features) { place.replaceChildren(); return; }
  const groups = Object.fromEntries(Object.entries(features.values).map(([key, values]) => [key, values.slice(0, most)]));
  bars(place, features.names.slice(0, most), most <= 6 ? { smoothed: groups.smoothed ?? Object.values(groups)[0] } : groups, BAR_STYLES);
  drawMarks(row, place);
  if (most <= 6) return;
  const names = Object.keys(groups).map((key) => make("li", {}, make("span", { className: `swatch ${BAR_STYLES[key]}` }), NAMES[key]));
  place.prepend(make("ul", { className: "key" }, ...names));
  const left = features.of - Math.min(features.of, most);
  if (left > 0) place.append(make("p", { className: "hint", text: `The ${features.names.length} largest of ${features.of} values; bars are shares of the map's length.` }));
}

function drawAll() {
  drawFractions();
  drawBand();
  drawScan();
  if (at("large").open && opened !== null) drawCurve(opened);
}

function setUpCharts() {
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
}

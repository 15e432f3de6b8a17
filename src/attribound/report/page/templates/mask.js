// The trust mask: which cells may be relied on at the chosen epsilon. Proved hot in colour, proved cold faded,
// unproved hatched.
const MARKS = { hot: "proved hot", cold: "proved cold", open: "unproved" };
const FEW = 256;

function markOf(units) {
  if (units === 0 || Math.abs(units) < state.epsilon) return "open";
  return units > 0 ? "hot" : "cold";
}

function marksOf(row) {
  const votes = data.details[row].votes;
  return votes ? votes.fractions[state.fraction].map(markOf) : [];
}

function tally(row) {
  const counts = { hot: 0, cold: 0, open: 0 };
  for (const mark of marksOf(row)) counts[mark] += 1;
  return counts;
}

function maskWords(row) {
  const counts = tally(row);
  return `at epsilon ${shown(state.epsilon)}: ${counts.hot} cells proved hot, ${counts.cold} proved cold, ${counts.open} unproved`;
}

function hasMask(row) {
  const detail = data.details[row];
  return Boolean(detail.votes) && detail.votes.shape.length === 2 && "input" in detail.pictures;
}

function mask(row) {
  const detail = data.details[row], [height, width] = detail.votes.shape;
  const cells = marksOf(row).map((mark, number) => shape("rect", {
    class: mark, x: number % width, y: Math.floor(number / width), width: 1, height: 1,
  }));
  const picture = shape("svg", { class: "over", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "shape-rendering": "crispEdges", "aria-hidden": "true" }, ...cells);
  return make("span", { className: "stack", role: "img", "aria-label": `Trust mask of ${title(row)}, ${maskWords(row)}` },
    make("img", { src: detail.pictures.input, alt: "", className: detail.large ? "large" : "small" }), picture);
}

function maskPanel(row, whole) {
  const counts = tally(row);
  return make("span", { className: "mask" }, mask(row), whole ? `trust mask ${maskWords(row)}` : `trust mask, ${counts.hot} hot, ${counts.cold} cold`);
}

// Cells of inputs that hold together with their class: what the first sentence speaks of.
function markedCells() {
  let sum = 0;
  for (const row of Object.keys(data.details).map(Number)) {
    if (data.details[row].votes && holds(row)) {
      const counts = tally(row);
      sum += counts.hot + counts.cold;
    }
  }
  return sum;
}

function setUpMasks() {
  at("fraction")?.addEventListener("change", (event) => { state.fraction = event.target.value; update(); });
  const slider = at("large-epsilon"), step = data.scale.step;
  Object.assign(slider, { min: step, max: step * data.scale.count, step });
  slider.addEventListener("input", (event) => {
    state.epsilon = Number(event.target.value);
    at("epsilon").value = state.epsilon;
    update();
    enlarge(opened);
  });
}

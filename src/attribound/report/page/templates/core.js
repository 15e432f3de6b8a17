const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

function firstFraction() {
  const votes = Object.values(data.details).map((detail) => detail.votes).find(Boolean);
  return votes ? Object.keys(votes.fractions)[0] : "";
}

const rows = data.rows, held = rows.item.length;
const state = { cosine: data.start.cosine, epsilon: (data.start.stop + 1) * data.scale.step, sort: "item", class: "", status: "", fraction: firstFraction() };

// Epsilons are whole numbers of the last digit shown, rounded down where they were made: comparing them is exact.
const shown = (units) => (units / 10 ** data.scale.digits).toFixed(data.scale.digits);
const budget = (row) => rows.epsilon[row][state.cosine];
const visibleBudget = (row) => rows.visible[row][state.cosine];
const className = (label) => label === null ? "unknown" : label in data.classes ? data.classes[label] : String(label);
const stop = () => state.epsilon / data.scale.step - 1;
const count = (table) => data.counts[table][state.cosine]?.[stop()] ?? 0;

// What the first sentence counts, everywhere the same: where it speaks of the class, the class must stay, too.
const turnsLittle = (row) => budget(row) > 0 && budget(row) >= state.epsilon;
const keepsClass = (row) => count("joint") === 0 || rows.held[row] >= state.epsilon;
const holds = (row) => turnsLittle(row) && keepsClass(row);

function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (all, key) => key in values ? values[key] : all);
}

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") element.textContent = value;
    else if (key in element && key !== "colSpan") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// The counts are over all records, also those that the table does not hold.
function verdict() {
  const values = {
    count: count("holds"), joint: count("joint"), visible: count("visible"), marked: markedCells(),
    correct: count("joint") ? count("joint_correct") : count("correct"),
    epsilon: shown(state.epsilon), cosine: data.cosines[state.cosine], degrees: data.degrees[state.cosine],
  };
  at("verdict").textContent = fill(data.sentences[values.joint ? "joint" : values.count ? "some" : "none"], values);
  at("apart").textContent = values.joint && values.count > values.joint ? fill(data.sentences.apart, values) : "";
  at("seen").textContent = values.count ? fill(data.sentences.seen, values) : "";
  at("epsilon-shown").textContent = values.epsilon;
  at("cosine-shown").textContent = `at most ${values.degrees} degrees (cosine ${values.cosine})`;
  at("epsilon").setAttribute("aria-valuetext", `epsilon ${values.epsilon}`);
  at("cosine").setAttribute("aria-valuetext", `cosine ${values.cosine}, ${values.degrees} degrees`);
  caution(Number(values.cosine), values.count);
}

function caution(cosine, some) {
  data.cautions.forEach((one, number) => {
    const fits = one.above === null ? cosine <= one.upto : cosine > one.above;
    at(`caution-${number}`).hidden = !(fits && some);
  });
}

const kept = {
  holds,
  not: (row) => !holds(row),
  turns: (row) => turnsLittle(row) && !holds(row),
  wrong: (row) => rows.label[row] !== null && rows.label[row] !== rows.prediction[row],
  attacked: (row) => row in data.findings,
  violated: (row) => row in data.findings && data.findings[row].violated,
};

function selection() {
  const chosen = [];
  const wanted = state.status;
  for (let row = 0; row < held; row += 1) {
    if (state.class !== "" && String(rows.label[row]) !== state.class) continue;
    if (wanted !== "" && !(wanted in kept ? kept[wanted](row) : rows.status[row] === wanted.slice(1))) continue;
    chosen.push(row);
  }
  const order = {
    item: (a, b) => a - b,
    low: (a, b) => budget(a) - budget(b) || a - b,
    high: (a, b) => budget(b) - budget(a) || a - b,
    class: (a, b) => (rows.label[a] ?? 1e9) - (rows.label[b] ?? 1e9) || a - b,
  };
  return chosen.sort(order[state.sort]);
}

function pill(row) {
  if (kept.violated(row)) return make("span", { className: "pill violated", text: "violated" });
  if (rows.status[row] === "error") return make("span", { className: "pill error", text: "error" });
  if (kept.turns(row)) return make("span", { className: "pill no", text: "class not " + data.word + " here" });
  if (!holds(row)) return make("span", { className: "pill no", text: "not " + data.word + " here" });
  return data.guaranteed
    ? make("span", { className: "pill yes", text: "proved" })
    : make("span", { className: "pill assumed", text: data.word });
}

function setUp() {
  if (!at("epsilon")) return;
  const step = data.scale.step;
  Object.assign(at("epsilon"), { min: step, max: step * data.scale.count, step, value: state.epsilon });
  Object.assign(at("cosine"), { min: 0, max: data.cosines.length - 1, step: 1, value: state.cosine });
  at("epsilon").addEventListener("input", (event) => { state.epsilon = Number(event.target.value); update(); });
  at("cosine").addEventListener("input", (event) => { state.cosine = Number(event.target.value); update(); });
}

function setUpFilters() {
  if (!at("sort")) return;
  const labels = [...new Set(rows.label)].filter((label) => label !== null).sort((a, b) => a - b);
  at("class").append(...labels.map((label) => make("option", { value: String(label), text: className(label) })));
  const options = [["holds", data.word + " at the chosen epsilon"], ["not", "not " + data.word + " there"]];
  if (rows.held) options.push(["turns", "only the class not " + data.word + " there"]);
  if (labels.length) options.push(["wrong", "classified wrongly"]);
  if (Object.keys(data.findings).length) options.push(["attacked", "attacked"], ["violated", "violated by an attack"]);
  for (const status of [...new Set(rows.status)].sort()) options.push(["=" + status, "status: " + status]);
  at("status").append(...options.map(([value, text]) => make("option", { value, text })));
  for (const key of ["sort", "class", "status"]) {
    at(key).addEventListener("change", (event) => { state[key] = event.target.value; update(); });
  }
}

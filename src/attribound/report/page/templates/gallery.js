const CARDS = 24, LINES = 25, BARS = 6;
const NAMES = { input: "input", plain: "plain map", smoothed: "smoothed map", attacked: "attacked map", struck: "attacked input", change: "the change" };
const STRIP = ["input", "plain", "smoothed", "attacked"];
const LAID = ["plain", "smoothed", "attacked"];
let current = [], shownCards = CARDS, page = 0, opened = null;

function title(row) {
  return `${data.noun[0].toUpperCase()}${data.noun.slice(1)} ${rows.item[row]}${rows.input[row] ? ` (${rows.input[row]})` : ""}: ${className(rows.label[row])}`;
}

function claim(row) {
  if (rows.status[row] === "error") return `Failed: ${rows.note[row]}`;
  if (budget(row) <= 0) return `Nothing is ${data.word} at cosine ${data.cosines[state.cosine]}.`;
  const stays = !rows.held ? "" : rows.held[row] > 0 ? ` Its class stays up to ${shown(rows.held[row])}.` : " Its class is not proved to stay.";
  return `Keeps cosine ${data.cosines[state.cosine]} up to epsilon ${shown(budget(row))} (maps as sampled: ${shown(visibleBudget(row))}).${stays}`;
}

function attackText(row) {
  const found = data.findings[row];
  if (!found) return "";
  const label = found.kept ? "" : " The prediction changed.";
  const end = found.violated ? " This violates the certificate." : "";
  return `Attacked at epsilon ${found.epsilon} (${found.method}): worst cosine found ${found.worst}, ${data.word} ${found.certified}.${label}${end}`;
}

function caption(row, key) {
  const detail = data.details[row], cosine = detail.cosines[key];
  if (key === "change") return `the change, ${data.size} ${detail.change.length}, times ${detail.change.factor}`;
  return cosine === undefined ? NAMES[key] : `${NAMES[key]}, cosine ${cosine}`;
}

// A map that is coarser than its input is laid over it, smoothly for the eye; cell borders are drawn on request.
function picture(row, key) {
  const detail = data.details[row], words = `${caption(row, key)}, ${title(row)}`, size = detail.large ? "large" : "small";
  if (!detail.cells || !LAID.includes(key)) return make("img", { src: detail.pictures[key], alt: words, className: size });
  const grid = make("span", { className: "borders", "aria-hidden": "true" });
  grid.style.setProperty("--rows", detail.cells[0]);
  grid.style.setProperty("--columns", detail.cells[1]);
  return make("span", { className: "stack", role: "img", "aria-label": `${words}, laid over the input` },
    make("img", { src: detail.pictures.input, alt: "", className: size }), make("img", { src: detail.pictures[key], alt: "", className: "over" }), grid);
}

function pictures(row, keys) {
  const given = keys.filter((key) => key in data.details[row].pictures);
  return given.map((key) => make("span", {}, picture(row, key), caption(row, key)));
}

function opener(row, text, options) {
  const button = make("button", { type: "button", ...options }, ...text);
  button.addEventListener("click", () => enlarge(row));
  return button;
}

// How far each reason of a table's row stays, as sentences.
function staying(detail) {
  return make("div", { className: "staying" }, ...(detail.features?.staying ?? []).map((text) => make("p", { text })));
}

function card(row) {
  const detail = data.details[row];
  const parts = [make("h3", {}, opener(row, [title(row)], { className: "link", "aria-label": `Open ${title(row)}` }), pill(row))];
  if (Object.keys(detail.pictures).length) {
    const strip = pictures(row, STRIP);
    if (hasMask(row) && marksOf(row).length <= FEW) strip.push(maskPanel(row, false));
    parts.push(opener(row, strip, { className: "pictures strip", "aria-label": `Enlarge ${title(row)}` }));
  } else if (detail.features) {
    const place = make("div", { className: "features", role: "img", "aria-label": `Largest values of the smoothed map: ${detail.features.names.slice(0, BARS).join(", ")}` });
    drawFeatures(row, place, BARS);
    parts.push(place, staying(detail));
  }
  if (rows.prediction[row] !== null && rows.prediction[row] !== rows.label[row]) {
    parts.push(make("p", { text: `Predicted and explained as ${className(rows.prediction[row])}.` }));
  }
  parts.push(make("p", { text: claim(row) }));
  return make("li", { "data-row": row }, ...parts);
}

function drawCards() {
  const drawn = current.filter((row) => row in data.details && (Object.keys(data.details[row].pictures).length || data.details[row].features));
  at("cards").replaceChildren(...drawn.slice(0, shownCards).map(card));
  at("more").hidden = drawn.length <= shownCards;
  at("more").textContent = `Show more (${drawn.length - Math.min(shownCards, drawn.length)} left)`;
}

const HEADS = ["class", "predicted", "status", "", "as sampled", "holds here", "rule", "attack found", "note"];

function line(row) {
  const name = row in data.details
    ? opener(row, [String(rows.item[row])], { className: "link", "aria-label": `Open ${title(row)}` })
    : make("span", { text: String(rows.item[row]) });
  const found = data.findings[row], failed = rows.status[row] === "error";
  const cells = [
    className(rows.label[row]), rows.prediction[row] === null ? "" : className(rows.prediction[row]), rows.status[row],
    failed ? "" : shown(budget(row)), failed ? "" : shown(visibleBudget(row)), holds(row) ? "yes" : kept.turns(row) ? "not its class" : "no", rows.rule[row],
    found ? (found.violated ? "VIOLATED: " : "") + `cosine ${found.worst} at ${found.epsilon}` : "", rows.note[row],
  ];
  const tds = cells.map((text, number) => make("td", { text, "data-head": HEADS[number] || `${data.word} epsilon` }));
  return make("tr", { "data-row": row }, make("th", { scope: "row", "data-head": data.noun }, name), ...tds);
}

function drawTable() {
  const pages = Math.max(Math.ceil(current.length / LINES), 1);
  page = Math.min(page, pages - 1);
  at("table").tBodies[0].replaceChildren(...current.slice(page * LINES, (page + 1) * LINES).map(line));
  at("page").textContent = `Page ${page + 1} of ${pages}`;
  at("budget-head").textContent = `${data.word} epsilon at cosine ${data.cosines[state.cosine]}`;
  at("back").disabled = page === 0;
  at("forth").disabled = page >= pages - 1;
}

function enlarge(row) {
  opened = row;
  at("large-title").textContent = title(row);
  at("large-text").textContent = [claim(row), attackText(row)].filter(Boolean).join(" ");
  const masked = hasMask(row) ? [maskPanel(row, true)] : [];
  at("large-pictures").replaceChildren(...pictures(row, STRIP.slice(0, 3)), ...masked, ...pictures(row, ["attacked", "struck", "change"]));
  at("large-mask").hidden = !data.details[row].votes;
  at("large-epsilon").value = state.epsilon;
  at("large-epsilon-shown").textContent = shown(state.epsilon);
  if (!at("large").open) at("large").showModal();
  drawCurve(row);
  drawFeatures(row, at("large-features"), 24);
  at("large-features").append(staying(data.details[row]));
  const lines = Object.entries(data.details[row].said), note = data.guaranteed ? "" : `${data.word.toUpperCase()}: `;
  at("large-said").replaceChildren(...lines.map(([about, text]) => make("div", {}, make("dt", { text: about }), make("dd", { text: note + text }))));
  at("before").disabled = neighbour(-1) === undefined;
  at("after").disabled = neighbour(1) === undefined;
}

function neighbour(step) {
  const open = current.filter((row) => row in data.details);
  const place = open.indexOf(opened);
  return place < 0 ? undefined : open[place + step];
}

function setUpGallery() {
  if (!at("cards")) return;
  at("more").addEventListener("click", () => { shownCards += 2 * CARDS; drawCards(); });
  at("back").addEventListener("click", () => { page -= 1; drawTable(); });
  at("forth").addEventListener("click", () => { page += 1; drawTable(); });
  at("close").addEventListener("click", () => at("large").close());
  at("before").addEventListener("click", () => enlarge(neighbour(-1)));
  at("after").addEventListener("click", () => enlarge(neighbour(1)));
  at("large").addEventListener("click", (event) => { if (event.target === at("large")) at("large").close(); });
  at("csv").addEventListener("click", () => save("csv", "text/csv", asCsv()));
  at("json").addEventListener("click", () => save("json", "application/json", asJson()));
  at("borders")?.addEventListener("change", (event) => document.body.classList.toggle("bordered", event.target.checked));
}

function drawGallery() {
  if (!at("cards")) return;
  current = selection();
  const all = held < data.total ? ` (the page holds ${held} of ${data.total})` : "";
  at("count").textContent = `${current.length} of ${held} ${data.nouns}${all}`;
  drawCards();
  drawTable();
}

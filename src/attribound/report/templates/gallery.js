const CARDS = 24, LINES = 25;
const NAMES = { input: "input", plain: "plain map", smoothed: "smoothed map", attacked: "attacked map" };
let current = [], shownCards = CARDS, page = 0, opened = null;

function title(row) {
  return `${data.noun[0].toUpperCase()}${data.noun.slice(1)} ${rows.item[row]}: ${className(rows.label[row])}`;
}

function claim(row) {
  if (rows.status[row] === "error") return `Failed: ${rows.note[row]}`;
  if (budget(row) <= 0) return `Nothing is ${data.word} at cosine ${data.cosines[state.cosine]}.`;
  return `Keeps cosine ${data.cosines[state.cosine]} up to epsilon ${shown(budget(row))}.`;
}

function attackText(row) {
  const found = data.findings[row];
  if (!found) return "";
  const end = found.violated ? " This violates the certificate." : "";
  return `Attacked at epsilon ${found.epsilon} (${found.method}): worst cosine found ${found.worst}, ${data.word} ${found.certified}.${end}`;
}

function pictures(row) {
  const detail = data.details[row];
  return Object.entries(NAMES).map(([key, name]) => {
    const cosine = detail.cosines[key];
    const words = cosine === undefined ? name : `${name}, cosine ${cosine}`;
    const uri = detail.pictures[key];
    const picture = uri
      ? make("img", { src: uri, alt: `${words}, ${title(row)}` })
      : make("span", { className: "absent", text: "not attacked" });
    return make("span", {}, picture, uri ? words : "");
  });
}

function card(row) {
  const detail = data.details[row];
  const parts = [make("h3", {}, make("span", { text: title(row) }), pill(row))];
  if (Object.keys(detail.pictures).length) {
    const strip = make("button", { type: "button", className: "pictures strip", "aria-label": `Enlarge ${title(row)}` }, ...pictures(row));
    strip.addEventListener("click", () => enlarge(row));
    parts.push(strip);
  }
  if (rows.prediction[row] !== null && rows.prediction[row] !== rows.label[row]) {
    parts.push(make("p", { text: `Predicted and explained as ${className(rows.prediction[row])}.` }));
  }
  parts.push(make("p", { text: claim(row) }));
  return make("li", { "data-row": row }, ...parts);
}

function drawCards() {
  const pictured = current.filter((row) => row in data.details && Object.keys(data.details[row].pictures).length);
  at("cards").replaceChildren(...pictured.slice(0, shownCards).map(card));
  at("more").hidden = pictured.length <= shownCards;
  at("more").textContent = `Show more (${pictured.length - Math.min(shownCards, pictured.length)} left)`;
}

function line(row) {
  const name = row in data.details
    ? make("button", { type: "button", className: "link", text: String(rows.item[row]), "aria-label": `Open ${title(row)}` })
    : make("span", { text: String(rows.item[row]) });
  if (row in data.details) name.addEventListener("click", () => enlarge(row));
  const found = data.findings[row];
  const cells = [
    className(rows.label[row]), rows.prediction[row] === null ? "" : className(rows.prediction[row]), rows.status[row],
    rows.status[row] === "error" ? "" : shown(budget(row)), holds(row) ? "yes" : "no", rows.rule[row],
    found ? (found.violated ? "VIOLATED: " : "") + `cosine ${found.worst} at ${found.epsilon}` : "", rows.note[row],
  ];
  return make("tr", { "data-row": row }, make("th", { scope: "row" }, name), ...cells.map((text) => make("td", { text })));
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
  const detail = data.details[row];
  at("large-title").textContent = title(row);
  at("large-text").textContent = [claim(row), attackText(row)].filter(Boolean).join(" ");
  at("large-pictures").replaceChildren(...(Object.keys(detail.pictures).length ? pictures(row) : []));
  if (!at("large").open) at("large").showModal();
  drawCurve(row);
  drawFeatures(row);
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
}

function drawGallery() {
  if (!at("cards")) return;
  current = selection();
  at("count").textContent = `${current.length} of ${total} ${data.nouns}`;
  drawCards();
  drawTable();
}

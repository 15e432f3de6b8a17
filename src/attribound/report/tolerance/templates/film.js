const all = (selector, place = document) => [...place.querySelectorAll(selector)];
const WORDS = { proved: "Proved: it holds here", assumed: "Assumed, no certificate", open: "Open: not proved, not broken", breaks: "Broken: it does not hold this far" };
const PILLS = { proved: "yes", assumed: "assumed", open: "no", breaks: "violated" };
const SHORT = { proved: "holds", assumed: "assumed", open: "open", breaks: "broken" };
const chooser = document.getElementById("cosine");
let cosine = document.body.dataset.cosine;

const statusOf = (frame) => JSON.parse(frame.dataset.status)[cosine];

// Moves one slider: the card's large pictures follow it.
function show(row) {
  const slider = row.querySelector("input[type=range]"), frame = all(".frames li", row)[Number(slider.value)];
  const card = row.closest(".sheet"), status = statusOf(frame), [changed, map] = all("img", frame);
  all(".frames li.now", card).forEach((other) => other.classList.remove("now"));
  frame.classList.add("now");
  card.querySelector(".changed").src = changed.src;
  card.querySelector(".moved").src = map.src;
  const pill = card.querySelector(".viewer .pill");
  pill.className = `pill ${PILLS[status]}`;
  pill.textContent = SHORT[status];
  card.querySelector(".what").textContent = `${row.dataset.title}: ${frame.dataset.amount}`;
  card.querySelector(".known").textContent = `${WORDS[status]}. The model says ${frame.dataset.class}. Cosine of the two explanations: ${frame.dataset.alike}.`;
  slider.setAttribute("aria-valuetext", `${frame.dataset.amount}, ${SHORT[status]}`);
}

function mark() {
  all("[data-cosine]").forEach((part) => { if (part !== document.body) part.hidden = part.dataset.cosine !== cosine; });
  all(".frames li").forEach((frame) => {
    const status = statusOf(frame);
    frame.dataset.now = status;
    frame.querySelector(".state").textContent = SHORT[status];
  });
}

all(".film").forEach((row) => {
  const slider = row.querySelector("input[type=range]");
  slider.addEventListener("input", () => show(row));
  slider.addEventListener("focus", () => show(row));
  all(".frames li", row).forEach((frame, number) => frame.addEventListener("click", () => { slider.value = number; show(row); }));
});
chooser?.addEventListener("change", () => { cosine = chooser.value; begin(); });

// The first change of every picture is shown as far out as it is proved to the right, the others where nothing is changed.
function begin() {
  mark();
  all(".sheet").forEach((card) => {
    all(".film", card).forEach((row, number) => {
      const states = all(".frames li", row).map(statusOf), slider = row.querySelector("input[type=range]");
      const last = Math.max(states.lastIndexOf("proved"), states.lastIndexOf("assumed"));
      slider.value = last < 0 || number > 0 ? slider.dataset.start : last;
    });
    all(".film", card).reverse().forEach(show);
  });
}
begin();
document.documentElement.dataset.ready = "yes";

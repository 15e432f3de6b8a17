const cards = [...document.querySelectorAll(".applicant")];
const search = document.getElementById("search"), order = document.getElementById("order");
const answer = document.getElementById("answer"), found = document.getElementById("found");
const list = document.getElementById("applicants");

// Shows the cards that hold every word of the search and have the answer chosen.
function sift() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const card of cards) {
    const text = card.dataset.text.toLowerCase();
    const shown = words.every((word) => text.includes(word)) && (!answer || !answer.value || card.dataset.answer === answer.value);
    card.hidden = !shown;
    count += shown;
  }
  found.textContent = `${count} of ${cards.length} shown`;
}

function sort() {
  const by = order.value === "item" ? (card) => Number(card.dataset.item) : (card) => Number(card.dataset.place);
  [...cards].sort((one, other) => by(one) - by(other)).forEach((card) => list.append(card));
}

if (search) {
  search.addEventListener("input", sift);
  order.addEventListener("change", sort);
  if (answer) answer.addEventListener("change", sift);
  sift();
}
document.documentElement.dataset.ready = "yes";

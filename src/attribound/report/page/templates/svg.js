// A chart: axes, lines, a legend, and a tip that follows the pointer. Colours come from the style sheet, so light,
// dark and print need no second drawing.
const SVG = "http://www.w3.org/2000/svg";
const EDGE = { left: 62, right: 14, top: 10, bottom: 46 };

function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function ticks(low, top, wanted) {
  const rough = (top - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.95);
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= top * 1.0001; number += 1) found.push(number * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return found.map((value) => [value, value.toFixed(digits)]);
}

// "before": the line steps down before each known point, so that nothing between two points is overstated.
function pathOf(line, x, y) {
  return line.x.map((value, place) => {
    const at = [x(value), y(line.y[place])].map((number) => number.toFixed(1));
    if (!place) return `M${at[0]},${at[1]}`;
    return line.steps ? `V${at[1]}H${at[0]}` : `L${at[0]},${at[1]}`;
  }).join("");
}

function axes(figure, x, y, size) {
  const parts = [], bottom = size.height - EDGE.bottom;
  const percent = (value) => `${Math.round(100 * value)} %`;
  for (const [value, text] of ticks(figure.y.low ?? 0, figure.y.top, size.height < 260 ? 4 : 5)) {
    parts.push(shape("line", { class: "grid", x1: EDGE.left, x2: size.width - EDGE.right, y1: y(value), y2: y(value) }));
    parts.push(shape("text", { x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, figure.y.percent ? percent(value) : text));
  }
  for (const [value, text] of ticks(0, figure.x.top, size.width < 480 ? 4 : 8)) {
    parts.push(shape("line", { class: "grid", x1: x(value), x2: x(value), y1: EDGE.top, y2: bottom }));
    parts.push(shape("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, text));
  }
  const middle = (EDGE.top + bottom) / 2;
  parts.push(shape("text", { class: "title", x: (EDGE.left + size.width) / 2, y: size.height - 6, "text-anchor": "middle" }, figure.x.title));
  parts.push(shape("text", { class: "title", x: 14, y: middle, transform: `rotate(-90 14 ${middle})`, "text-anchor": "middle" }, figure.y.title));
  return parts;
}

function lineParts(line, x, y, size) {
  const parts = [], path = pathOf(line, x, y), style = `s ${line.style}`;
  if (!line.x.length) return parts;
  if (line.fill) {
    const end = x(line.x.at(-1)).toFixed(1), base = y(0).toFixed(1);
    parts.push(shape("path", { class: `area ${line.style}`, d: `${path}L${end},${base}L${x(line.x[0]).toFixed(1)},${base}Z` }));
  }
  if (!line.points) parts.push(shape("path", { class: style, d: path }));
  if (line.points || line.dots) {
    line.x.forEach((value, place) => {
      parts.push(shape("circle", { class: `dot ${line.style}`, cx: x(value), cy: y(line.y[place]), r: 5 }));
      if (line.names) parts.push(shape("text", { class: "name", x: x(value), y: y(line.y[place]) + 20, "text-anchor": "middle" }, line.names[place]));
    });
  }
  return parts;
}

function legend(figure) {
  const items = figure.lines.filter((line) => line.name && line.x.length).map((line) => {
    const sample = shape("svg", { width: 34, height: 12, "aria-hidden": "true" }, line.points
      ? shape("circle", { class: `dot ${line.style}`, cx: 17, cy: 6, r: 5 }) : shape("path", { class: `s ${line.style}`, d: "M1,6H33" }));
    return make("li", {}, sample, line.name);
  });
  return make("ul", { className: "key" }, ...items);
}

function plot(place, figure) {
  const width = Math.max(place.clientWidth || 640, 260);
  const size = { width, height: figure.height ?? 320 };
  const low = figure.y.low ?? 0;
  const x = (value) => EDGE.left + (width - EDGE.left - EDGE.right) * value / figure.x.top;
  const y = (value) => EDGE.top + (size.height - EDGE.top - EDGE.bottom) * (1 - (value - low) / (figure.y.top - low));
  const picture = shape("svg", { viewBox: `0 0 ${width} ${size.height}`, width: "100%", "aria-hidden": "true" });
  picture.append(...axes(figure, x, y, size), ...figure.lines.flatMap((line) => lineParts(line, x, y, size)));
  if (figure.mark !== undefined) {
    const at = x(figure.mark.x), right = figure.mark.x > figure.x.top / 2;
    picture.append(shape("line", { class: "mark", x1: at, x2: at, y1: EDGE.top, y2: size.height - EDGE.bottom }));
    picture.append(shape("text", { class: "marked", x: at + (right ? -6 : 6), y: size.height - EDGE.bottom - 8, "text-anchor": right ? "end" : "start" }, figure.mark.text));
  }
  const tip = make("div", { className: "tip", hidden: true });
  place.replaceChildren(legend(figure), make("div", { className: "drawing" }, picture, tip));
  follow(picture, tip, figure, x, size);
}

function follow(picture, tip, figure, x, size) {
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(), scale = size.width / box.width;
    const value = ((event.clientX - box.left) * scale - EDGE.left) / (x(1) - x(0));
    const texts = value < 0 || value > figure.x.top ? [] : figure.tip(value);
    tip.hidden = !texts.length;
    tip.replaceChildren(...texts.map((text) => make("div", { text })));
    const left = event.clientX - box.left, flip = left > box.width / 2;
    tip.style.left = flip ? "auto" : `${left + 14}px`;
    tip.style.right = flip ? `${box.width - left + 14}px` : "auto";
    tip.style.top = `${Math.max(event.clientY - box.top - 20, 0)}px`;
  });
  picture.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// Bars to both sides of zero, one row per name; several maps share a row.
function bars(place, names, groups, styles) {
  const all = Object.values(groups).flat().map(Math.abs), top = Math.max(...all, 1e-9);
  const rows = names.map((name, at) => {
    const stripes = Object.entries(groups).map(([key, values]) => {
      const share = 50 * values[at] / top;
      const bar = make("span", { className: `stripe ${styles[key]}` });
      bar.style.left = `${Math.min(50, 50 + share)}%`;
      bar.style.width = `${Math.abs(share)}%`;
      return make("span", { className: "lane" }, bar);
    });
    return make("div", { className: "feature" }, make("span", { className: "label", text: name, title: name }), make("span", { className: "lanes" }, ...stripes));
  });
  place.replaceChildren(...rows);
}

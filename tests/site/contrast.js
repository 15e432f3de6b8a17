// Texts whose contrast with what is behind them is below WCAG's AA.
() => {
  const numbers = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (top, under) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((i) => alpha * top[i] + (1 - alpha) * under[i]);
  };
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(numbers(getComputedStyle(e).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const watched = "article *, .md-tabs__link, .md-nav--primary .md-nav__link, .md-footer__title, .md-copyright";
  const found = new Set();
  for (const element of document.querySelectorAll(watched)) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    const style = getComputedStyle(element);
    const shown = element.getBoundingClientRect().width && style.visibility !== "hidden";
    if (!text || !shown || element.matches(".headerlink")) continue;
    const under = ground(element);
    const [a, b] = [light(over(numbers(style.color), under)), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ${text}`);
  }
  return [...found];
}

// Tables, code, formulas and pictures that leave the screen and cannot be scrolled to.
() => {
  const scrolls = (element) => {
    for (let e = element; e; e = e.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    }
    return false;
  };
  const watched = "article table, article pre > code, article math, article img";
  return [...document.querySelectorAll(watched)]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e))
    .map((e) => e.outerHTML.slice(0, 80));
}

"use strict";
// Opens the quote of a mark; `n` and `p` go to the next and previous problem; print shows all.
const open = (quote) => {
  if (quote?.matches("details")) quote.open = true;
};
const openAimed = () => open(document.getElementById(location.hash.slice(1)));
const isShown = (mark) => mark.offsetParent !== null && !mark.matches(".supported, .quoted");
const problems = () => [...document.querySelectorAll("a.verdict")].filter(isShown);

document.addEventListener("click", ({ target }) => {
  const mark = target.closest("a.verdict");
  if (mark) open(document.getElementById(mark.hash.slice(1)));
});
document.addEventListener("keydown", (event) => {
  const step = { n: 1, p: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const marks = problems();
  const at = marks.indexOf(document.activeElement);
  const next = marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : at + step];
  if (!next) return;
  open(document.getElementById(next.hash.slice(1)));
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
});
addEventListener("hashchange", openAimed);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(open));
openAimed();

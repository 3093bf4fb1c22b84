// SPDX-License-Identifier: Apache-2.0
// The reader's language, and the search. The pages are complete without.
"use strict";
const root = document.currentScript.dataset.root;

// One click switches the language on every page, and what was clicked stays where it is.
const page = document.documentElement;
function mark() {
  for (const button of document.querySelectorAll("[data-choose]")) {
    button.setAttribute("aria-pressed", button.dataset.choose === page.dataset.language);
  }
}
for (const bar of document.querySelectorAll(".switch")) bar.hidden = false;
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-choose]");
  if (!button) return;
  const before = button.getBoundingClientRect().top;
  page.dataset.language = button.dataset.choose;
  try { localStorage.language = button.dataset.choose; } catch { /* not remembered then */ }
  mark();
  scrollBy(0, button.getBoundingClientRect().top - before);
});
addEventListener("storage", () => { page.dataset.language = localStorage.language; mark(); });
mark();

// The index is a script, so that it also loads where pages are files; it waits for the first use.
const box = document.querySelector(".search"), input = box.querySelector("input");
const list = box.querySelector(".found");
let searchIndex, loading;
box.hidden = false;
function load() {
  loading ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = root + "index.js";
    script.onload = done;
    document.head.append(script);
  });
  return loading;
}
// How well an entry fits all words: a title's beginning, a title, the text; 0 if one is missing.
function fit([, title, , text], words) {
  const inTitle = title.toLowerCase(), inText = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const points = inTitle.startsWith(word) ? 9 - Math.min(inTitle.length - word.length, 5)
      : inTitle.includes(word) ? 3 : inText.includes(word) ? 1 : 0;
    if (!points) return 0;
    sum += points;
  }
  return sum;
}
async function search() {
  await load();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : searchIndex
    .map((entry) => [fit(entry, words), entry]).filter(([points]) => points)
    .sort(([a], [b]) => b - a).slice(0, 12);
  list.replaceChildren(...found.map(([, [where, title, place]]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    const small = document.createElement("small");
    link.href = root + place;
    link.textContent = title;
    small.textContent = where === title ? "" : where;
    link.append(" ", small);
    item.append(link);
    return item;
  }));
  list.hidden = words.length === 0;
  if (words.length && !found.length) list.textContent = "Nothing found.";
}
input.addEventListener("focus", load);
input.addEventListener("input", search);
box.addEventListener("keydown", (event) => {
  const links = [input, ...list.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus();
  } else if (event.key === "Escape") {
    input.value = "";
    list.hidden = true;
    input.blur();
  } else if (event.key === "Enter" && document.activeElement === input && links[1]) {
    links[1].click();
  }
});
document.addEventListener("click", (event) => { if (!box.contains(event.target)) list.hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});

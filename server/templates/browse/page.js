// Completes names while they are typed, copies references, and writes the server's address into examples. Pages work
// without it.
"use strict";

for (const place of document.querySelectorAll(".origin")) {
  place.textContent = location.origin;
}

const copy = document.getElementById("copy");
if (copy) {
  copy.hidden = false;
  copy.addEventListener("click", () => {
    getSelection().selectAllChildren(document.getElementById("reference"));
    // Keeps italics, and also works on pages without TLS.
    copy.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
  });
}

// The page may be one of a named snapshot, below /@….
const root = new URL("..", document.currentScript.src).pathname;
const input = document.getElementById("query");
const list = document.getElementById("suggestions");
const said = document.getElementById("said");
const paths = new Map(input.dataset.lists.split(" ").map((pair) => pair.split("=")));
const PAUSE_MILLIS = 250;
const LETTERS_MIN = 3;
const known = new Map();
let timer = 0;
let chosen = -1;
let isOver = false;

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);
input.setAttribute("aria-expanded", "false");

const choose = (at) => {
  chosen = at;
  [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
  if (at < 0) {
    input.removeAttribute("aria-activedescendant");
  } else {
    input.setAttribute("aria-activedescendant", list.children[at].id);
  }
};

const close = () => {
  list.hidden = true;
  list.replaceChildren();
  input.setAttribute("aria-expanded", "false");
  choose(-1);
};

const item = (candidate, at) => {
  const [option, name, kind] = ["li", "span", "span"].map((tag) => document.createElement(tag));
  option.id = `suggestion-${at}`;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  option.dataset.href = `${root}browse/${paths.get(candidate.entity_type)}/${encodeURIComponent(candidate.id)}`;
  name.textContent = candidate.name ?? candidate.id;
  kind.textContent = candidate.entity_type;
  kind.className = "kind";
  option.append(name, kind);
  return option;
};

const show = ({ results, meta }) => {
  list.replaceChildren(...results.map(item));
  list.hidden = results.length === 0;
  input.setAttribute("aria-expanded", String(!list.hidden));
  choose(-1);
  said.textContent = `${meta.count} found`;
};

const complete = async (text) => {
  if (!known.has(text)) {
    const response = await fetch(`${root}browse/complete?query=${encodeURIComponent(text)}`);
    // A refused request is not repeated: the search by the button still works.
    isOver = response.status === 429;
    known.set(text, response.ok ? await response.json() : { results: [], meta: { count: 0 } });
  }
  if (input.value.trim() === text) {
    show(known.get(text));
  }
};

input.addEventListener("input", () => {
  clearTimeout(timer);
  const text = input.value.trim();
  if (text.length < LETTERS_MIN || isOver) {
    close();
    return;
  }
  timer = setTimeout(() => complete(text).catch(close), PAUSE_MILLIS);
});

input.addEventListener("keydown", (event) => {
  const last = list.children.length - 1;
  if (event.key === "ArrowDown" && last >= 0) {
    choose(chosen === last ? 0 : chosen + 1);
  } else if (event.key === "ArrowUp" && last >= 0) {
    choose(chosen <= 0 ? last : chosen - 1);
  } else if (event.key === "Enter" && chosen >= 0) {
    location.assign(list.children[chosen].dataset.href);
  } else if (event.key === "Escape" && !list.hidden) {
    close();
  } else {
    return;
  }
  event.preventDefault();
});

// Before the input loses the focus.
list.addEventListener("mousedown", (event) => {
  const option = event.target.closest("li");
  if (option) {
    location.assign(option.dataset.href);
  }
});

input.addEventListener("blur", close);

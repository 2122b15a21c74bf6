// Completes names while they are typed, copies references, and writes the server's address into examples. Pages work
// without it.
"use strict";

// The page may be one of a named snapshot, below /@…, or below the path of a proxy.
const root = new URL("..", document.currentScript.src).pathname;

for (const place of document.querySelectorAll(".origin")) {
  place.textContent = location.origin + root.slice(0, -1);
}

// A browser ends a site's worker that gets no events, together with a download that takes longer.
const worker = navigator.serviceWorker?.controller;
if (worker) {
  setInterval(() => worker.postMessage("open"), 10_000);
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

const PAUSE_MILLIS = 250;
const LETTERS_MIN = 3;
const known = new Map();
// A refused request is not repeated: the forms still work by their buttons.
let isOver = false;

const candidates = async (address) => {
  if (!known.has(address)) {
    const response = await fetch(address);
    isOver = response.status === 429;
    known.set(address, response.ok ? await response.json() : { results: [], meta: { count: 0 } });
  }
  return known.get(address);
};

const element = (tag, attributes, text) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.textContent = text ?? "";
  return made;
};

// Makes an input a box with suggestions. `path` asks for candidates, `beside` is what stands beside a name, `choose` takes
// a candidate.
const completes = (input, path, beside, choose) => {
  const id = `suggestions-${input.id}`;
  const list = element("ul", { id, class: "suggestions", role: "listbox", "aria-label": "Suggestions" });
  const said = element("p", { class: "unseen", role: "status" });
  let [found, timer, chosen] = [[], 0, -1];
  list.hidden = true;
  input.after(list, said);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", id);
  input.setAttribute("aria-expanded", "false");

  const mark = (at) => {
    chosen = at;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
    if (at < 0) {
      input.removeAttribute("aria-activedescendant");
    } else {
      input.setAttribute("aria-activedescendant", list.children[at].id);
    }
  };

  const show = (results) => {
    found = results;
    list.replaceChildren(
      ...results.map((candidate, at) => {
        const option = element("li", { id: `${id}-${at}`, role: "option", "aria-selected": "false" });
        option.append(element("span", {}, candidate.name ?? candidate.id), element("span", { class: "kind" }, beside(candidate)));
        return option;
      }),
    );
    list.hidden = results.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(-1);
  };

  const close = () => show([]);

  const complete = async (text) => {
    const { results, meta } = await candidates(`${root}${path}?query=${encodeURIComponent(text)}`);
    if (input.value.trim() === text) {
      show(results);
      said.textContent = `${meta.count} found`;
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
    const last = found.length - 1;
    if (event.key === "ArrowDown" && last >= 0) {
      mark(chosen === last ? 0 : chosen + 1);
    } else if (event.key === "ArrowUp" && last >= 0) {
      mark(chosen <= 0 ? last : chosen - 1);
    } else if (event.key === "Enter" && chosen >= 0) {
      choose(found[chosen]);
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
      choose(found[[...list.children].indexOf(option)]);
    }
  });

  input.addEventListener("blur", close);
};

// The box of a list completes its names alone; there are lists without completion.
const box = document.getElementById("query");
const paths = new Map(box.dataset.lists.split(" ").filter(Boolean).map((pair) => pair.split("=")));
if (paths.size > 0) {
  const [first] = paths.values();
  const asked = paths.size === 1 ? `browse/complete/${first}` : "browse/complete";
  completes(box, asked, ({ entity_type }) => entity_type, (candidate) => {
    location.assign(`${root}browse/${paths.get(candidate.entity_type)}/${encodeURIComponent(candidate.id)}`);
  });
}

// A chosen name is sent as the id of its record.
for (const input of document.querySelectorAll("input[data-list]")) {
  const beside = ({ outputs_count }) => (outputs_count ? `${outputs_count} outputs` : "");
  completes(input, `browse/complete/${input.dataset.list}`, beside, (candidate) => {
    const { name, form } = input;
    input.value = candidate.name ?? candidate.id;
    input.removeAttribute("name");
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: candidate.id }));
    form.requestSubmit();
  });
}

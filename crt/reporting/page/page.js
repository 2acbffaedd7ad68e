"use strict";

// The example browser: filters, search and pages over the examples in the JSON island. Texts only enter as textContent.
(() => {
  const PER_PAGE = 10;
  const island = document.getElementById("examples-data");
  if (!island) return;
  const { values, rows } = JSON.parse(island.textContent);
  const keys = Object.keys(values);
  const [form, list, pager, count] = ["filters", "examples", "pager", "count"].map((id) => document.getElementById(id));
  const [previous, next] = ["previous", "next"].map((id) => document.getElementById(id));
  let page = 0;

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  /** Return one side of a field, its edits marked: side 0 is the original, side 1 the perturbed text. */
  function line(field, side) {
    const text = element("p", "text");
    text.lang = "zh-Hans";
    for (const part of field) {
      text.append(typeof part === "string" ? part : element(side ? "ins" : "del", "", part[side]));
    }
    return text;
  }

  function fact(title, ...value) {
    return element("div", "", element("dt", "", title), element("dd", "", ...value));
  }

  function prediction(title, [label, prob], gold) {
    const right = label === gold;
    const verdict = element("span", right ? "right" : "wrong", right ? "✓ right" : "✗ wrong");
    return fact(title, `${label} ${(100 * prob).toFixed(1)} % `, verdict);
  }

  function card(row) {
    const [model, dataset, perturbation, prob] = keys.map((key, at) => values[key][row.at[at]]);
    const head = element("h3", "", perturbation, element("small", "", ` prob ${prob} · ${dataset} · ${model}`));
    const after = ["clean", "perturbed"].map((when) => prediction(when, row[when], row.gold));
    const found = element("dl", "predictions", fact("gold", row.gold), ...after);
    const fields = row.fields.map((field) => element("div", "pair", line(field, 0), line(field, 1)));
    const foot = element("p", "note", `${row.id} · seed ${row.seed}`);
    return element("article", row.flipped ? "example flipped" : "example", head, ...fields, found, foot);
  }

  /** Return what a search looks in: both texts of every field. */
  function content(row) {
    row.content ??= [0, 1]
      .map((side) => row.fields.map((f) => f.map((p) => (typeof p === "string" ? p : p[side])).join("")).join("\n"))
      .join("\n")
      .toLowerCase();
    return row.content;
  }

  function chosen() {
    const wanted = keys.map((key) => form.elements[key].value);
    const text = form.elements.text.value.trim().toLowerCase();
    const flipped = form.elements.flipped.checked;
    return rows.filter(
      (row) =>
        wanted.every((value, at) => value === "" || row.at[at] === Number(value)) &&
        (!flipped || row.flipped) &&
        (!text || content(row).includes(text)),
    );
  }

  function show() {
    const found = chosen();
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    list.replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(card));
    if (!found.length) list.append(element("p", "note", "No example fits; choose less."));
    count.textContent = `${found.length} of ${rows.length} examples, page ${page + 1} of ${pages}`;
    previous.setAttribute("aria-disabled", String(page === 0));
    next.setAttribute("aria-disabled", String(page === pages - 1));
  }

  function turn(by) {
    const before = page;
    page += by;
    show();
    if (page !== before) form.scrollIntoView({ block: "start" });
  }

  for (const key of keys) {
    const select = form.elements[key];
    values[key].forEach((name, at) => select.add(new Option(name, String(at))));
    select.parentElement.hidden = values[key].length === 1;
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  function restart() {
    page = 0;
    show();
  }
  form.addEventListener("input", restart);
  form.addEventListener("change", restart);
  form.addEventListener("reset", () => setTimeout(restart)); // the controls are reset after the event
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  form.hidden = pager.hidden = false;
  show();
})();

// Print shows what is folded.
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});

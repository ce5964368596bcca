"use strict";
const table = document.getElementById("summary");
const body = table.tBodies[0];
const filter = document.getElementById("filter");
const boxes = [...document.querySelectorAll(".check input")];

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  let shown = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !verdicts.has(row.dataset.verdict) || !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById("shown").textContent = `${shown} of ${body.rows.length} lines`;
}

function sortBy(column, header) {
  // Numbers first fall: the worst is what one looks for.
  const numeric = header.classList.contains("n");
  const first = numeric ? "descending" : "ascending";
  const other = numeric ? "ascending" : "descending";
  const order = header.getAttribute("aria-sort") === first ? other : first;
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
  const key = (row) => numeric ? Number(row.cells[column].dataset.sort) : row.cells[column].textContent.trim();
  const compare = (a, b) => numeric ? (a === b ? 0 : a - b) : a.localeCompare(b);
  const sign = order === "ascending" ? 1 : -1;
  body.append(...[...body.rows].sort((a, b) => sign * compare(key(a), key(b))));
}

function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  target.scrollIntoView();
}

[...table.tHead.rows[0].cells].forEach((header, column) => {
  header.firstElementChild.addEventListener("click", () => sortBy(column, header));
});
filter.addEventListener("input", applyFilter);
filter.form.addEventListener("submit", (event) => event.preventDefault());
boxes.forEach((box) => box.addEventListener("change", applyFilter));
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input")) return;
  event.preventDefault();
  filter.focus();
});
for (const [id, open] of [["open-all", true], ["close-all", false]]) {
  document.getElementById(id).addEventListener("click", () => {
    document.querySelectorAll("details.case").forEach((each) => { each.open = open; });
  });
}
addEventListener("hashchange", openTarget);
openTarget();

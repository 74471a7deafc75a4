// Tables that sort and filter. Nested rows stay below the row that they are part of; totals stay at the end.

/** The rows of a table as a tree. */
function rowTree(body) {
  const root = { parts: [] };
  const path = [root];
  const totals = [];
  for (const row of body.rows) {
    if (row.classList.contains("total")) { totals.push(row); continue; }
    const depth = Number(row.dataset.depth || 0);
    const node = { row, parts: [] };
    path.length = Math.min(path.length, depth + 1);
    path[path.length - 1].parts.push(node);
    path.push(node);
  }
  return { root, totals };
}

function cellValue(row, column) {
  const cell = row.cells[column];
  if (!cell) return "";
  return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
}

function compareCells(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return 1;
  if (typeof b === "number") return -1;
  return a.localeCompare(b, "en", { numeric: true, sensitivity: "base" });
}

function sortTable(table, column, descending) {
  const body = table.tBodies[0];
  const { root, totals } = rowTree(body);
  const isMore = (node) => node.row.cells[0].textContent.startsWith("+ ");
  const place = (node) => {
    node.parts.sort((a, b) => isMore(a) - isMore(b) ||
      compareCells(cellValue(a.row, column), cellValue(b.row, column)) * (descending ? -1 : 1));
    for (const part of node.parts) { body.append(part.row); place(part); }
  };
  place(root);
  body.append(...totals);
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    if (at === column) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}

/** Shows the rows whose first cell has the text, and those that they are part of. */
function filterTable(table, text) {
  const wanted = text.trim().toLowerCase();
  const show = (node, isIn) => {
    const fits = isIn || !wanted || node.row.cells[0].textContent.toLowerCase().includes(wanted);
    const below = node.parts.map((part) => show(part, fits)).some(Boolean);
    node.row.hidden = !(fits || below);
    return fits || below;
  };
  const { root, totals } = rowTree(table.tBodies[0]);
  root.parts.forEach((node) => show(node, false));
  totals.forEach((row) => { row.hidden = wanted !== ""; });
}

function prepareTable(table) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const title = cell.textContent;
    const isNumber = cell.classList.contains("number");
    cell.replaceChildren(element("button", {
      type: "button",
      title: "Sort by " + (title || "this column"),
      click: () => {
        const now = cell.getAttribute("aria-sort");
        sortTable(table, column, now ? now === "ascending" : isNumber);
      },
    }, title));
  });
  if (table.tBodies[0].rows.length > 8) {
    const field = element("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter the rows of this table" });
    field.addEventListener("input", () => filterTable(table, field.value));
    table.closest(".scroll").before(field);
  }
}

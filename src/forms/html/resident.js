// The resident set: tiles, the switch of the rules, the search; the flows to other categories; standby; the strip.

/** The state of the tiles of one trace. */
class Tiles {
  constructor(number, place) {
    this.number = number;
    this.place = place;
    this.found = DATA.traces[number].resident;
    this.path = [];
    this.byWpa = false;
    this.search = "";
    this.prepare(this.found.tiles, 0, null);
    this.controls(document.querySelector(`[data-controls="${number}"]`));
    this.chart = chart(place, () => this.option());
    this.chart.made.on("click", (event) => { if (event.data && event.data.at) this.go(event.data.at.slice(0, this.path.length + 1)); });
    this.show();
  }

  /** Adds to each tile its category by both rule sets: pages of it and of the tiles inside by WPA's category. */
  prepare(tile, depth, category) {
    if (depth === 2) category = DATA.categories.findIndex((known) => known[0] === tile.n);
    tile.category = category;
    tile.byWpa = new Map();
    if (tile.w !== undefined) tile.byWpa.set(tile.w, tile.v);
    for (const part of tile.c || []) {
      this.prepare(part, depth + 1, category);
      for (const [wpa, pages] of part.byWpa) tile.byWpa.set(wpa, (tile.byWpa.get(wpa) || 0) + pages);
    }
  }

  tileAt(path) {
    return path.reduce((tile, at) => tile.c[at], this.found.tiles);
  }

  go(path) {
    const tile = this.tileAt(path);
    if (!tile.c) return;
    this.path = path;
    this.show();
  }

  show() {
    this.place.closest("article").classList.toggle("by-wpa", this.byWpa);
    this.chart.draw();
    this.showPath();
    this.showLevel();
    this.showLegend();
    this.showFound();
  }

  /** The tiles below one tile, as the chart wants them. */
  nodes(tile, path, depth) {
    return (tile.c || []).map((part, at) => this.node(part, [...path, at], depth)).filter(Boolean);
  }

  node(tile, path, depth) {
    // The library copies what it gets: a place, not the tile itself.
    const made = { name: tile.n, value: tile.v, at: path };
    const inside = depth < 3 && tile.c && !tile.c[0].rules;
    const matches = this.matches(tile) || path.some((_, at) => this.matches(this.tileAt(path.slice(0, at))));
    if (inside) {
      made.children = this.nodes(tile, path, depth + 1);
      const below = path.length === 1 ? colour("class-" + this.classOf(tile)) : categoryColour(tile.category ?? 0);
      made.itemStyle = { color: below, borderColor: path.length === 1 ? colour("class-" + this.classOf(tile)) : mixed(below, colour("page"), 0.35) };
      made.upperLabel = { color: textOn(made.itemStyle.borderColor) };
      return made;
    }
    // One tile for each of WPA's categories, so that all keep their places when the rules change.
    const byWpa = [...tile.byWpa].sort((a, b) => b[1] - a[1]);
    const leaf = ([wpa, pages], first) => ({
      name: first ? tile.n : "", value: pages, at: path,
      itemStyle: this.leafStyle(tile, wpa, matches),
      label: { color: textOn(this.leafColour(tile, wpa)) },
    });
    if (byWpa.length === 1) return leaf(byWpa[0], true);
    const fill = this.leafColour(tile, tile.category ?? byWpa[0][0]);
    const isNamed = tile.v * this.room() > 2600;
    made.children = byWpa.map((entry) => leaf(entry, false));
    made.upperLabel = isNamed ? { show: true, height: 15, fontSize: 11, color: textOn(fill) } : { show: false };
    made.itemStyle = { gapWidth: 0, borderWidth: isNamed ? 1 : 0, color: fill, borderColor: fill, opacity: this.search && !matches ? 0.15 : 1 };
    return made;
  }

  /** Square pixels of the picture for a page. */
  room() {
    return this.place.clientWidth * this.place.clientHeight / Math.max(1, this.tileAt(this.path).v);
  }

  leafColour(tile, wpa) {
    const category = this.byWpa ? wpa : tile.category ?? wpa;
    return category >= 0 ? categoryColour(category) : colour("even");
  }

  leafStyle(tile, wpa, matches) {
    const style = { color: this.leafColour(tile, wpa), borderColor: colour("page"), opacity: this.search && !matches ? 0.15 : 1 };
    if (this.byWpa && wpa !== tile.category && tile.category !== null) {
      style.decal = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 5], rotation: Math.PI / 4, color: "rgba(0,0,0,0.35)" };
    }
    return style;
  }

  classOf(tile) {
    return Math.max(0, DATA.classes.indexOf(tile.n));
  }

  matches(tile) {
    return this.search !== "" && tile.n.toLowerCase().includes(this.search);
  }

  /** Size of a class or category under the rules of the switch; of other tiles, which no rule changes, their own. */
  pagesOf(tile, depth) {
    if (!this.byWpa || depth < 1 || depth > 2) return tile.v;
    if (depth === 1) return this.found.classes[this.classOf(tile)][1];
    return tile.category >= 0 && !tile.more ? this.found.byCategory[tile.category][1] : tile.v;
  }

  option() {
    const current = this.tileAt(this.path);
    // A tile too small for its name has none: the tip tells it.
    const room = this.room();
    const label = (event) => {
      const { at } = event.data;
      const tile = this.tileAt(at);
      const area = event.value * room;
      if (!event.name || area < 1300) return "";
      if (area < 2600 && !event.data.children) return shortName(event.name);
      const pages = this.pagesOf(tile, at.length);
      const size = this.byWpa && at.length <= 2 ? "in WPA " + sizeText(pages) : sizeText(pages);
      return shortName(event.name) + (event.data.children ? "  " : "\n") + size;
    };
    const data = current.c ? this.nodes(current, this.path, 1) : [];
    const header = { show: true, height: 20, formatter: label, fontSize: 12, overflow: "truncate" };
    return {
      ...baseOption(),
      tooltip: { ...baseOption().tooltip, formatter: (event) => this.tip(event.data) },
      series: [{
        type: "treemap", data, left: 0, top: 0, right: 0, bottom: 0, nodeClick: false, roam: false, sort: null,
        breadcrumb: { show: false }, visibleMin: 1, squareRatio: 1.2,
        label: { show: true, formatter: label, fontSize: 11, lineHeight: 14, overflow: "truncate", padding: [2, 4], position: "insideTopLeft" },
        upperLabel: header,
        levels: [
          { itemStyle: { borderWidth: 0, gapWidth: 4, borderColor: colour("page") }, upperLabel: { show: false } },
          { itemStyle: { borderWidth: 3, gapWidth: 2 }, upperLabel: header },
          { itemStyle: { borderWidth: 2, gapWidth: 1 }, upperLabel: { ...header, height: 17, fontSize: 11 } },
          { itemStyle: { borderWidth: 0.5, gapWidth: 0 }, upperLabel: { show: false } },
        ],
      }],
    };
  }

  tip(data) {
    if (!data || !data.at) return "";
    const { at } = data;
    const tile = this.tileAt(at);
    const names = at.map((_, end) => this.tileAt(at.slice(0, end + 1)).n);
    const lines = [`${pagesText(tile.v)}, ${sizeText(tile.v)}, ${shareText(tile.v, this.found.pages)} of memory`];
    if (names.length > 1) lines.unshift(names.slice(0, -1).join(" › "));
    const elsewhere = [...tile.byWpa].filter(([wpa]) => tile.category !== null && wpa !== tile.category);
    for (const [wpa, pages] of elsewhere.sort((a, b) => b[1] - a[1]).slice(0, 4)) {
      lines.push(`in WPA ${DATA.categories[wpa][0]}: ${pagesText(pages)}, ${sizeText(pages)}`);
    }
    if (at.length === 2 && tile.category >= 0) {
      lines.push("WPA’s number for this category: " + sizeText(this.found.byCategory[tile.category][1]));
    }
    return tip(names[names.length - 1], lines);
  }

  controls(place) {
    const rules = ["Corrected", "WPA’s rules"].map((title, at) => element("label", {}, element("input", {
      type: "radio", name: "rules-" + this.number, value: at === 1 ? "wpa" : "corrected", ...(at === 0 ? { checked: "" } : {}),
      change: () => { this.byWpa = at === 1; this.show(); },
    }), " " + title));
    const field = element("input", { type: "search", placeholder: "Search a process, file or category", "aria-label": "Search the tiles and tables" });
    field.addEventListener("input", () => this.find(field.value, place));
    this.legend = element("ul", { class: "legend" });
    this.results = element("p", { class: "found", role: "status" });
    place.append(element("fieldset", {}, element("legend", {}, "Count by"), ...rules), field, this.legend, this.results);
  }

  find(text, place) {
    this.search = text.trim().toLowerCase();
    const section = place.closest("article");
    section.querySelectorAll("table").forEach((table) => filterTable(table, text));
    this.show();
  }

  /** The outermost tiles with the text that is searched for. */
  hits(tile, path) {
    if (path.length > 0 && this.matches(tile)) return [{ tile, path }];
    return (tile.c || []).flatMap((part, at) => this.hits(part, [...path, at]));
  }

  showFound() {
    this.results.replaceChildren();
    if (!this.search) return;
    const hits = this.hits(this.found.tiles, []).sort((a, b) => b.tile.v - a.tile.v);
    const sum = hits.reduce((all, hit) => all + hit.tile.v, 0);
    this.results.append(hits.length === 0 ? "No tile has this name; tables are filtered too." : `${hits.length} tiles, ${sizeText(sum)}: `);
    for (const { tile, path } of hits.slice(0, 8)) {
      const inside = tile.c && !tile.c[0].rules ? path : path.slice(0, -1);
      const above = path.length > 1 ? this.tileAt(path.slice(0, -1)).n + " › " : "";
      this.results.append(element("button", { type: "button", click: () => this.go(inside) }, above + shortName(tile.n) + " " + sizeText(tile.v)));
    }
  }

  showLegend() {
    const items = DATA.classes.map((name, at) => {
      const pages = this.found.classes[at][this.byWpa ? 1 : 0];
      return element("li", { "data-class": name, "data-pages": pages }, element("span", { class: "swatch class-" + at }), `${name} ${sizeText(pages)}`);
    });
    this.legend.replaceChildren(...items);
  }

  /** The tiles of this level for those who do not point at them: a button where there is more inside. */
  showLevel() {
    const place = document.querySelector(`[data-level="${this.number}"]`);
    const here = this.tileAt(this.path);
    const tiles = (here.c || []).map((tile, at) => ({ tile, at })).sort((a, b) => b.tile.v - a.tile.v);
    place.replaceChildren(...tiles.slice(0, 40).map(({ tile, at }) => {
      const path = [...this.path, at];
      const text = `${shortName(tile.n)} ${sizeText(this.pagesOf(tile, path.length))}`;
      const go = () => {
        this.go(path);
        // The button is gone: who came by keyboard goes on from where it led.
        (place.querySelector("button") || document.querySelector(`[data-path="${this.number}"] [aria-current]`)).focus();
      };
      return element("li", {}, tile.c && !tile.c[0].rules ? element("button", { type: "button", click: go }, text) : text);
    }));
    if (tiles.length > 40) place.append(element("li", {}, `+ ${tiles.length - 40} more: the search finds them`));
  }

  showPath() {
    const place = document.querySelector(`[data-path="${this.number}"]`);
    place.replaceChildren();
    for (let end = 0; end <= this.path.length; end++) {
      const path = this.path.slice(0, end);
      const tile = this.tileAt(path);
      const name = end === 0 ? "All memory" : shortName(tile.n);
      if (end > 0) place.append(" › ");
      const isHere = end === this.path.length ? { "aria-current": "true" } : {};
      place.append(element("button", { type: "button", ...isHere, click: () => this.go(path) }, `${name} ${sizeText(this.pagesOf(tile, end))}`));
    }
  }
}

/** From WPA's categories to the corrected ones. */
function flowOption(found) {
  const name = (side, category) => side + DATA.categories[category][0];
  const total = new Map();
  for (const flow of found.flows) {
    for (const side of [name("<", flow.from), name(">", flow.to)]) total.set(side, (total.get(side) || 0) + flow.pages);
  }
  const nodes = [...total].map(([id]) => {
    const category = DATA.categories.findIndex((known) => known[0] === id.slice(1));
    return {
      name: id, itemStyle: { color: categoryColour(category) },
      label: { position: id[0] === "<" ? "right" : "left", formatter: () => `${id.slice(1)}  ${sizeText(total.get(id))}` },
    };
  });
  const links = found.flows.map((flow) => ({ source: name("<", flow.from), target: name(">", flow.to), value: flow.pages, flow }));
  const about = (event) => {
    if (!event.data.flow) return tip(event.name.slice(1), [pagesText(total.get(event.name)), sizeText(total.get(event.name))]);
    const { flow } = event.data;
    const heading = `${DATA.categories[flow.from][0]} → ${DATA.categories[flow.to][0]}: ${sizeText(flow.pages)}`;
    return tip(heading, flow.reasons.slice(0, 4).map(([pages, text]) => `${pagesText(pages)}: ${text}`));
  };
  return {
    ...baseOption(),
    tooltip: { ...baseOption().tooltip, formatter: about },
    series: [{
      type: "sankey", data: nodes, links, left: 4, right: 4, top: 8, bottom: 8, nodeWidth: 14, nodeGap: 18, draggable: false,
      emphasis: { focus: "adjacency" }, lineStyle: { color: "gradient", opacity: 0.45, curveness: 0.5 },
      label: { color: colour("text"), fontSize: 12, textBorderColor: colour("page"), textBorderWidth: 2 },
    }],
  };
}

function standbyOption(found) {
  const classes = DATA.classes.map((name, at) => ({
    name, type: "bar", stack: "all", data: found.standby.map((of) => of[at]), itemStyle: { color: colour("class-" + at) },
  })).filter((series) => series.data.some((pages) => pages > 0));
  return barOption(found.standby.map((_, priority) => "priority " + priority), classes, "pages");
}

/** Physical memory by PFN, one pixel for each cell. */
function strip(place, found) {
  const across = 256;
  const cells = found.strip.categories.length;
  const rows = Math.max(1, Math.ceil(cells / across));
  const canvas = element("canvas", { width: across, height: rows });
  const says = element("p", { class: "says", role: "status" }, "Point at a cell to see what it is.");
  const legend = element("ul", { class: "legend" });
  place.classList.add("strip");
  place.style.height = "auto";
  place.append(canvas, says, legend);
  let byList = false;
  const letters = () => (byList ? found.strip.lists : found.strip.categories);
  const kind = (at) => letters().charCodeAt(at) - 65;
  const nameOf = (kind) => (byList ? DATA.lists[kind] : DATA.categories[kind][0]);
  const draw = () => {
    canvas.style.height = Math.max(rows * 3, Math.min(rows * place.clientWidth / across, 420)) + "px";
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, across, rows);
    const seen = new Map();
    for (let at = 0; at < cells; at++) {
      const of = kind(at);
      if (of < 0) continue;
      const key = byList ? of : DATA.categories[of][1];
      seen.set(key, (seen.get(key) || 0) + 1);
      context.fillStyle = byList ? LIST_COLOURS[DATA.lists[of]] : categoryColour(of);
      context.fillRect(at % across, Math.floor(at / across), 1, 1);
    }
    const swatch = (key) => {
      const made = element("span", { class: "swatch" });
      made.style.background = byList ? LIST_COLOURS[DATA.lists[key]] : colour("class-" + key);
      return element("li", {}, made, byList ? DATA.lists[key] : DATA.classes[key]);
    };
    legend.replaceChildren(...[...seen].sort((a, b) => b[1] - a[1]).map(([key]) => swatch(key)));
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * across);
    const at = Math.floor((event.clientY - box.top) / box.height * rows) * across + column;
    if (at < 0 || at >= cells) return;
    const first = found.strip.first + at * found.strip.length;
    const range = `PFN 0x${first.toString(16)} to 0x${(first + found.strip.length - 1).toString(16)}: `;
    says.textContent = range + (kind(at) < 0 ? "no page" : "mostly " + nameOf(kind(at)));
  });
  const number = place.dataset.trace;
  const choice = ["category", "list"].map((title, at) => element("label", {}, element("input", {
    type: "radio", name: "strip-" + number, value: title, ...(at === 0 ? { checked: "" } : {}),
    change: () => { byList = at === 1; draw(); },
  }), " " + title));
  document.querySelector(`[data-strip-controls="${number}"]`).append(element("fieldset", {}, element("legend", {}, "Colour by"), ...choice));
  draw();
  CHARTS.push({ draw });
}

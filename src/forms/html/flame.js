// Flame graphs: processes at the top, below each function those that it called.

const FLAME_LINE = 18;
const FLAME_COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#999999", "#d55e00", "#88ccee"];

/** The tree of one kind of events of one trace. */
class Flame {
  constructor(key, found, place) {
    this.key = key;
    this.place = place;
    this.found = found;
    this.search = "";
    this.all = this.tree();
    this.current = this.all;
    this.controls(document.querySelector(`[data-flame-controls="${this.key}"]`));
    this.chart = chart(place, () => this.option());
    this.chart.made.on("click", (event) => { if (this.drawn[event.dataIndex]) this.go(this.drawn[event.dataIndex].node); });
    const figure = place.closest("figure");
    figure.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.current.above) this.go(this.current.above); });
    this.show();
  }

  /** Lines in the order of the tree become functions with those below them. */
  tree() {
    const all = { name: "All", value: 0, events: 0, folded: 0, before: 0, eventsBefore: 0, below: [], above: null, depth: -1 };
    const way = [all];
    for (const [depth, name, value, events, folded, before, eventsBefore] of this.found.rows) {
      const above = way[depth];
      const node = { name: folded ? `+ ${folded} more` : this.found.names[name], value, events, folded, before, eventsBefore, below: [], above, depth };
      above.below.push(node);
      way.length = depth + 1;
      way.push(node);
    }
    for (const node of all.below) { all.value += node.value; all.events += node.events; }
    return all;
  }

  valueText(value) {
    if (this.found.unit === "time") return durationText(value);
    if (this.found.unit === "bytes") return sizeText(value / PAGE_BYTES);
    return this.found.unit === "pages" ? pagesText(value) : `${GROUPED.format(value)} events`;
  }

  go(node) {
    if (node.folded) return;
    this.current = node;
    this.show();
  }

  show() {
    this.chart.draw();
    this.chart.made.resize();
    this.showPath();
    this.showLevel();
  }

  matches(node) {
    return this.search !== "" && !node.folded && node.name.toLowerCase().includes(this.search);
  }

  /** Weight of what matches below a function: recursion counts once. */
  matched(node) {
    return this.matches(node) ? node.value : node.below.reduce((sum, below) => sum + this.matched(below), 0);
  }

  /** Rectangles: those above the current function over the whole width, and what is below it. */
  rectangles() {
    const made = [];
    const above = [];
    for (let node = this.current; node.above; node = node.above) above.unshift(node);
    const first = [this.all, ...above];
    first.forEach((node, line) => made.push({ node, from: 0, width: 1, line }));
    const whole = Math.max(1, this.current.value);
    const least = 0.6 / Math.max(200, this.place.clientWidth);
    const todo = [[this.current, 0, first.length]];
    while (todo.length > 0) {
      const [node, from, line] = todo.pop();
      let at = from;
      for (const below of node.below) {
        const width = below.value / whole;
        if (width >= least) {
          made.push({ node: below, from: at, width, line });
          todo.push([below, at, line + 1]);
        }
        at += width;
      }
    }
    return made;
  }

  colourOf(node) {
    if (node.folded || !node.above) return colour("even");
    const module = node.name.split(/[!+]/)[0];
    let hash = 0;
    for (const c of module) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
    return FLAME_COLOURS[hash % FLAME_COLOURS.length];
  }

  option() {
    this.drawn = this.rectangles();
    const lines = this.drawn.reduce((most, drawn) => Math.max(most, drawn.line + 1), 1);
    this.place.style.height = lines * FLAME_LINE + "px";
    const renderItem = (params, api) => {
      const { node } = this.drawn[params.dataIndex];
      const [x, y] = api.coord([api.value(0), api.value(2)]);
      const [width, height] = api.size([api.value(1), 1]);
      const fill = this.colourOf(node);
      const opacity = this.search && !this.matches(node) ? 0.25 : 1;
      const shape = { x, y, width: Math.max(width - 0.5, 0.5), height: height - 1 };
      const label = { text: width > 30 ? node.name : "", fill: fill.startsWith("#") ? textOn(fill) : colour("text"), width: width - 6, overflow: "truncate", fontSize: 11 };
      return { type: "rect", shape, style: { fill, opacity }, textContent: { type: "text", style: { ...label, opacity } }, textConfig: { position: "insideLeft" } };
    };
    const axis = { show: false, type: "value", min: 0 };
    return {
      ...baseOption(),
      tooltip: { ...baseOption().tooltip, formatter: (event) => this.tip(this.drawn[event.dataIndex]) },
      grid: { left: 0, right: 0, top: 0, bottom: 0 },
      xAxis: { ...axis, max: 1 },
      yAxis: { ...axis, max: lines, inverse: true },
      series: [{ type: "custom", renderItem, encode: { x: [0, 1], y: 2 }, clip: true, data: this.drawn.map(({ from, width, line }) => [from, width, line]) }],
    };
  }

  tip(drawn) {
    if (!drawn) return "";
    const { node } = drawn;
    const own = node.value - node.below.reduce((sum, below) => sum + below.value, 0);
    const lines = [`${this.valueText(node.value)}, ${shareText(node.value, this.all.value)} of all`, `${GROUPED.format(node.events)} events`];
    if (!node.folded && node.above) lines.push(`itself: ${this.valueText(own)}`);
    return tip(node.name, lines);
  }

  controls(place) {
    const says = element("span", { role: "status" });
    const changed = (event) => {
      this.search = event.target.value.trim().toLowerCase();
      const sum = this.search ? this.matched(this.all) : 0;
      says.textContent = this.search ? `${this.valueText(sum)}, ${shareText(sum, this.all.value)}` : "";
      this.chart.draw();
    };
    place.append(element("label", {}, "Search ", element("input", { type: "search", input: changed })), says);
  }

  showPath() {
    const place = document.querySelector(`[data-flame-path="${this.key}"]`);
    const way = [];
    for (let node = this.current; node; node = node.above) way.unshift(node);
    place.replaceChildren();
    // Of a long way the beginning and the end.
    const shown = way.length > 8 ? [...way.slice(0, 2), null, ...way.slice(-5)] : way;
    shown.forEach((node, at) => {
      if (at > 0) place.append(" › ");
      if (!node) return place.append("…");
      const isHere = node === this.current ? { "aria-current": "true" } : {};
      place.append(element("button", { type: "button", ...isHere, click: () => this.go(node) }, `${node.name} ${this.valueText(node.value)}`));
    });
  }

  showLevel() {
    const place = document.querySelector(`[data-flame-level="${this.key}"]`);
    const hadFocus = place.contains(document.activeElement);
    const item = (node) => {
      const text = `${node.name} ${this.valueText(node.value)}`;
      const inside = node.folded ? text : element("button", { type: "button", click: () => this.go(node) }, text);
      return element("li", {}, inside);
    };
    place.replaceChildren(...this.current.below.map(item));
    if (!hadFocus) return;
    const next = place.querySelector("button") || document.querySelector(`[data-flame-path="${this.key}"] button[aria-current]`);
    next.focus();
  }
}

/** The samples of two traces: widths of the second one, colours by the change of shares against the first. */
class FlameDifference extends Flame {
  /** Shares of all samples with a stack, of the first and of the second trace. */
  shares(node) {
    return [node.before, node.value].map((value, side) => value / Math.max(1, this.found.whole[side]));
  }

  colourOf(node) {
    if (!node.above) return colour("even");
    const [before, now] = this.shares(node);
    const most = Math.max(before, now);
    const change = most > 0 ? (now - before) / most : 0;
    return mixed(colour("even"), colour(change > 0 ? "more" : "less"), Math.abs(change));
  }

  tip(drawn) {
    if (!drawn) return "";
    const { node } = drawn;
    if (!node.above) return tip(node.name, this.found.whole.map((value) => this.valueText(value)));
    const [before, now] = this.shares(node);
    const points = (now - before) * 100;
    return tip(node.name, [
      `${shareText(now, 1)} (${this.valueText(node.value)}, ${GROUPED.format(node.events)} events)`,
      node.before > 0 ? `before: ${shareText(before, 1)} (${this.valueText(node.before)}, ${GROUPED.format(node.eventsBefore)} events)` : "before: nothing",
      `${points > 0 ? "+" : ""}${points.toFixed(1)} percentage points`,
    ]);
  }
}

// What all pictures share: the data, colours, numbers as text, and small pieces of HTML.

const DATA = JSON.parse(document.getElementById("data").textContent);
const PAGE_BYTES = 4096;
const LIST_COLOURS = {
  Active: "#332288", Standby: "#88ccee", Modified: "#ddcc77", ModifiedNoWrite: "#999933",
  Zero: "#dddddd", Free: "#8c8c8c", Bad: "#990000", Transition: "#aa4499",
};
const COMMIT_COLOUR = "#8855ff";
const SERIES_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#332288", "#999999", "#882255"];

/** The value of a colour of the style sheet, which depends on dark mode. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/** Parts of `#rrggbb`. */
function parts(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** A colour between two, 0 to 1. */
function mixed(from, to, share) {
  const [a, b] = [parts(from), parts(to)];
  return "#" + a.map((v, at) => Math.round(v + (b[at] - v) * share).toString(16).padStart(2, "0")).join("");
}

/** Black or white, whichever is read better on a colour. */
function textOn(hex) {
  const [r, g, b] = parts(hex).map((v) => Math.pow(v / 255, 2.2));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? "#111111" : "#ffffff";
}

/** The shade of a category: that of its class, lighter or darker by its place in the class. */
function categoryColour(category) {
  const ofClass = DATA.categories[category][1];
  const same = DATA.categories.map((known, at) => [known[1], at]).filter((known) => known[0] === ofClass);
  const place = same.findIndex((known) => known[1] === category) / Math.max(1, same.length - 1);
  const base = colour("class-" + ofClass);
  return place < 0.5 ? mixed(base, "#ffffff", 0.35 - place * 0.7) : mixed(base, "#000000", (place - 0.5) * 0.6);
}

const GROUPED = new Intl.NumberFormat("en-US");

function pagesText(pages) {
  return GROUPED.format(pages) + (Math.abs(pages) === 1 ? " page" : " pages");
}

/** An amount of memory: `12.3 MiB`. */
function sizeText(pages) {
  const kib = Math.abs(pages) * PAGE_BYTES / 1024;
  const sign = pages < 0 ? "-" : "";
  if (kib < 1024) return sign + kib + " KiB";
  if (kib < 1048576) return sign + (kib / 1024).toFixed(kib < 102400 ? 1 : 0) + " MiB";
  return sign + (kib / 1048576).toFixed(2) + " GiB";
}

/** The unit in which an axis up to so many pages has round numbers: what a page is of it, and its name. */
function axisUnit(pages) {
  const kib = pages * PAGE_BYTES / 1024;
  if (kib < 2048) return [4, "KiB"];
  return kib < 2097152 ? [4 / 1024, "MiB"] : [4 / 1048576, "GiB"];
}

function shareText(part, whole) {
  return (whole > 0 ? part * 100 / whole : 0).toFixed(1) + " %";
}

function durationText(ns) {
  if (ns < 1e3) return ns + " ns";
  if (ns < 1e6) return (ns / 1e3).toFixed(1) + " µs";
  if (ns < 1e9) return (ns / 1e6).toFixed(2) + " ms";
  return (ns / 1e9).toFixed(2) + " s";
}

/** An element with attributes and children; texts are texts, never HTML. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** What a chart says of the thing below the pointer: a heading and lines. */
function tip(heading, lines) {
  const made = element("div", { class: "tip" }, element("b", {}, heading));
  for (const line of lines) made.append(element("div", {}, line));
  return made;
}

/** The last part of a path; other names, also those with characters shown as `\x07`, as they are. */
function shortName(name) {
  if (!/^(\\(?!u\{|x[0-9a-f]{2})|[^\\]+:\\)/.test(name)) return name;
  const end = name.replace(/\\+$/, "").lastIndexOf("\\");
  return end > 0 && end < name.length - 1 ? name.slice(end + 1) : name;
}

function baseOption() {
  return {
    animation: false,
    textStyle: { color: colour("text"), fontFamily: "system-ui, 'Segoe UI', Roboto, Arial, sans-serif" },
    tooltip: {
      confine: true, transitionDuration: 0, backgroundColor: colour("card"), borderColor: colour("line"),
      textStyle: { color: colour("text") },
    },
  };
}

/** All charts of the page, with what draws them. */
const CHARTS = [];

/** A chart in an element; `draw` gives its options and is called again when colours or sizes change. */
function chart(place, draw) {
  const made = echarts.init(place, null, { renderer: "canvas" });
  const entry = { made, draw: () => made.setOption(draw(), { notMerge: true }) };
  entry.draw();
  CHARTS.push(entry);
  return entry;
}

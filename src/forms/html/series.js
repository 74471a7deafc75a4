// Pictures over time, bars, and what differs between traces.

function axisStyle() {
  return {
    axisLine: { lineStyle: { color: colour("line") } }, axisLabel: { color: colour("faint"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("line"), opacity: 0.6 } }, nameTextStyle: { color: colour("faint") },
  };
}

function legendOption() {
  return { type: "scroll", top: 0, left: 0, textStyle: { color: colour("text") }, pageTextStyle: { color: colour("faint") }, pageIconColor: colour("accent") };
}

/** Bars from left to right, the first one at the top. */
function barOption(names, series, unit) {
  const isSize = unit === "pages";
  const valueOf = (item) => (item !== null && typeof item === "object" ? item.value : item);
  const sums = names.map((_, at) => series.reduce((sum, of) => sum + Math.abs(valueOf(of.data[at])), 0));
  const [factor, name] = isSize ? axisUnit(Math.max(1, ...sums)) : [1, ""];
  const scaled = (item) => (item !== null && typeof item === "object" ? { ...item, value: item.value * factor } : item * factor);
  const heading = (items) => tip(items[0].axisValue, items.filter((item) => item.value !== 0).map((item) => {
    return `${item.seriesName}: ${isSize ? pagesText(Math.round(item.value / factor)) + ", " + sizeText(Math.round(item.value / factor)) : durationText(item.value)}`;
  }));
  return {
    ...baseOption(),
    tooltip: { ...baseOption().tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: heading },
    legend: legendOption(),
    grid: { left: 8, right: 24, top: 34, bottom: 8, containLabel: true },
    xAxis: { type: "value", ...axisStyle(), axisLabel: { ...axisStyle().axisLabel, formatter: (v) => (isSize ? GROUPED.format(v) + " " + name : durationText(v)) } },
    yAxis: { type: "category", inverse: true, data: names, ...axisStyle(), axisLabel: { color: colour("text"), width: 170, overflow: "truncate" } },
    series: series.map((of) => ({ ...of, data: of.data.map(scaled) })),
  };
}

/** Areas on top of each other over time; `more` are lines beside them. */
function timeOption(times, stacked, more, isSize, marks) {
  const top = Math.max(1, ...times.map((_, at) => stacked.reduce((sum, { values }) => sum + (values[at] || 0), 0)), ...more.flatMap(({ values }) => values));
  const [factor, unit] = isSize ? axisUnit(top) : [1, "%"];
  if (times.length < 2) return onceOption(stacked, more);
  // A mark between the last point and the end of the window is in the picture too.
  const ends = [times[0], times[times.length - 1], ...marks.map(([time]) => time)];
  const of = (values) => times.map((time, at) => [time, values[at] === null ? null : values[at] * factor]);
  // Two axes of numbers cannot be stacked by the library: each area reaches down to zero, the highest is drawn first.
  const sums = new Array(times.length).fill(0);
  const areas = stacked.map(({ name, values, fill }) => {
    times.forEach((_, at) => { sums[at] += values[at] || 0; });
    return {
      name, type: "line", step: "end", symbol: "none", data: of([...sums]),
      // A thin line of the page's colour keeps areas of near colours apart.
      lineStyle: { width: 1, color: colour("page") },
      areaStyle: { opacity: 1, color: fill }, itemStyle: { color: fill },
    };
  });
  const line = ({ name, values, fill }) => ({
    name, type: "line", step: "end", symbol: "none", data: of(values), lineStyle: { width: 2, color: fill, type: "dashed" }, itemStyle: { color: fill },
  });
  const series = [...areas.reverse(), ...more.map(line)];
  if (marks.length > 0 && series.length > 0) {
    // Marks that lie close together would write over each other.
    const places = ["insideEndTop", "insideStartTop"];
    series[series.length - 1].markLine = {
      // At their exact times: the library would round them to hundredths of a second.
      symbol: "none", silent: true, precision: -1, lineStyle: { color: colour("faint"), type: "solid", width: 1 },
      data: marks.map(([time, text], at) => ({ xAxis: time, label: {
        formatter: text, color: colour("text"), position: places[at % 2], width: 110, overflow: "truncate",
        textBorderColor: colour("page"), textBorderWidth: 3,
      } })),
    };
  }
  const about = (items) => {
    const at = items[0].dataIndex;
    const all = [...stacked].reverse().concat(more).filter(({ values }) => values[at]);
    const text = (pages) => (isSize ? sizeText(pages) : pages.toFixed(1) + " %");
    return tip(times[at].toFixed(3) + " s", all.slice(0, 14).map(({ name, values }) => `${name}: ${text(values[at])}`));
  };
  return {
    ...baseOption(),
    tooltip: { ...baseOption().tooltip, trigger: "axis", formatter: about },
    legend: { ...legendOption(), selectedMode: false, data: [...stacked, ...more].map(({ name }) => name) },
    grid: { left: 8, right: 24, top: 36, bottom: 24, containLabel: true },
    xAxis: {
      type: "value", min: Math.min(...ends), max: Math.max(...ends), ...axisStyle(), splitLine: { show: false },
      axisLabel: { ...axisStyle().axisLabel, formatter: (time) => +time.toFixed(3) + " s" },
    },
    yAxis: { type: "value", ...axisStyle(), axisLabel: { ...axisStyle().axisLabel, formatter: (v) => GROUPED.format(v) + " " + unit } },
    series,
  };
}

/** What was sampled once is no course: one bar for each part. */
function onceOption(stacked, more) {
  const all = [...stacked, ...more].filter(({ values }) => values[0] !== null && values[0] !== undefined);
  const data = all.map(({ values, fill }) => ({ value: values[0], itemStyle: { color: fill } }));
  const option = barOption(all.map(({ name }) => name), [{ name: "the only sample", type: "bar", data }], "pages");
  option.legend = { show: false };
  return option;
}

function heldOption(trace) {
  const found = trace.reference;
  const stacked = found.held.map(({ category, pages }) => ({ name: DATA.categories[category][0], values: pages, fill: categoryColour(category) }));
  const marks = [...trace.marks.map(([time, text]) => [time, text]), [found.peak[0], `peak ${sizeText(found.peak[1])}`]];
  for (const [at, title] of [[0, "window begins"], [1, "window ends"]]) {
    if (!found.window[at][1]) marks.push([found.window[at][0], title]);
  }
  marks.sort((a, b) => a[0] - b[0]);
  const first = Math.min(found.times[0] ?? 0, found.window[0][0]);
  const last = Math.max(found.times[found.times.length - 1] ?? 0, found.window[1][0]);
  return timeOption(found.times, stacked, [], true, marks.filter(([time]) => time >= first && time <= last));
}

function reasonOption(found) {
  const side = (name, at, fill) => ({ name, type: "bar", stack: "all", data: found.reasons.map((of) => of[at]), itemStyle: { color: fill } });
  return barOption(found.reasons.map((of) => of[0]), [side("accessed", 1, colour("more")), side("released", 2, colour("less"))], "pages");
}

function impactOption(found) {
  const data = found.impact.map(([, pages]) => pages);
  return barOption(found.impact.map(([name]) => name), [{ name: "pages", type: "bar", data, itemStyle: { color: colour("class-0") } }], "pages");
}

function memoryOption(trace) {
  const lists = { "In use": "Active", Modified: "Modified", "Modified no-write": "ModifiedNoWrite", Standby: "Standby", Zero: "Zero", Free: "Free" };
  const stacked = trace.memory.stacked.map(({ name, pages }) => ({ name, values: pages, fill: LIST_COLOURS[lists[name]] }));
  const lines = trace.memory.lines.map(({ name, pages }) => ({ name, values: pages, fill: COMMIT_COLOUR }));
  return timeOption(trace.memory.times, stacked, lines, true, trace.marks);
}

function cpuOption(trace) {
  const stacked = trace.cpu.shares.map(({ name, values }, at) => ({ name, values, fill: SERIES_COLOURS[at % SERIES_COLOURS.length] }));
  const option = timeOption(trace.cpu.times, stacked, [], false, trace.marks);
  if (!Array.isArray(option.yAxis.data)) option.yAxis.max = (extent) => Math.min(100, Math.ceil(extent.max / 10) * 10);
  return option;
}

function delayOption(found) {
  const side = (name, at, fill) => ({ name, type: "bar", data: found.delays.map((of) => Math.max(1, of[at])), itemStyle: { color: fill } });
  const option = barOption(found.delays.map((of) => of[0]), [side("95 of 100 at most", 3, colour("class-0")), side("longest", 4, colour("class-1"))], "ns");
  option.xAxis = { ...option.xAxis, type: "log", min: 1000 };
  return option;
}

/** Waits and the disk over time, and below it the memory that was available. */
function faultTimeOption(found) {
  if (found.times.length === 0) return baseOption();
  const hasMemory = found.available.some((pages) => pages !== null);
  const [factor, unit] = axisUnit(Math.max(1, ...found.available));
  // A step ends where the next one begins.
  const of = (values) => [...found.times.map((time, at) => [time, values[at]]), [found.end, values[values.length - 1]]];
  const area = (name, values, fill, at) => ({
    name, type: "line", step: "end", symbol: "none", xAxisIndex: at, yAxisIndex: at, data: of(values), connectNulls: false,
    lineStyle: { width: 1, color: fill }, areaStyle: { opacity: 0.5, color: fill }, itemStyle: { color: fill },
  });
  const series = [area("threads waited", found.waited, colour("class-1"), 0)];
  const yAxis = [{ type: "value", name: "waited", ...axisStyle(), axisLabel: { ...axisStyle().axisLabel, formatter: durationText } }];
  const time = { type: "value", min: found.times[0] ?? 0, max: found.end, ...axisStyle(), splitLine: { show: false } };
  const seconds = { ...axisStyle().axisLabel, formatter: (at) => +at.toFixed(3) + " s" };
  const grids = [{ left: 80, right: 80, top: 44, height: hasMemory ? 170 : 320 }];
  const xAxis = [{ ...time, gridIndex: 0, axisLabel: { ...seconds, show: !hasMemory } }];
  if (hasMemory) {
    grids.push({ left: 80, right: 80, top: 250, height: 130 });
    xAxis.push({ ...time, gridIndex: 1, axisLabel: seconds });
    yAxis.push({ type: "value", gridIndex: 1, name: "available", ...axisStyle(), axisLabel: { ...axisStyle().axisLabel, formatter: (v) => GROUPED.format(v) + " " + unit } });
    series.push(area("available memory", found.available.map((pages) => (pages === null ? null : pages * factor)), colour("class-0"), 1));
  }
  // Bytes of the disk have an axis of their own on the right.
  const [diskFactor, diskUnit] = axisUnit(Math.max(1, ...found.disk) / PAGE_BYTES);
  yAxis.push({ type: "value", gridIndex: 0, position: "right", name: "disk", ...axisStyle(), splitLine: { show: false }, axisLabel: { ...axisStyle().axisLabel, formatter: (v) => GROUPED.format(v) + " " + diskUnit } });
  series.push({
    name: "disk", type: "line", step: "end", symbol: "none", xAxisIndex: 0, yAxisIndex: yAxis.length - 1, data: of(found.disk.map((bytes) => bytes / PAGE_BYTES * diskFactor)),
    lineStyle: { width: 1.5, color: COMMIT_COLOUR, type: "dashed" }, itemStyle: { color: COMMIT_COLOUR },
  });
  const about = (items) => {
    const at = Math.min(items[0].dataIndex, found.times.length - 1);
    const lines = [`${GROUPED.format(found.faults[at])} hard faults, waited ${found.waited[at] === null ? "unknown" : durationText(found.waited[at])}`, `disk: ${sizeText(found.disk[at] / PAGE_BYTES)}`];
    if (found.available[at] !== null) lines.push(`available: ${sizeText(found.available[at])}`);
    return tip(found.times[at].toFixed(3) + " s", lines);
  };
  return {
    ...baseOption(), tooltip: { ...baseOption().tooltip, trigger: "axis", formatter: about }, axisPointer: { link: [{ xAxisIndex: "all" }] },
    legend: { ...legendOption(), selectedMode: false }, grid: grids, xAxis, yAxis, series,
  };
}

/** Waits for hard faults of processes or files. */
function faultBarOption(rows) {
  const data = rows.map(([, waited]) => waited);
  const option = barOption(rows.map(([name]) => shortName(name)), [{ name: "waited", type: "bar", data, itemStyle: { color: colour("class-1") } }], "ns");
  option.legend = { show: false };
  option.grid = { ...option.grid, top: 8, right: 48 };
  option.tooltip.formatter = (items) => {
    const [name, waited, faults] = rows[items[0].dataIndex];
    return tip(name, [`${durationText(waited)}, ${GROUPED.format(faults)} hard faults`]);
  };
  return option;
}

/** What was allocated, over time. */
function allocatedOption(found, marks) {
  return timeOption(found.times, [{ name: "allocated", values: found.pages, fill: colour("class-0") }], [], true, marks);
}

/** Who has most of it at the end. */
function ownerOption(found) {
  const series = [
    { name: "from before the trace", type: "bar", stack: "all", data: found.owners.map(([, kept]) => kept), itemStyle: { color: colour("class-0") } },
    { name: "allocated in the trace", type: "bar", stack: "all", data: found.owners.map(([, , added]) => added), itemStyle: { color: colour("class-1") } },
  ];
  const option = barOption(found.owners.map(([name]) => shortName(name)), series, "pages");
  // Sizes are no whole pages.
  option.tooltip.formatter = (items) => {
    const [name, kept, added] = found.owners[items[0].dataIndex];
    return tip(name, [`from before the trace: ${sizeText(kept)}`, `allocated in the trace: ${sizeText(added)}`]);
  };
  return option;
}

/** Bars to both sides. */
function changeOption(changes) {
  const data = changes.map(([, , left, right]) => ({ value: right - left, itemStyle: { color: colour(right > left ? "more" : "less") } }));
  const option = barOption(changes.map(([name]) => name), [{ name: "difference", type: "bar", data }], "pages");
  option.legend = { show: false };
  option.grid.top = 8;
  const signed = (pages) => (pages > 0 ? "+" : "") + sizeText(pages);
  option.tooltip.formatter = (items) => {
    const [name, , left, right] = changes[items[0].dataIndex];
    return tip(name, [`${sizeText(left)} → ${sizeText(right)}`, `${signed(right - left)}, ${GROUPED.format(right - left)} pages`]);
  };
  const plain = option.xAxis.axisLabel.formatter;
  option.xAxis.axisLabel.formatter = (value) => (value > 0 ? "+" : "") + plain(value);
  return option;
}

function growthOption(found) {
  const tile = ([name, , left, right]) => {
    const share = (right - left) / Math.max(1, left, right);
    const fill = mixed(colour("even"), colour(share > 0 ? "more" : "less"), Math.min(1, Math.abs(share)));
    return { name, value: Math.max(left, right), left, right, itemStyle: { color: fill, borderColor: colour("page") }, label: { color: textOn(fill) } };
  };
  const data = found.tiles.map(([all, parts]) => ({ ...tile(all), children: parts.map(tile), upperLabel: { color: colour("text") }, itemStyle: { borderColor: colour("line") } }));
  const about = ({ name, data }) => tip(name, data.left === undefined ? [] : [`${sizeText(data.left)} → ${sizeText(data.right)}`, GROUPED.format(data.right - data.left) + " pages"]);
  const label = ({ name, data }) => `${shortName(name)}\n${data.right > data.left ? "+" : ""}${sizeText(data.right - data.left)}`;
  return {
    ...baseOption(),
    tooltip: { ...baseOption().tooltip, formatter: about },
    series: [{
      type: "treemap", data, left: 0, top: 0, right: 0, bottom: 0, nodeClick: false, roam: false, breadcrumb: { show: false },
      label: { show: true, formatter: label, fontSize: 11, lineHeight: 14, overflow: "truncate", padding: [2, 4], position: "insideTopLeft" },
      upperLabel: { show: true, height: 18, fontSize: 11, overflow: "truncate", formatter: (event) => label(event).replace("\n", "  ") },
      levels: [{ itemStyle: { gapWidth: 2, borderWidth: 0, borderColor: colour("page") }, upperLabel: { show: false } }, { itemStyle: { gapWidth: 1, borderWidth: 2 } }, {}],
    }],
  };
}

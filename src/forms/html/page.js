// Puts the pictures into their places, and draws them again when sizes or colours change.

/** The height of bars: each needs a line. */
function tall(place, bars, height = 26) {
  place.style.height = 60 + Math.max(3, bars) * height + "px";
}

function allocated(place, number, kind) {
  return chart(place, () => allocatedOption(DATA.traces[number].allocations[kind], DATA.traces[number].marks));
}

function owners(place, number, kind) {
  const found = DATA.traces[number].allocations[kind];
  tall(place, found.owners.length);
  return chart(place, () => ownerOption(found));
}

const KINDS = {
  treemap: (place, number) => new Tiles(number, place),
  standby: (place, number) => { tall(place, 8); return chart(place, () => standbyOption(DATA.traces[number].resident)); },
  flows: (place, number) => {
    const found = DATA.traces[number].resident;
    place.style.height = 100 + 40 * new Set(found.flows.map((flow) => flow.to)).size + "px";
    return chart(place, () => flowOption(found));
  },
  strip: (place, number) => strip(place, DATA.traces[number].resident),
  held: (place, number) => chart(place, () => heldOption(DATA.traces[number])),
  reasons: (place, number) => {
    tall(place, DATA.traces[number].reference.reasons.length);
    return chart(place, () => reasonOption(DATA.traces[number].reference));
  },
  impact: (place, number) => { tall(place, 3); return chart(place, () => impactOption(DATA.traces[number].reference)); },
  memory: (place, number) => chart(place, () => memoryOption(DATA.traces[number])),
  cpu: (place, number) => chart(place, () => cpuOption(DATA.traces[number])),
  delays: (place, number) => {
    tall(place, DATA.traces[number].cpu.delays.length, 32);
    return chart(place, () => delayOption(DATA.traces[number].cpu));
  },
  faultsOverTime: (place, number) => { place.style.height = "420px"; return chart(place, () => faultTimeOption(DATA.traces[number].faults)); },
  faultsByProcess: (place, number) => {
    tall(place, DATA.traces[number].faults.processes.length);
    return chart(place, () => faultBarOption(DATA.traces[number].faults.processes));
  },
  faultsByFile: (place, number) => {
    tall(place, DATA.traces[number].faults.files.length);
    return chart(place, () => faultBarOption(DATA.traces[number].faults.files));
  },
  flame: (place, number) => {
    const at = Number(place.dataset.at);
    return new Flame(`${number}-${at}`, DATA.traces[number].stacks[at], place);
  },
  flameDifference: (place, number) => new FlameDifference(`d${number}`, DATA.stackDifferences[number], place),
  commitOverTime: (place, number) => allocated(place, number, "commit"),
  poolOverTime: (place, number) => allocated(place, number, "pool"),
  heapOverTime: (place, number) => allocated(place, number, "heap"),
  commitOwners: (place, number) => owners(place, number, "commit"),
  poolOwners: (place, number) => owners(place, number, "pool"),
  heapOwners: (place, number) => owners(place, number, "heap"),
  changedCategories: (place, number) => {
    tall(place, DATA.differences[number].byCategory.length);
    return chart(place, () => changeOption(DATA.differences[number].byCategory));
  },
  changedProcesses: (place, number) => {
    tall(place, DATA.differences[number].byProcess.length);
    return chart(place, () => changeOption(DATA.differences[number].byProcess));
  },
  growth: (place, number) => chart(place, () => growthOption(DATA.differences[number])),
};

function drawAll() {
  for (const entry of CHARTS) {
    if (entry.made) entry.made.resize();
    entry.draw();
  }
}

document.querySelectorAll("table").forEach(prepareTable);
document.querySelectorAll("[data-kind]").forEach((place) => KINDS[place.dataset.kind](place, Number(place.dataset.trace)));

let waiting = 0;
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

/** Paper is white, and has no place to click: all numbers are shown. */
window.addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printed");
  document.querySelectorAll("details:not([open])").forEach((closed) => { closed.open = true; closed.dataset.wasClosed = ""; });
  drawAll();
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printed");
  document.querySelectorAll("details[data-was-closed]").forEach((opened) => { opened.open = false; delete opened.dataset.wasClosed; });
  drawAll();
});

"""The page of `pfnset report` in a real browser: what its scripts do, and that it asks nobody for anything.

    python3 tests/browser/report.py PFNSET CHROMIUM FOLDER [HOSTILE.html]

PFNSET is the program, CHROMIUM a browser, FOLDER where pages and pictures go; HOSTILE.html is a page of a trace with
hostile names, which `cargo test --test program report` leaves in target/tmp. Needs the package playwright.
.ci/report-browser gets all of them.
"""

import json
import pathlib
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"


def pfnset(program, *arguments):
    run = subprocess.run([program, *map(str, arguments)], cwd=FIXTURES, check=True, capture_output=True, text=True)
    return run.stdout


def report(program, folder, name, *traces):
    page = folder / (name + ".html")
    pfnset(program, "report", "-q", *traces, "-o", page)
    return page


class Browser:
    """A browser that notes everything which a sound page does not do."""

    def __init__(self, playwright, path):
        self.browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        self.faults = []

    def open(self, file, width=1280, scheme="light", bypass_csp=False):
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=bypass_csp)
        page = context.new_page()
        fault = lambda text: self.faults.append(f"{file.name}: {text}")
        page.on("console", lambda message: fault(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: fault(f"error: {error}"))
        page.on("dialog", lambda dialog: (fault(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith("file:") or fault(f"request: {request.url}"))
        page.goto(file.as_uri())
        page.wait_for_selector("#resident, #cpu")
        page.wait_for_timeout(300)
        return page


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def path_of(page):
    return [text.rsplit(" ", 2)[0] for text in page.locator("[data-path='0'] button").all_inner_texts()]


def drill_down(page):
    """A click goes one level in, the path goes out."""
    check(path_of(page) == ["All memory"], f"the path begins at all memory: {path_of(page)}")
    chart = page.locator(".treemap").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    place = (box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.3)
    page.mouse.click(*place)
    first = path_of(page)
    check(len(first) == 2 and first[1] in ("Dynamic", "File", "Kernel", "Free"), f"a click goes to a class: {first}")
    page.mouse.click(*place)
    second = path_of(page)
    check(len(second) == 3 and second[:2] == first, f"a second click goes to a category: {second}")
    page.locator("[data-path='0'] button").nth(1).click()
    check(path_of(page) == first, "the path goes out by one")
    page.locator("[data-path='0'] button").first.click()
    check(path_of(page) == ["All memory"], "the path goes out to all")


def legend(page):
    items = page.locator("[data-controls='0'] li")
    return {items.nth(at).get_attribute("data-class"): int(items.nth(at).get_attribute("data-pages")) for at in range(items.count())}


def by_class(program, trace, rules, classes):
    told = json.loads(pfnset(program, "resident", "-q", trace, "--group-by", "category", "--classification", rules, "--format", "json"))
    sums = {}
    for row in told["snapshots"][0]["rows"]:
        sums[classes[row["category"]]] = sums.get(classes[row["category"]], 0) + row["pages"]
    return sums


def switch(page, program, trace):
    """The switch changes the numbers to those of the JSON, and moves no tile."""
    classes = page.evaluate("Object.fromEntries(DATA.categories.map(([name, at]) => [name, DATA.classes[at]]))")
    places = """() => { const tree = CHARTS.find((c) => c.made && c.made.getOption().series[0].type === "treemap").made
        .getModel().getSeriesByIndex(0).getData().tree; const all = [];
        tree.root.eachNode((node) => { const l = node.getLayout(); if (l) all.push([l.x, l.y, l.width, l.height]); });
        return JSON.stringify(all); }"""
    before = page.evaluate(places)
    check(len(json.loads(before)) > 20, "there are tiles")
    for rules, value in (("wpa", "wpa"), ("corrected", "corrected")):
        page.locator(f"input[name='rules-0'][value='{value}']").check()
        shown = {name: pages for name, pages in legend(page).items() if pages}
        told = by_class(program, trace, rules, classes)
        check(shown == told, f"{rules}: the page says {shown}, the JSON {told}")
        check(page.evaluate(places) == before, f"{rules}: every tile stays where it is")


def search(page, program, trace):
    """The search finds a process, in the tiles and in the table."""
    told = json.loads(pfnset(program, "resident", "-q", trace, "--group-by", "process", "--format", "json"))
    name = next(row["process"] for row in told["snapshots"][0]["rows"] if row["owner"] == "process")
    page.locator("[data-controls='0'] input[type=search]").fill(name)
    found = page.locator("[data-controls='0'] .found").inner_text()
    check("tiles" in found and name in found, f"the search tells where {name} is: {found}")
    page.locator("details.processes").evaluate("(details) => { details.open = true; }")
    rows = page.locator("details.processes tbody tr:visible th").all_inner_texts()
    check(rows == [name], f"the table shows {name} alone: {rows}")
    page.locator("[data-controls='0'] .found button").first.click()
    check(len(path_of(page)) > 1, "what was found can be gone to")
    page.locator("[data-path='0'] button").first.click()
    page.locator("[data-controls='0'] input[type=search]").fill("")
    check(page.locator("details.processes tbody tr:visible").count() > 1, "without a text all rows are there")


def sort(page):
    """Tables sort by any column; parts stay below their class, the total at the end."""
    table = page.locator(".filtered table").first
    sizes = lambda depth: table.evaluate(
        "(t, d) => [...t.tBodies[0].rows].filter((r) => r.dataset.depth === d && !r.classList.contains('total')).map((r) => +r.cells[1].dataset.v)", depth)
    table.locator("thead th").nth(1).locator("button").click()
    check(sizes("0") == sorted(sizes("0"), reverse=True), "classes by size, the largest first")
    table.locator("thead th").nth(1).locator("button").click()
    check(sizes("0") == sorted(sizes("0")), "a second click turns the order around")
    check(table.locator("thead th").nth(1).get_attribute("aria-sort") == "ascending", "the order is told")
    table.locator("thead th").nth(0).locator("button").click()
    names = table.evaluate("(t) => [...t.tBodies[0].rows].filter((r) => r.dataset.depth === '0').map((r) => r.cells[0].textContent)")
    check(names == [*sorted(names[:-1]), "Total"], f"by name, the total last: {names}")


def keyboard(page):
    """Who does not point at tiles goes through them by buttons."""
    page.locator("details:has([data-level='0'])").evaluate("(details) => { details.open = true; }")
    first = page.locator("[data-level='0'] button").first
    first.focus()
    page.keyboard.press("Enter")
    inside = path_of(page)
    check(len(inside) == 2, f"a key goes to a class: {inside}")
    check(page.evaluate("document.activeElement.closest('[data-level], [data-path]') !== null"), "the focus goes on from there")
    page.keyboard.press("Enter")
    check(len(path_of(page)) == 3, f"another key goes to a category: {path_of(page)}")
    page.locator("[data-path='0'] button").first.press("Enter")
    check(path_of(page) == ["All memory"], "and back by the path")


def marks(page):
    """Marks are drawn at their exact times."""
    lines = page.evaluate("""() => CHARTS.filter((c) => c.made).flatMap((c) => c.made.getOption().series)
        .map((s) => s.markLine).filter((line) => line && line.data)""")
    check(lines and all(line["precision"] == -1 for line in lines), "the library does not round the places of marks")
    drawn = [mark["xAxis"] for line in lines for mark in line["data"]]
    told = page.evaluate("DATA.traces[0].marks.map(([time]) => time)")
    check(told and all(time in drawn for time in told), f"marks at {told}, drawn at {drawn}")


def flame(page, program, trace):
    """Flame graphs: a click goes into a function, Escape and the path go out, keys and the search work."""
    way = lambda: page.locator("[data-flame-path='0-0'] button").all_inner_texts()
    check(len(way()) == 1 and way()[0].startswith("All "), f"the path begins at all: {way()}")
    chart = page.locator(".flame").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.click(box["x"] + 40, box["y"] + 18 * 1.5)
    first = way()
    check(len(first) == 2, f"a click goes to a process: {first}")
    page.mouse.click(box["x"] + 40, box["y"] + 18 * 2.5)
    check(len(way()) == 3 and way()[:2] == first, f"a second click goes to a function: {way()}")
    page.locator("[data-flame-path='0-0'] button").last.focus()
    page.keyboard.press("Escape")
    check(len(way()) in (1, 2), f"Escape goes out: {way()}")
    page.locator("[data-flame-path='0-0'] button").first.click()
    check(len(way()) == 1, "the path goes out to all")
    page.locator("details:has([data-flame-level='0-0'])").evaluate("(details) => { details.open = true; }")
    page.locator("[data-flame-level='0-0'] button").first.focus()
    page.keyboard.press("Enter")
    check(len(way()) == 2, f"a key goes to a process: {way()}")
    check(page.evaluate("document.activeElement.closest('[data-flame-level]') !== null"), "the focus goes on from there")
    page.locator("[data-flame-path='0-0'] button").first.click()
    told = json.loads(pfnset(program, "stacks", "-q", trace, "--of", "samples", "--where", "module=hal.dll", "--format", "json"))
    all_told = json.loads(pfnset(program, "stacks", "-q", trace, "--of", "samples", "--format", "json"))
    page.locator("[data-flame-controls='0-0'] input[type=search]").fill("hal.dll")
    says = page.locator("[data-flame-controls='0-0'] [role=status]").inner_text()
    share = 100 * told["totals"]["weight_with_stack"] / all_told["totals"]["weight_with_stack"]
    check(f"{share:.1f} %" in says, f"the search says {says}, the JSON {share:.1f} %")


def hotter(page):
    """The differential flame graph: a click goes in, colours say how shares changed."""
    way = lambda: page.locator("[data-flame-path='d0'] button").all_inner_texts()
    chart = page.locator("[data-kind=flameDifference]")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.click(box["x"] + 40, box["y"] + 18 * 1.5)
    check(len(way()) == 2, f"a click goes to a process: {way()}")
    told = page.evaluate("""() => {
        const of = (before, value) => {
            const flame = Object.assign(Object.create(FlameDifference.prototype), { found: { whole: [200, 100], unit: "events" }, all: {} });
            const node = { name: "f", above: {}, before, value, events: value, eventsBefore: before };
            return [flame.colourOf(node), flame.tip({ node }).innerText];
        };
        return { more: of(0, 10), less: of(200, 0), even: of(20, 10), half: of(20, 20)[0],
            colours: ["more", "less", "even"].map(colour), mixed: mixed(colour("even"), colour("more"), 0.5) };
    }""")
    check([told[name][0] for name in ("more", "less", "even")] == told["colours"], f"full colours at the ends, grey in the middle: {told}")
    check(told["half"] == told["mixed"], f"twice the share has half of the colour: {told}")
    check("before: nothing" in told["more"][1] and "10.0 %" in told["even"][1], f"the tip has both shares: {told}")


def accessible(page, name):
    """axe-core finds no fault; without the package it says so."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        print("SKIPPED: axe-core is not there (pip install axe-playwright-python)")
        return
    page.locator("details").evaluate_all("(all) => all.forEach((details) => { details.open = true; })")
    # Its rules run in the page, which lets no foreign script run: it is tested with that policy switched off.
    found = Axe().run(page).response["violations"]
    told = [f"{fault['id']} ({fault['impact']}): {fault['help']}, at {fault['nodes'][0]['target']} and {len(fault['nodes']) - 1} more" for fault in found]
    check(told == [], f"{name}: axe-core: " + "; ".join(told))


def print_page(page):
    """Paper is white and has all numbers."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    check(page.locator("details:not([open])").count() == 0, "all tables are printed")
    check(len(page.pdf()) > 10_000, "the page prints")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")


def main():
    program, chromium, folder = sys.argv[1:4]
    program, folder = str(pathlib.Path(program).resolve()), pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    trace = "resident-small.etl"
    # A trace that is named twice counts once; a copy does not.
    copy = shutil.copy(FIXTURES / "stacks-keys.etl", folder / "copy.etl")
    pages = {
        "many": [trace, "refset-proved.etl", "refset-small.etl", "cpu-compressed.etl"], "resident": [trace], "refset": ["refset-proved.etl"], "cpu": ["cpu-compressed.etl"], "allocations": ["alloc-x86.etl"], "stacks": ["stacks-keys.etl"], "hotter": ["stacks-keys.etl", copy], "two": [trace, "refset-proved.etl"],
    }
    with sync_playwright() as playwright:
        browser = Browser(playwright, chromium)
        files = {name: report(program, folder, name, *traces) for name, traces in pages.items()}
        page = browser.open(files["resident"])
        drill_down(page)
        switch(page, program, trace)
        search(page, program, trace)
        sort(page)
        keyboard(page)
        print_page(page)
        marks(browser.open(files["refset"]))
        flame(browser.open(files["stacks"]), program, "stacks-keys.etl")
        hotter(browser.open(files["hotter"]))
        if len(sys.argv) > 4:
            files["hostile"] = pathlib.Path(sys.argv[4]).resolve()
        for name, file in files.items():
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    page = browser.open(file, width, scheme)
                    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    check(wide <= 0, f"{name} at {width} pixels: {wide} pixels too wide")
                    blank = page.evaluate("[...document.querySelectorAll('.chart')].filter((c) => !c.querySelector('canvas')).map((c) => c.dataset.kind)")
                    check(blank == [], f"{name}: nothing is drawn for {blank}")
                    if width == 1280:
                        accessible(browser.open(file, width, scheme, bypass_csp=True), f"{name} {scheme}")
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
        check(browser.faults == [], "\n".join(browser.faults))
        print(f"{len(files)} pages in two widths, light and dark: tiles, switch, search, tables and printing work; nothing was loaded")


main()

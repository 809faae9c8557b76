"""The report in headless Chromium, opened from disk with the network off."""

import base64
import io
import json
import os
import shutil
from pathlib import Path
from statistics import median

import pytest
from comet_checkpoints import RECIPES, build
from comet_texts import ORDINARY

from ctx_metrics.cli import main

selenium = pytest.importorskip("selenium", reason="the tests of the report drive a browser: pip install selenium")
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        shutil.which("chromedriver") is None and "CTX_METRICS_BROWSER" not in os.environ,
        reason="no chromedriver: apt install chromium chromium-driver",
    ),
]
BREAKING = "</script><img src=x onerror=\"document.title='broken'\">"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1300,900"
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = ChromeOptions()
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    saved = tmp_path_factory.mktemp("saved")
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
    driver.saved = saved
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of two systems and two documents, whose texts hold HTML."""
    folder = tmp_path_factory.mktemp("report")
    texts = {
        "src": ["Der Hund schläft.", "Es regnet <b>heute</b>.", "Wir gehen nach Hause.", "Sie liest ein Buch."],
        "ref": ["The dog is asleep.", "It is raining today.", "We are going home.", "She reads a book."],
        "a": ["The dog sleeps.", "<script>document.title = 'broken'</script>", "We go home.", "She reads a book."],
        "b": ["A cat runs away.", BREAKING, "We are going home.", "He eats."],
        "ids": ["one", "one", "two", "two"],
    }
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("".join(line + "\n" for line in lines))
    file = {name: str(folder / f"{name}.txt") for name in texts}
    page = folder / "report.html"
    inputs = ["-s", file["src"], "-t", file["a"], file["b"], "-r", file["ref"], "--docids", file["ids"], "-l", "de-en"]
    return made(page, *inputs, "-m", "bleu", "ter", "bertr")


def made(page, *arguments):
    assert main(["report", *map(str, arguments), "-o", str(page), "-q"]) == 0
    return page


def opened(driver, page, part=""):
    driver.get("about:blank")
    driver.get(f"file://{page}{part}")
    WebDriverWait(driver, 10).until(lambda each: each.find_elements(By.CSS_SELECTOR, "nav a[aria-current]"))
    return driver


def click(driver, by, what):
    """Click what may not be there yet, or may be drawn anew between the search and the click."""

    def clicked(driver):
        driver.find_element(by, what).click()
        return True

    WebDriverWait(driver, 10, ignored_exceptions=[StaleElementReferenceException]).until(clicked)


def filled(driver):
    """Wait until segments are listed and all parts of the list have their contents, which they get near the window."""
    listed = "return [...document.querySelectorAll('#segment-list > div')].map(part => part.childElementCount)"
    WebDriverWait(driver, 10).until(lambda each: (counts := each.execute_script(listed)) and all(counts))


def errors(driver):
    return [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def shown(driver):
    """The numbers of the segments that are listed, in order."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#segment-list article')].map(box => Number(box.dataset.segment))"
    )


def detailed(driver):
    """Open the details of all segments that are listed."""
    filled(driver)
    for button in driver.find_elements(By.CSS_SELECTOR, ".more[aria-expanded=false]"):
        button.click()


def choose(driver, label, option, tools="segment-tools"):
    path = f"//form[@id='{tools}']//label[starts-with(normalize-space(.), '{label}')]/select"
    Select(driver.find_element(By.XPATH, path)).select_by_visible_text(option)


def test_no_text_is_taken_for_html(driver, report):
    opened(driver, report, "#segments")
    choose(driver, "Compare with", "all systems")
    WebDriverWait(driver, 10).until(lambda each: "document.title" in each.find_element(By.ID, "segment-list").text)
    text = driver.find_element(By.ID, "segment-list").text
    for words in ("<script>document.title = 'broken'</script>", "</script><img src=x", "Es regnet <b>heute</b>."):
        assert words in text
    assert driver.title == "a and b, de → en" and not driver.find_elements(By.CSS_SELECTOR, "main img")
    assert not errors(driver)


def test_segments_are_sorted_and_filtered(driver, report):
    opened(driver, report, "#segments")
    choose(driver, "System", "a")
    choose(driver, "Metric", "TER ↓")
    assert shown(driver)[0] == 1  # the worst comes first
    choose(driver, "Order", "best first")
    choose(driver, "System", "b")
    assert shown(driver)[0] == 2  # what is right has no edits
    choose(driver, "Sort by", "text order")
    assert shown(driver) == [0, 1, 2, 3]
    field = driver.find_element(By.CSS_SELECTOR, "input[type=search]")
    field.send_keys("HOUSE")
    WebDriverWait(driver, 5).until(lambda each: shown(each) == [])
    field.clear()
    field.send_keys("hause")
    WebDriverWait(driver, 5).until(lambda each: shown(each) == [2])
    assert not errors(driver)


def drawn(driver):
    """Wait until each figure has its chart."""
    WebDriverWait(driver, 20).until(
        lambda each: (
            len(each.find_elements(By.CSS_SELECTOR, "#part-charts canvas"))
            == len(each.find_elements(By.CSS_SELECTOR, "#part-charts figure"))
        )
    )


def test_names_that_mean_something_in_javascript_are_names(driver, report, tmp_path):
    """Of systems and of documents; a report in which they are plain names draws the same."""
    names = ["__proto__", "constructor", "toString"]
    (tmp_path / "ids.txt").write_text("__proto__\nconstructor\nconstructor\ntoString\n")
    page, texts = tmp_path / "report.html", [str(report.parent / f"{name}.txt") for name in ("a", "b", "ref", "src")]
    inputs = ["-t", *texts[:2], texts[2], "-r", texts[2], "-s", texts[3], "--docids", str(tmp_path / "ids.txt")]
    assert main(["report", *inputs, "--names", *names, "-m", "bleu", "ter", "-o", str(page), "-q"]) == 0
    opened(driver, page, "#charts")
    drawn(driver)
    for label in (*names[:2], "TER ↓"):
        choose(driver, "Metric" if label == "TER ↓" else "System", label, "chart-tools")
    driver.execute_script("document.querySelector('#part-charts canvas').toDataURL()")
    opened(driver, page, "#overview")
    assert {row[0] for row in rows(driver, ".systems")} == set(names)
    opened(driver, page, "#documents")
    assert {row[0] for row in rows(driver, "#document-table")} == set(names)
    opened(driver, page, "#segments")
    filled(driver)
    choose(driver, "System", "constructor")
    filled(driver)
    assert "constructor" in driver.find_element(By.ID, "segment-1").text
    assert not errors(driver)


@pytest.fixture(scope="module")
def printed(report, tmp_path_factory):
    """What `score` prints of the same texts: {(level, system, document or segment): {metric: text}}."""
    out, folder = tmp_path_factory.mktemp("printed") / "scores.tsv", report.parent
    arguments = ["-t", str(folder / "a.txt"), str(folder / "b.txt"), "-r", str(folder / "ref.txt"), "-l", "de-en", "-q"]
    levels = ["--docids", str(folder / "ids.txt"), "--level", "segment", "document", "system", "-w", "1"]
    assert main(["score", *arguments, *levels, "-m", "bleu", "ter", "bertr", "-o", str(out)]) == 0
    found: dict[tuple, list[str]] = {}
    for line in out.read_text().splitlines()[1:]:
        level, system, document, segment, _, score = line.split("\t")
        place = {"segment": segment, "document": document, "system": system}[level]
        found.setdefault((level, system, place), []).append(score)  # metric after metric
    return found


def rows(driver, css):
    """The cells of a table's rows, its head left out."""
    found = driver.find_elements(By.CSS_SELECTOR, f"{css} tbody tr")
    return [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in found]


def test_all_figures_are_those_of_score(driver, report, printed):
    opened(driver, report, "#overview")
    for name, *cells in rows(driver, ".systems"):
        assert [cell.split()[0] for cell in cells[:-1]] == printed["system", name, name]
    opened(driver, report, "#documents")
    for system in "ab":
        Select(driver.find_element(By.CSS_SELECTOR, "#document-tools select")).select_by_visible_text(system)
        found = rows(driver, "#document-table")
        assert len(found) == 2
        for document, _, *cells in found:
            assert cells[:-1] == printed["document", system, document]
    opened(driver, report, "#segments")
    choose(driver, "Compare with", "all systems")
    detailed(driver)
    for i in range(4):
        found = rows(driver, f"#segment-{i + 1} .scores")
        assert len(found) == 2
        for system, *cells in found:
            assert cells[:-1] == printed["segment", system, str(i + 1)]
        beside = driver.execute_script(
            f"return [...document.querySelectorAll('#segment-{i + 1} .output')].map(line => [line.firstChild.textContent, "
            "...[...line.querySelectorAll('.score')].map(score => score.childNodes[1].textContent)])"
        )
        assert beside == [[system, *map(str, cells)] for system, *cells in found]


def test_the_shaded_tokens_add_up(driver, report, tmp_path):
    folder, out = report.parent, tmp_path / "scores.jsonl"
    arguments = ["-t", str(folder / "a.txt"), str(folder / "b.txt"), "-r", str(folder / "ref.txt"), "-l", "de-en", "-q"]
    assert main(["score", *arguments, "-m", "bertr", "--level", "segment", "-o", str(out)]) == 0
    scores = [json.loads(line) for line in out.read_text().splitlines()]
    scores = {(each["system"], each["segment"]): each["score"] for each in scores}
    opened(driver, report, "#segments")
    choose(driver, "Compare with", "all systems")
    detailed(driver)
    lines = driver.execute_script(
        "return [...document.querySelectorAll('.why')].map(line => [line.closest('article').dataset.segment, line.firstChild.textContent, "
        "[...line.querySelectorAll('[data-match]')].map(token => Number(token.dataset.match)), line.querySelector('p').textContent])"
    )
    assert len(lines) == 8  # two systems' outputs of four segments
    references = (folder / "ref.txt").read_text().split("\n")
    for segment, name, matches, text in lines:
        system = name.removeprefix("BERTR: reference tokens in ")
        score = scores[system, int(segment) + 1]
        assert 100 * sum(matches) / len(matches) == pytest.approx(score, abs=1e-4)  # 1e-6 of a cosine
        assert text == f"{references[int(segment)]} {score:.1f}"


def test_systems_are_switched_and_compared(driver, report):
    opened(driver, report, "#segments")
    choose(driver, "System", "a")
    choose(driver, "Compare with", "b")
    detailed(driver)
    assert [row[0] for row in rows(driver, "#segment-1 .scores")] == ["a", "b"]
    choose(driver, "Metric", "BERTR")
    choose(driver, "Sort by", "difference between the two systems")
    order = Select(driver.find_elements(By.CSS_SELECTOR, "#segment-tools select")[4])
    assert [option.text for option in order.options] == ["b furthest ahead", "a furthest ahead"]
    filled(driver)
    first = shown(driver)[0] + 1
    scores = {name: float(cells[-2]) for name, *cells in rows(driver, f"#segment-{first} .scores")}
    differences = driver.execute_script(
        "return [...document.querySelectorAll('#segment-list .scores')].map(table => [...table.querySelectorAll('tbody tr')].map(row => Number(row.children[3].textContent)))"
    )
    assert scores["a"] - scores["b"] == min(a - b for a, b in differences)
    choose(driver, "Compare with", "none")
    filled(driver)
    assert [row[0] for row in rows(driver, "#segment-1 .scores")] == ["a"]
    missing = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#segment-1 .reference del")]
    added = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#segment-1 .output ins")]
    assert (missing, added) == (["is asleep"], ["sleeps"])
    kept = driver.execute_async_script(
        "const done = arguments[arguments.length - 1], script = [...document.scripts].at(-1).textContent;"
        "const source = /function common[^]*?\\n}\\n/.exec(script)[0];"
        "done(new Function(source + 'return common')()('We left home On Monday we'.split(' '), 'on monday we all left'.split(' ')))"
    )
    assert kept == [False, True, False, True, True, True]  # "left" stands elsewhere; of two "we" one is there
    assert not errors(driver)


def test_a_link_opens_a_segment_that_a_filter_hides(driver, report):
    opened(driver, report, "#segments")
    driver.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("hause")
    WebDriverWait(driver, 5).until(lambda each: shown(each) == [2])
    driver.execute_script("location.hash = 'segment-4'")
    WebDriverWait(driver, 5).until(lambda each: "Sie liest" in each.find_element(By.ID, "segment-4").text)
    assert sorted(shown(driver)) == [0, 1, 2, 3]
    for part in ("#segment-99", "#document-99", "#nonsense"):  # what is not there opens the part, and no error
        opened(driver, report, part)
    assert not errors(driver)


def test_marks_are_kept_and_saved(driver, report):
    opened(driver, report, "#segments")
    filled(driver)
    driver.find_element(By.CSS_SELECTOR, "#segment-tools summary").click()
    driver.find_element(By.CSS_SELECTOR, "#segment-tools button").click()
    assert driver.find_element(By.ID, "segment-count").text.startswith("No segment is marked")
    driver.find_element(By.CSS_SELECTOR, "#segment-2 input").click()
    opened(driver, report, "#segments")
    driver.find_element(By.CSS_SELECTOR, "#segment-tools summary").click()
    driver.find_element(By.CSS_SELECTOR, "#segment-tools input[type=checkbox]").click()
    assert shown(driver) == [1]
    driver.find_element(By.CSS_SELECTOR, "#segment-tools button").click()
    path = driver.saved / "marked.tsv"
    WebDriverWait(driver, 10).until(lambda _: path.exists() and path.read_text(encoding="utf-8").count("\n") == 3)
    header, *lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert header[:6] == "segment document system BLEU TER BERTR".split()
    assert header[6:] == ["missing words, %", "source", "reference", "hypothesis"]
    assert [(line[0], line[1], line[2]) for line in lines] == [("2", "one", "a"), ("2", "one", "b")]
    assert lines[0][-1] == "<script>document.title = 'broken'</script>"
    filled(driver)
    driver.find_element(By.CSS_SELECTOR, "#segment-2 input").click()


def test_heads_sort_tables(driver, report):
    opened(driver, report, "#overview")
    names = lambda: [row[0] for row in rows(driver, ".systems")]  # noqa: E731
    values = {name: float(cells[0].split()[0]) for name, *cells in rows(driver, ".systems")}
    head = driver.find_elements(By.CSS_SELECTOR, ".systems .sort")[1]
    head.click()
    assert names() == sorted(values, key=values.get, reverse=True)
    head.click()
    assert names() == sorted(values, key=values.get)
    opened(driver, report, "#documents")
    [segments] = [
        each for each in driver.find_elements(By.CSS_SELECTOR, "#document-table .sort") if each.text == "TER ↓"
    ]
    segments.click()
    found = [float(row[3]) for row in rows(driver, "#document-table")]
    assert found == sorted(found, reverse=True)


def test_another_baseline(driver, report):
    opened(driver, report, "#overview")
    found = {}
    for name in "ab":
        Select(driver.find_element(By.CSS_SELECTOR, "[data-for=baseline]")).select_by_visible_text(name)
        [found[name]] = rows(driver, ".baseline:not([hidden])")
    assert [found[name][0] for name in "ab"] == ["b", "a"]
    for there, back in zip(found["a"][1:], found["b"][1:], strict=True):
        assert float(there.split()[0]) == -float(back.split()[0]) and there.split()[-3:] == back.split()[-3:]


def test_what_is_chosen_stays_chosen(driver, report):
    """The system and the metric go along from part to part, the focus stays, and a new order begins at the top."""
    opened(driver, report, "#documents")
    choose(driver, "System", "b", "document-tools")
    choose(driver, "Metric", "BERTR", "document-tools")
    assert driver.execute_script("return document.activeElement.value") == "2"
    click(driver, By.LINK_TEXT, "one")
    heads = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#document-text .reading th[scope=col]")]
    assert heads[3].startswith("b (BERTR ")
    assert not driver.find_elements(By.CSS_SELECTOR, "#document-table table")
    click(driver, By.LINK_TEXT, "All documents")
    WebDriverWait(driver, 5).until(lambda each: each.find_elements(By.CSS_SELECTOR, "#document-table table"))
    click(driver, By.LINK_TEXT, "Segments")
    filled(driver)
    assert driver.find_element(By.CSS_SELECTOR, "#segment-1 .output .whose").text == "b"
    assert driver.find_element(By.CSS_SELECTOR, "#segment-heads .selected").text == "BERTR"
    driver.execute_script("scrollTo(0, 500)")
    choose(driver, "Sort by", "text order")
    assert driver.execute_script("return scrollY") == 0


def test_the_keys_j_and_k(driver, report, emulated):
    emulated("setDeviceMetricsOverride", {"width": 1000, "height": 300, "deviceScaleFactor": 1, "mobile": False})
    opened(driver, report, "#segments")
    filled(driver)
    at = lambda: driver.execute_script("return scrollY")  # noqa: E731
    assert at() == 0
    ActionChains(driver).send_keys("jj").perform()
    below = at()
    assert below > 0
    ActionChains(driver).send_keys("k").perform()
    assert at() < below


@pytest.mark.parametrize("part", ["overview", "segments", "documents", "charts"])
def test_it_prints(driver, report, part):
    opened(driver, report, f"#{part}")
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 5_000
    if part == "segments":
        assert not driver.find_elements(By.CSS_SELECTOR, "#segment-list > div:empty")
    assert not errors(driver)


@pytest.fixture
def emulated(driver):
    """Changes what the browser shows, and takes it back."""
    yield lambda command, settings: driver.execute_cdp_cmd(f"Emulation.{command}", settings)
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("part", ["overview", "segments", "document-1", "charts"])
def test_a_narrow_screen_scrolls_no_page_sideways(driver, report, emulated, part):
    emulated("setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    opened(driver, report, f"#{part}")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 360


LONG_IDS = [f"en-cs_CZ_#_news_#_test-en-news_scotsman.com-{k}" for k in (87445, 87448, 87462, 87519)]
RECORDED = """
window.drawn = [];
const before = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  window.drawn.push([text, /bold/.test(this.font)]);
  return before.call(this, text, ...rest);
};
"""


@pytest.fixture(scope="module")
def long_ids(report, tmp_path_factory):
    """A page of two systems whose documents' ids are long and differ at their ends; b is better than a by BLEU."""
    folder, file = tmp_path_factory.mktemp("long"), {name: report.parent / f"{name}.txt" for name in ("a", "ref")}
    (folder / "ids").write_text("".join(f"{name}\n" for name in LONG_IDS))
    texts = ["-t", file["a"], file["ref"], "-r", file["ref"], "--names", "a", "b", "--docids", folder / "ids"]
    return made(folder / "page.html", *texts, "-l", "de-en", "-m", "bleu", "chrf", "ter")


def test_long_ids_keep_their_ends(driver, long_ids, emulated):
    """Where there is no room for all of an id, its middle is left out; the title and the copied text have all of it."""
    emulated("setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    ends = (
        "return [...document.querySelectorAll('.id')].filter(id => id.offsetWidth).map(id => { const range = "
        "document.createRange(); range.selectNode(id.lastChild); const start = id.querySelector('.start'); return "
        "[id.title, id.innerText, id.lastChild.textContent, start.scrollWidth > start.clientWidth, "
        "range.getBoundingClientRect().right <= 360]; })"
    )
    for part in ("#documents", "#segments"):
        opened(driver, long_ids, part)
        WebDriverWait(driver, 10).until(lambda each: each.find_elements(By.CSS_SELECTOR, ".id"))
        found = driver.execute_script(ends)
        assert sorted(each[0] for each in found) == sorted(each[1] for each in found) == LONG_IDS
        assert all(title.endswith(end) and cut and inside for title, _, end, cut, inside in found)
    driver.find_element(By.CSS_SELECTOR, "#segment-tools summary").click()
    options = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#segment-tools details option")]
    assert [each[-5:] for each in options[1:]] == [each[-5:] for each in LONG_IDS] and all(
        "…" in each for each in options[1:]
    )
    opened(driver, long_ids, "#document-1")
    assert driver.find_element(By.ID, "document-heading").text == LONG_IDS[0]
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 360


def test_a_table_that_scrolls_has_a_shadow_where_there_is_more(driver, long_ids, emulated):
    image = pytest.importorskip("PIL.Image")
    emulated("setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    opened(driver, long_ids)
    table = driver.find_element(By.CSS_SELECTOR, ".scroll")

    def brightness():
        edge = image.open(io.BytesIO(table.screenshot_as_png)).convert("L")
        return median(edge.getpixel((edge.width - 3, y)) for y in range(edge.height))

    assert brightness() < 235
    driver.execute_script("arguments[0].scrollLeft = 9999", table)
    assert brightness() == 255


def test_charts_emphasise_the_selected_system_and_list_systems_by_rank(driver, long_ids):
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORDED})
    try:
        opened(driver, long_ids, "#charts")
        drawn(driver)
        texts = lambda: [each for each in driver.execute_script("return window.drawn") if each[0] in ("a", "b")]  # noqa: E731
        WebDriverWait(driver, 10).until(lambda _: texts()[:2] == [["b", True], ["a", False]])
        assert {text[-5:] for text, _ in driver.execute_script("return window.drawn")} >= {
            each[-5:] for each in LONG_IDS
        }
        driver.execute_script("window.drawn = []")
        choose(driver, "System", "a", "chart-tools")
        WebDriverWait(driver, 10).until(lambda _: texts()[:2] == [["b", False], ["a", True]])
        assert not errors(driver)
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_a_document_on_a_narrow_screen(driver, report, emulated):
    """Its texts stand below each other, each after its name; a wide screen has them side by side."""
    emulated("setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    opened(driver, report, "#document-1")
    labels = (
        "return [...document.querySelectorAll('#document-text tr:first-child td')].map(cell => [cell.offsetLeft, "
        "getComputedStyle(cell, '::before').content, cell.offsetWidth > 300])"
    )
    found = driver.execute_script(labels)
    assert [each[1:] for each in found] == [[f'"{name}"', True] for name in ("source", "reference", "a")]
    assert len({each[0] for each in found}) == 1
    emulated("setDeviceMetricsOverride", {"width": 1300, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    assert len({each[0] for each in driver.execute_script(labels)}) == 3


def test_dark_mode(driver, report, emulated):
    background = "return getComputedStyle(document.documentElement).colorScheme + matchMedia('(prefers-color-scheme: dark)').matches + getComputedStyle(document.querySelector('pre')).backgroundColor"
    found = []
    for scheme in ("light", "dark"):
        emulated("setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        opened(driver, report)
        found.append(driver.execute_script(background))
    assert "false" in found[0] and "true" in found[1] and found[0].split("rgb")[1] != found[1].split("rgb")[1]


def test_directions_and_languages_of_texts(driver, tmp_path):
    """Right-to-left texts run from the right, and each text knows its language, which chooses the letters of CJK."""
    for name, lines in {"src": ["猫が寝ている。"], "a": ["القطة نائمة."], "ref": ["القطة تنام."]}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    inputs = ["-s", tmp_path / "src", "-t", tmp_path / "a", "-r", tmp_path / "ref", "-l", "ja-ar", "-m", "chrf"]
    opened(driver, made(tmp_path / "page.html", *inputs), "#segments")
    filled(driver)
    found = driver.execute_script(
        "return [...document.querySelectorAll('#segment-1 .text p')].map(p => [p.lang, getComputedStyle(p).direction])"
    )
    assert found == [["ja", "ltr"], ["ar", "rtl"], ["ar", "rtl"]]


def test_the_window_and_one_system_alone(driver, tmp_path):
    """One system, one metric, one segment: nothing is compared, and nothing fails."""
    (tmp_path / "a").write_text("It rains.\n")
    page = made(tmp_path / "page.html", "-t", tmp_path / "a", "-r", tmp_path / "a", "-m", "chrf")
    for part in ("#overview", "#charts", "#segments"):
        opened(driver, page, part)
        assert not errors(driver)
    assert driver.find_element(By.ID, "segment-count").text == "1 segment"
    opened(driver, page)
    assert driver.find_element(By.TAG_NAME, "h2").text == "a: chrF2 100.0"
    assert Path(page).stat().st_size < 2_000_000


def test_scores_are_rounded_as_the_command_does(driver, tmp_path):
    values = [0.25, 0.35, 0.75, -0.25, -0.05, 0.05, 12.45, 2.25, 1.15, 99.95, 0.45, 0.15]
    values += [1e-9, -1e-9, 100.0, 8.849999999999999]
    (tmp_path / "a").write_text("It rains.\n" * len(values))
    (tmp_path / "human.seg.score").write_text("".join(f"a\t{value!r}\n" for value in values))
    page = made(tmp_path / "page.html", "-t", tmp_path / "a", "--scores", tmp_path / "human.seg.score")
    opened(driver, page, "#segments")
    shown_texts = []
    for k in range(len(values)):
        opened(driver, page, f"#segment-{k + 1}")
        WebDriverWait(driver, 5).until(lambda each: rows(each, f"#segment-{k + 1} .scores"))
        shown_texts.append(rows(driver, f"#segment-{k + 1} .scores")[0][1])
    assert shown_texts == [f"{value:.1f}" for value in values]


def test_error_spans_are_marked(driver, tmp_path):
    """Those of an XCOMET checkpoint, at their characters, with their severity, and the parts of its score."""
    folder = build(RECIPES["xcomet"], tmp_path / "xcomet")
    sources, outputs, references = zip(*ORDINARY)
    for name, lines in {"src": sources, "a": outputs, "ref": references}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    inputs = ["-s", str(tmp_path / "src"), "-t", str(tmp_path / "a"), "-r", str(tmp_path / "ref"), "--no-text-checks"]
    table, model = tmp_path / "scores.jsonl", ["-m", "comet", "--model", str(folder)]
    page = made(tmp_path / "page.html", *inputs, *model)
    assert main(["score", *inputs, *model, "-q", "--level", "segment", "-o", str(table)]) == 0
    scored = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    assert any(each["error_spans"] for each in scored)
    kinds = [[span["severity"] for span in each["error_spans"]] for each in scored]
    opened(driver, page)
    heads = [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".errors th[scope=col]")]
    [[name, *counts]] = rows(driver, ".errors")
    wanted = {kind: str(sum(own.count(kind) for own in kinds)) for kind in heads[1:-2]}
    assert dict(zip(heads[1:], counts)) == {
        **wanted,
        "all": str(sum(map(len, kinds))),
        "segments with errors": str(sum(map(bool, kinds))),
    }
    for i, (each, output) in enumerate(zip(scored, outputs)):
        opened(driver, page, f"#segment-{i + 1}")
        WebDriverWait(driver, 5).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, f"#segment-{i + 1} .why"))
        marks = driver.find_elements(By.CSS_SELECTOR, f"#segment-{i + 1} .output mark")
        wanted = [(span["severity"], output[span["start"] : span["end"]]) for span in each["error_spans"]]
        shown_marks = [(mark.get_attribute("title"), mark.text) for mark in marks]
        assert shown_marks == [(kind, text.strip()) for kind, text in wanted]
    assert not errors(driver)


def test_a_long_list_is_filled_where_it_is_read(driver, tmp_path):
    """Of 2,000 segments only those near the window are in the page, also after a jump; printing has all."""
    texts = [f"It rains for {k} days." for k in range(2000)]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in texts))
    (tmp_path / "human.seg.score").write_text("".join(f"a\t{k}\n" for k in range(2000)))
    page = made(tmp_path / "page.html", "-t", tmp_path / "a", "--scores", tmp_path / "human.seg.score")
    opened(driver, page, "#segments")
    assert shown(driver)[:3] == [0, 1, 2] and len(shown(driver)) < 300
    driver.execute_script("location.hash = 'segment-1500'")
    WebDriverWait(driver, 5).until(lambda each: texts[1499] in each.find_element(By.ID, "segment-1500").text)
    WebDriverWait(driver, 5).until(lambda each: 0 not in shown(each))
    box = driver.find_element(By.ID, "segment-1500")
    assert box.is_displayed() and len(shown(driver)) < 300
    assert (box.get_attribute("aria-posinset"), box.get_attribute("aria-setsize")) == ("1500", "2000")
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert shown(driver) == [*range(2000)]
    assert not errors(driver)


def test_a_long_document_is_shown_in_parts(driver, tmp_path):
    texts = [f"It rains for {k} days." for k in range(1200)]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in texts))
    (tmp_path / "human.seg.score").write_text("".join(f"a\t{k}\n" for k in range(1200)))
    (tmp_path / "ids").write_text("one\n" * 1100 + "two\n" * 100)
    inputs = ["-t", tmp_path / "a", "--scores", tmp_path / "human.seg.score", "--docids", tmp_path / "ids"]
    opened(driver, made(tmp_path / "page.html", *inputs), "#document-1")
    button = "#document-text button"
    for known, focus in ((500, "501"), (1000, "1001")):
        assert len(rows(driver, "#document-text")) == known
        assert driver.find_element(By.CSS_SELECTOR, button).text == f"Show more ({known:,} of 1,100 segments shown)"
        driver.execute_script(f"document.querySelector('{button}').click()")
        assert driver.switch_to.active_element.text == focus
    assert len(rows(driver, "#document-text")) == 1100 and not driver.find_elements(By.CSS_SELECTOR, button)
    driver.execute_script("location.hash = 'document-2'")
    WebDriverWait(driver, 5).until(lambda each: len(rows(each, "#document-text")) == 100)
    assert not errors(driver)


def test_only_the_pages_own_scripts_run(driver, report):
    """The policy lets no script run that is added to the page, no expression, and nothing be loaded."""
    opened(driver, report, "#charts")
    drawn(driver)
    assert not errors(driver)
    driver.execute_script(
        "const script = document.createElement('script'); script.textContent = \"document.title = 'broken'\"; document.body.append(script);"
        "const image = document.createElement('img'); image.src = 'https://example.org/x.png'; document.body.append(image);"
    )
    assert driver.title == "a and b, de → en"
    refused = [entry["message"] for entry in errors(driver)]
    assert any("script-src" in each for each in refused) and any("img-src" in each for each in refused)


HOSTILE = ["__proto__", "<img src=x onerror=\"document.title='broken'\">"]


@pytest.fixture(scope="module")
def sets(report, tmp_path_factory):
    """A page of two test sets with hostile names; only the first one has documents."""
    file = {name: str(report.parent / f"{name}.txt") for name in ("src", "ref", "a", "b", "ids")}
    first = ["--set", HOSTILE[0], "-s", file["src"], "-t", file["a"], file["b"], "--docids", file["ids"]]
    second = ["--set", HOSTILE[1], "-t", file["b"], file["ref"], "--names", "constructor", BREAKING]
    page = tmp_path_factory.mktemp("sets") / "sets.html"
    return made(page, "-r", file["ref"], "-l", "de-en", *first, *second, "-m", "bleu", "ter")


def current(driver):
    """The names of the links that are marked as where the reader is."""
    marked = driver.find_elements(By.CSS_SELECTOR, "nav a[aria-current]")
    return [each.text for each in marked if each.is_displayed()]


def at_set(driver, name, part):
    # the page may be drawn anew while it is read
    waits = WebDriverWait(driver, 10, ignored_exceptions=[StaleElementReferenceException])
    waits.until(lambda each: current(each) == [name, part])


def test_the_first_screen_of_several_sets(driver, sets):
    opened(driver, sets)
    assert current(driver) == ["All test sets"] and driver.find_element(By.TAG_NAME, "h2").text.startswith("No system")
    assert [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".winners a")] == HOSTILE
    found = [row[0] for row in rows(driver, ".matrix")]
    assert found[:4] == ["a", "b", "constructor", BREAKING]
    assert not driver.find_elements(By.CSS_SELECTOR, "main img") and driver.title == "4 systems on 2 test sets"
    assert not errors(driver)


def test_sets_open_with_the_keyboard_and_keep_the_part(driver, sets):
    opened(driver, sets)
    link = driver.find_element(By.CSS_SELECTOR, ".winners li:nth-child(2) a")
    driver.execute_script("arguments[0].focus()", link)
    ActionChains(driver).send_keys("\ue007").perform()  # Enter
    at_set(driver, HOSTILE[1], "Overview")
    assert driver.title == f"{HOSTILE[1]}: 4 systems on 2 test sets"
    assert {row[0] for row in rows(driver, ".systems")} == {"constructor", BREAKING}
    click(driver, By.LINK_TEXT, "Segments")
    filled(driver)
    assert len(shown(driver)) == 4 and len(driver.find_elements(By.CSS_SELECTOR, "#segment-1 a")) == 1
    click(driver, By.LINK_TEXT, HOSTILE[0])
    at_set(driver, HOSTILE[0], "Segments")
    filled(driver)
    assert "Es regnet <b>heute</b>." in driver.find_element(By.ID, "segment-list").text
    click(driver, By.LINK_TEXT, "Documents")
    click(driver, By.LINK_TEXT, "two")
    click(driver, By.CSS_SELECTOR, "#document-text a[href='#1/segment-4']")
    WebDriverWait(driver, 5).until(lambda each: "Sie liest" in each.find_element(By.ID, "segment-4").text)
    driver.back()
    at_set(driver, HOSTILE[0], "Documents")
    click(driver, By.LINK_TEXT, HOSTILE[1])  # has no documents
    at_set(driver, HOSTILE[1], "Overview")
    driver.back()
    at_set(driver, HOSTILE[0], "Documents")
    assert not errors(driver)


@pytest.mark.parametrize(
    "part", ["#1/charts", "#2/charts", "#2/segment-3", "#9/segments", "#0/overview", "#2/nonsense"]
)
def test_addresses_in_sets(driver, sets, part):
    opened(driver, sets, part)
    if "charts" in part:
        drawn(driver)
    assert len(current(driver)) == 2 and not errors(driver)
    assert driver.title.endswith("4 systems on 2 test sets")


def test_each_set_has_marks_of_its_own(driver, sets):
    opened(driver, sets, "#1/segments")
    filled(driver)
    driver.find_element(By.CSS_SELECTOR, "#segment-2 input").click()
    opened(driver, sets, "#2/segments")
    filled(driver)
    assert not driver.find_element(By.CSS_SELECTOR, "#segment-2 input").is_selected()
    opened(driver, sets, "#1/segments")
    filled(driver)
    assert driver.find_element(By.CSS_SELECTOR, "#segment-2 input").is_selected()
    driver.find_element(By.CSS_SELECTOR, "#segment-2 input").click()

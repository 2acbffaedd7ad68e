"""The page in a browser: opened from a file, it runs without a fault and a request, and its controls do what they say."""

import json
import shutil

import pytest
from test_page import cells, example, report

from crt.reporting.page import page

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs a browser: install the packages chromium and chromium-driver"
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A page on disk: 30 examples of two models, of which every third turned wrong."""
    examples = [example(n, model=m, flipped=n % 3 == 0, gold="</script>") for m in ("a", "b") for n in range(14)]
    rare = {"original": ["😀<b>稀有</b>"], "perturbed": ["😀<b>西有</b>"], "edits": [[0, 4, 5, "稀", "西"]]}
    examples += [example(99, perturbation="space", **rare), example(98, prob=0.05)]
    path = tmp_path_factory.mktemp("page") / "comparison.html"
    path.write_text(page(report(cells(datasets=("d", "e")), examples=examples)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    """A browser that writes down what its console and its network say."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(chromium, file):
    """The page, freshly opened at desktop width in the light."""
    emulate(chromium, media="", features=[])
    chromium.set_window_size(1280, 900)
    chromium.get(file.as_uri())
    return chromium


def emulate(driver, **media):
    """Show the page as on another medium: folded parts only follow once a frame has been drawn."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.execute_async_script("const [done] = arguments; requestAnimationFrame(() => requestAnimationFrame(done))")


def value(driver, script):
    """Return the value of an expression on the page."""
    return driver.execute_script(f"return {script}")


def choose(driver, name, text):
    """Choose an option of a filter as a user does."""
    from selenium.webdriver.support.ui import Select

    Select(driver.find_element("name", name)).select_by_visible_text(text)


def count(driver):
    """Return what the line below the examples says."""
    return driver.find_element("id", "count").text


def test_no_fault_and_no_request(opened, file):
    """The console is silent, and nothing is asked for but the file itself."""
    assert opened.get_log("browser") == []
    asked = [
        message["params"]["request"]["url"]
        for message in map(_message, opened.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in asked if not url.startswith("data:")} <= {file.as_uri()}
    assert value(opened, "performance.getEntriesByType('resource').length") == 0


def _message(entry):
    return json.loads(entry["message"])["message"]


def test_filters(opened):
    """Each filter keeps what it says, they add up, and a reset shows everything again."""
    assert count(opened) == "30 of 30 examples, page 1 of 3"
    choose(opened, "model", "b")
    assert count(opened).startswith("14 of 30")
    opened.find_element("name", "flipped").send_keys(" ")
    assert count(opened).startswith("5 of 30")
    choose(opened, "prob", "0.05")
    assert count(opened).startswith("0 of 30")
    assert "No example fits" in opened.find_element("id", "examples").text
    opened.find_element("css selector", "button[type=reset]").send_keys(" ")
    opened.find_element("name", "text").send_keys("西有")
    assert count(opened).startswith("1 of 30")


def test_an_example_shows_its_edits_and_predictions(opened):
    """Edits are marked on both sides although an emoji comes first; markup in a text stays text."""
    choose(opened, "perturbation", "space")
    assert [text.text for text in opened.find_elements("css selector", ".text")] == ["😀<b>稀有</b>", "😀<b>西有</b>"]
    assert [opened.find_element("css selector", mark).text for mark in ("#examples del", "#examples ins")] == [
        "稀",
        "西",
    ]
    facts = opened.find_element("class name", "predictions").text
    assert "positive 93.0 % ✓ right" in facts
    assert "negative 61.0 % ✗ wrong" in facts


def test_pages_by_keyboard(opened):
    """The buttons turn pages by keyboard, and stop at the ends."""
    from selenium.webdriver.common.keys import Keys

    following = opened.find_element("id", "next")
    for expected in ("page 2 of 3", "page 3 of 3", "page 3 of 3"):
        following.send_keys(Keys.ENTER)
        assert count(opened).endswith(expected)
    assert following.get_attribute("aria-disabled") == "true"
    choose(opened, "model", "a")
    assert count(opened).endswith("page 1 of 2")


@pytest.mark.parametrize("width", [360, 1280])
def test_only_boxes_scroll_sideways(opened, width):
    """The page itself is never wider than the window."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    value(opened, "document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert value(opened, "document.documentElement.scrollWidth") <= width
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (colours) => [...rgb(colours)].slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.tagName === "NOSCRIPT") continue;
    const behind = [];
    for (let at = element; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const [a, b] = [light(behind), light([...behind, getComputedStyle(element).color])].sort();
    const [dark, bright] = a < b ? [a, b] : [b, a];
    const ratio = (bright + 0.05) / (dark + 0.05);
    if (ratio < 4.5) low.push([element.tagName, element.className, element.textContent.slice(0, 30), ratio.toFixed(2)].join(" "));
  }
  return low;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(opened, scheme):
    """In both schemes every text stands out from its ground by 4.5 to 1, as WCAG 2.2 AA asks."""
    emulate(opened, features=[{"name": "prefers-color-scheme", "value": scheme}])
    value(opened, "document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    ground = value(opened, "getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) > 380) == (scheme == "light")
    assert value(opened, CONTRAST) == []


def test_print_shows_everything_but_controls(opened):
    """On paper what was folded is open, and the controls are gone."""
    emulate(opened, media="print")
    shown = "(found) => found.checkVisibility({ contentVisibilityAuto: true })"
    assert value(opened, f"[...document.querySelectorAll('details table')].every({shown})")
    assert value(opened, f"[...document.querySelectorAll('.example')].every({shown})")
    assert not value(opened, f"[...document.querySelectorAll('#filters, #pager, #contents')].some({shown})")


def test_without_javascript_only_the_examples_are_missing(opened, file):
    """The figures and tables are there without JavaScript, and a line says what is not."""
    opened.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    opened.get(file.as_uri())
    opened.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert opened.find_elements("class name", "example") == []
    assert value(opened, "document.querySelector('noscript p').getBoundingClientRect().height") > 0
    assert opened.find_element("css selector", "figure svg").is_displayed()

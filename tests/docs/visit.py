"""Open a page in Chromium and note what is wrong with it."""

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ARGUMENTS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync --window-size=1300,1000"
).split()

LOOK = """
const done = arguments[arguments.length - 1];
const mathematics = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
const pictures = () => Promise.all([...document.images].map(image => image.decode().catch(() => null)));
mathematics.then(pictures).then(() => done({
  equations: document.querySelectorAll('.math').length,
  rendered: [...document.querySelectorAll('.math')].filter(e => e.querySelector('mjx-container svg')).length,
  errors: [...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map(e => e.textContent),
  images: [...document.images].filter(image => !image.naturalWidth).map(image => image.src),
  links: [...document.querySelectorAll('a[href]')].map(link => link.href),
  ids: [...document.querySelectorAll('[id]')].map(element => element.id),
  warnings: [...document.querySelectorAll('.output.stderr')].map(e => e.textContent.trim()),
  unseen: [...document.querySelectorAll('.cell_output')].filter(e => e.textContent.includes('<Figure size')).length,
  width: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}));
"""


@dataclass(frozen=True)
class Visit:
    """What was found on a page.

    Attributes
    ----------
    faults : tuple of str
        What is wrong with the page by itself.
    links : tuple of str
        Absolute addresses that it links to.
    ids : frozenset of str
        Anchors that can be linked to.
    equations : int
        How many equations it has.
    """

    faults: tuple
    links: tuple
    ids: frozenset
    equations: int


def open_browser(chromium, driver, profile):
    """Start Chromium with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(250)  # a busy machine takes its time to set the mathematics
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # what the first tab did before we asked for anything
    return browser


def visit(browser, page):
    """Open a page and wait until its equations and images are there."""
    browser.get(page.as_uri())
    found = browser.execute_async_script(LOOK)
    faults = [f"console: {entry['message']}" for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    faults += [f"requests {url}" for url in _requests(browser) if urlparse(url).scheme not in ("file", "data", "blob")]
    faults += [f"equation: {text}" for text in found["errors"]]
    faults += [f"image does not load: {source}" for source in found["images"]]
    faults += [f"an example warns: {text}" for text in found["warnings"]]
    faults += ["shows the name of a figure in its place"] * found["unseen"]
    if found["rendered"] != found["equations"]:
        faults.append(f"renders {found['rendered']} of {found['equations']} equations")
    if found["width"] > 0:
        faults.append(f"is {found['width']} pixels wider than the window")
    return Visit(tuple(faults), tuple(found["links"]), frozenset(found["ids"]), found["equations"])


def _requests(browser):
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def dead_links(visits):
    """Find links into the site that lead nowhere.

    Parameters
    ----------
    visits : dict of (Path, Visit)
        Every page of the site.

    Returns
    -------
    list of str
        One sentence for each.
    """
    dead = []
    for page, seen in visits.items():
        for link in dict.fromkeys(seen.links):
            address, anchor = urldefrag(link)
            if urlparse(address).scheme != "file":
                continue
            target = Path(unquote(urlparse(address).path))
            if not target.is_file():
                dead.append(f"{page.name} links to {target}, which is not there")
            elif anchor and target in visits and unquote(anchor) not in visits[target].ids:
                dead.append(f"{page.name} links to {target.name}#{anchor}, which has no such anchor")
    return dead

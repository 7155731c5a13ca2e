"""A service and a browser for each kind of reader."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from selenium import webdriver

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("BOCHNER_BINARY", ROOT / "target" / "debug" / "bochner")
SCREENSHOTS = pathlib.Path(os.environ.get("BOCHNER_SCREENSHOTS", ROOT / "target" / "tmp" / "screenshots"))
HOUSES = ROOT / "examples" / "houses.csv"


@contextlib.contextmanager
def start(folder, *flags):
    """The built binary on a free port and an empty data directory; gives its address."""
    process = subprocess.Popen(
        [BINARY, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0", "--data-dir", folder, *flags],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RUST_BACKTRACE": "0"},
    )
    address = None
    for line in process.stderr:
        entry = json.loads(line)
        if entry.get("message") == "listening":
            address = f"http://{entry['address']}"
            break
    assert address, "the service ended before it listened"
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
    try:
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stderr.close()
        drain.wait(timeout=60)


@contextlib.contextmanager
def browser(width=1440, dark=False, script=True):
    """A headless browser that writes down what its console says and what it asks for."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},1000")
    if dark:
        options.add_argument("--blink-settings=preferredColorScheme=0")
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_page_load_timeout(60)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
    )
    try:
        yield driver
    finally:
        driver.quit()


def complaints(driver):
    """What the browser's console says that is not mere information."""
    return [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def hosts(driver):
    """Every address that the browser has asked for."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found


@pytest.fixture
def service(tmp_path):
    with start(tmp_path / "data") as address:
        yield address


@pytest.fixture
def keyed(tmp_path):
    """A service with keys: its address, an admin key and a read-only key."""
    keys = tmp_path / "keys.json"

    def make(name, scopes):
        made = subprocess.run(
            [BINARY, "keys", "new", "--file", keys, "--name", name, "--scopes", scopes], check=True, capture_output=True, text=True
        )
        return made.stdout.strip()

    admin, reader = make("admin", "admin"), make("reader", "read")
    with start(tmp_path / "data", "--api-keys-file", keys) as address:
        yield address, admin, reader

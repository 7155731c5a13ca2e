"""The console as a person uses it, in Debian's Chromium."""

import base64
import json
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from axe_selenium_python import Axe
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from conftest import HOUSES, SCREENSHOTS, browser, complaints, hosts

PAGES = ["/", "/datasets", "/train", "/jobs", "/models", "/docs"]


def url(driver):
    return urllib.parse.unquote(driver.current_url)


def text(driver):
    """What the page says, read in one step: between two the browser may have gone to the next page."""
    return driver.execute_script("return document.querySelector('main')?.innerText ?? ''")


def wait(driver, what, seconds=120):
    """Until `what` is so; a page that is replaced while it is being read is read again."""
    return WebDriverWait(driver, seconds, 0.1, [WebDriverException]).until(what)


def press(driver, label):
    xpath = f"//button[contains(normalize-space(), {label!r})] | //a[contains(normalize-space(), {label!r})]"
    shown = lambda d: [item for item in d.find_elements(By.XPATH, xpath) if item.is_displayed()]
    try:
        found = wait(driver, shown, 10)  # a page that has just come may not be laid out yet
    except TimeoutException:
        raise AssertionError(f"no button '{label}' in {text(driver)}") from None
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found[0])
    found[0].click()


def upload(driver, address, name):
    driver.get(address + "/datasets")
    driver.find_element(By.ID, "file").send_keys(str(HOUSES))
    field = driver.find_element(By.ID, "name")
    field.clear()
    field.send_keys(name)
    driver.find_element(By.ID, "target").send_keys("price")
    press(driver, "Upload")
    wait(driver, lambda d: "/datasets/ds-" in url(d))


def train(driver, address, model, script=True, count=32):
    """From the page of the dataset to the page of the model."""
    press(driver, "Train on this table")
    wait(driver, lambda d: "/train" in d.current_url)
    field = driver.find_element(By.ID, "model")
    field.clear()
    field.send_keys(model)
    features = driver.find_element(By.ID, "features")
    features.clear()
    features.send_keys(str(count))
    press(driver, "What will it take?")
    wait(driver, lambda d: "Training rows" in text(d))
    assert "What can be proved in advance" in text(driver)
    press(driver, "Start training")
    wait(driver, lambda d: "/jobs/job-" in url(d))
    if script:
        wait(driver, lambda d: "Open the model" in text(d), 600)
    else:
        for _ in range(3000):
            if "Open the model" in text(driver):
                break
            time.sleep(0.2)
            driver.refresh()
    press(driver, "Open the model")
    wait(driver, lambda d: f"/models/{model}" in url(d))


def fix_roles(driver):
    """One click on what the report suggests, and one on a role of one's own choice."""
    before = driver.current_url
    press(driver, "Treat rooms as codes")
    wait(driver, lambda d: d.current_url != before and "Treat rooms as codes" not in text(d))
    assert role(driver, "rooms") == "input: text or code"
    before = driver.current_url
    choose_role(driver, "age", "left out")
    wait(driver, lambda d: d.current_url != before and role(d, "age") == "left out")
    choose_role(driver, "age", "input: number")
    wait(driver, lambda d: role(d, "age") == "input: number")


def role(driver, column):
    found = driver.find_element(By.CSS_SELECTOR, f"select[aria-label='Role of {column}']")
    return Select(found).first_selected_option.text


def choose_role(driver, column, words):
    found = driver.find_element(By.CSS_SELECTOR, f"select[aria-label='Role of {column}']")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found)
    Select(found).select_by_visible_text(words)
    found.find_element(By.XPATH, "..//button").click()


def walk(driver, address, script=True):
    """Upload, fix the roles of columns, train, watch, read the verdict, switch an alias, predict."""
    upload(driver, address, "houses")
    assert "they may be codes and not quantities" in text(driver)  # the column rooms
    fix_roles(driver)
    dataset = driver.current_url
    train(driver, address, "houses", script)
    assert "fit: the model explains" in text(driver)
    for part in ("Proved", "Estimated", "Measured"):
        assert part in text(driver)
    driver.find_element(By.ID, "alias").send_keys("live")
    press(driver, "Set the alias")
    wait(driver, lambda d: "Alias live" in text(d))
    driver.get(dataset)
    train(driver, address, "houses", script)
    press(driver, "Switch live to version 2")
    wait(driver, lambda d: "Switch live to version 1" in text(d))
    press(driver, "Try it")
    wait(driver, lambda d: d.find_elements(By.CLASS_NAME, "answer"))
    before = driver.find_element(By.CLASS_NAME, "answer").text
    area = driver.find_element(By.ID, "c0")
    area.clear()
    area.send_keys("200")
    if script:
        area.send_keys(Keys.TAB)
    else:
        press(driver, "Predict")
    wait(driver, lambda d: d.find_element(By.CLASS_NAME, "answer").text != before)
    assert "contains the true value with probability at least 95%" in text(driver)
    assert driver.find_elements(By.CSS_SELECTOR, "svg.curve .own"), "the curves of the sliders"
    if script:
        before = driver.find_element(By.CLASS_NAME, "answer").text
        slider = driver.find_element(By.CSS_SELECTOR, "input[type=range]")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", slider)
        slider.send_keys(Keys.HOME)
        wait(driver, lambda d: d.find_element(By.CLASS_NAME, "answer").text != before)


def ask(address, path, body, media_type="application/json"):
    """What the API answers to a request that waits for its job."""
    headers = {"content-type": media_type, "prefer": "wait=600"}
    with urllib.request.urlopen(urllib.request.Request(address + path, body.encode(), headers), timeout=660) as answer:
        return json.load(answer)


def long_names(address):
    """Pages of a table with names of 60 letters and targets in very different units, and of a model of all targets."""
    inputs = [f"measured concentration of a substance, in mg per litre, no. {index:02}"[-60:] for index in range(4)]
    targets = ["a target whose name goes on and on until it has sixty letters", "second_target_without_any_space_in_its_name_of_sixty_letters_", "<b>"]
    rows = [[(index * step) % 1 for step in (0.618, 0.755, 0.57, 0.414)] for index in range(200)]
    cells = [[*row, 4e6 * row[0] - 2e6, 1e-5 * row[1] * row[2], row[3]] for row in rows]
    lines = [[f'"{name}"' for name in inputs + targets], *[[f"{cell:.6g}" for cell in row] for row in cells]]
    chosen = urllib.parse.quote(",".join(targets))
    table = ask(address, f"/api/v1/datasets?name=long&target={chosen}", "\n".join(map(",".join, lines)), "text/csv")
    spec = {"effort": "fast", "features": {"count": 32}, "explanations": True, "learning_curve": True}
    job = ask(address, "/api/v1/jobs", json.dumps({"model": "W" * 64, "dataset": table["id"], "spec": spec}))
    assert job["status"] == "succeeded", job
    return [f"/datasets/{table['id']}", f"/models/{'W' * 64}", f"/models/{'W' * 64}/try"]


def check_quiet(driver, address):
    assert complaints(driver) == []
    elsewhere = [url for url in hosts(driver) if not url.startswith((address, "data:", "chrome:", "about:"))]
    assert elsewhere == []


def check_accessible(driver):
    axe = Axe(driver)
    axe.inject()
    found = axe.run()["violations"]
    assert found == [], axe.report(found)


def shoot(driver, width, name):
    """A picture of the whole page, which must not be wider than the window."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600})
    # The rules of axe scroll what they look at.
    driver.execute_script("for (const part of document.querySelectorAll('.scroll')) part.scrollLeft = 0; scrollTo(0, 0)")
    if width < 600:
        scrolled = driver.execute_script(
            "return [...document.querySelectorAll('.scroll:has(> .stack)')].filter((part) => part.scrollWidth > part.clientWidth)"
            ".map((part) => part.getAttribute('aria-label'))"
        )
        assert scrolled == [], f"{name}: lists that are cut at the edge: {scrolled}"
    height, found = driver.execute_script("return [document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert found <= width, f"{name} is {found} pixels wide in a window of {width}"
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": min(height, 6000), "deviceScaleFactor": 1, "mobile": width < 600})
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


def test_from_a_file_to_a_prediction(service):
    with browser() as driver:
        walk(driver, service)
        check_quiet(driver, service)


def test_without_script(service):
    with browser(script=False) as driver:
        driver.get(service + "/jobs")
        walk(driver, service, script=False)
        check_quiet(driver, service)


def test_with_keys(keyed):
    address, admin, reader = keyed

    def enter(driver, key):
        driver.get(address + "/models")
        assert driver.current_url == address + "/login"
        driver.find_element(By.ID, "key").send_keys(key)
        press(driver, "Sign in")
        wait(driver, lambda d: d.current_url == address + "/")
        cookie = driver.get_cookie("bochner_key")
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        assert driver.execute_script("return document.cookie") == ""

    with browser() as driver:
        enter(driver, admin)
        walk(driver, address)
        press(driver, "Sign out")
        wait(driver, lambda d: d.current_url == address + "/login")
        driver.get(address + "/models/houses")
        assert driver.current_url == address + "/login"
        check_quiet(driver, address)
    with browser() as driver:
        enter(driver, reader)
        driver.get(address + "/models/houses")
        assert "read-only" in driver.find_element(By.TAG_NAME, "header").text
        assert "Set the alias" not in text(driver) and "Train" not in driver.find_element(By.TAG_NAME, "nav").text
        driver.get(address + "/datasets")
        assert driver.find_elements(By.ID, "file") == []
        check_quiet(driver, address)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_read_by_everybody(service, dark):
    """With nothing there, and with long names: rules of axe-core, and nothing wider than the window."""
    scheme = "dark" if dark else "light"
    with browser(dark=dark) as driver:
        for width in (360, 1440):
            for page in [*PAGES, "/models/none", "/nowhere", "/docs?q=nowheretobefound"]:
                driver.get(service + page)
                check_accessible(driver)
                shoot(driver, width, f"empty-{page.strip('/').replace('/', '-').split('=')[0] or 'start'}-{width}-{scheme}")
        missing = complaints(driver)
        assert missing and all("404" in entry["message"] for entry in missing), missing
        name = "a-very-long-name-of-a-model-that-somebody-has-made-up-0123456789"
        upload(driver, service, "A very long name of a table " + "that_has_no_spaces_at_all_" * 4)
        dataset = driver.current_url
        train(driver, service, name)
        job = next(item for item in reversed(hosts(driver)) if "/jobs/job" in item and not item.endswith("/events"))
        pages = [*PAGES, dataset, job, f"/train?dataset={dataset.rsplit('/', 1)[1]}", f"/models/{name}", f"/models/{name}/try", "/docs/guarantees", *long_names(service)]
        for width in (360, 1440):
            for page in pages:
                driver.get(page if page.startswith("http") else service + page)
                check_accessible(driver)
                shoot(driver, width, f"{page.split('?')[0].rsplit('/', 1)[1][:12] or 'start'}-{width}-{scheme}")
        check_quiet(driver, service)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_picture_of_the_readme(service, dark):
    """The verdict of a model. `BOCHNER_README_PICTURES=docs` writes it where the README has it."""
    with browser(dark=dark) as driver:
        upload(driver, service, "houses")
        train(driver, service, "houses", count=256)
        assert "Verdict" in text(driver)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1200, "height": 960, "deviceScaleFactor": 1, "mobile": False})
        picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 82})["data"]
        folder = pathlib.Path(os.environ.get("BOCHNER_README_PICTURES", SCREENSHOTS))
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"console-{'dark' if dark else 'light'}.webp"
        file.write_bytes(base64.b64decode(picture))
        assert 10_000 < file.stat().st_size < 150_000, "a picture with something on it, and small"


def test_the_keyboard_reaches_everything_in_order(service):
    with browser() as driver:
        driver.get(service + "/train")
        driver.get(service + "/datasets")
        reached = []
        for _ in range(20):
            ActionChains(driver).send_keys(Keys.TAB).perform()
            element = driver.switch_to.active_element
            reached.append(element.get_attribute("id") or element.text)
            outline = element.value_of_css_property("outline-width")
            assert element.tag_name == "body" or outline != "0px" or "Skip" in element.text, reached
        assert reached[0] == "Skip to the content"
        order = [item for item in reached if item in ("name", "target", "file", "Upload")]
        assert order[:4] == ["name", "target", "file", "Upload"], reached


def test_forms_of_another_site_change_nothing(service):
    """What a page elsewhere could send, with the origin that a browser would add."""
    body = b"token=x"
    for headers in ({"origin": "http://evil.example"}, {}):
        request = urllib.request.Request(service + "/datasets/sample", body, headers, method="POST")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request)

"""The dashboard and the alerts, put to a real Prometheus that scrapes the real service."""

import json
import re
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from deployment import ROOT, Deployment, compose_command, free_port, run, wait_for
from ledger import ROW, train

DOCKER = ROOT / "docker"
# Put there by scripts/prometheus.sh.
PROMETHEUS = ROOT / "target/docker/prometheus/usr/bin"


def promtool(*arguments):
    return run(str(PROMETHEUS / "promtool"), *arguments)


class Files(unittest.TestCase):
    def test_compose_takes_the_file(self):
        config = [*compose_command(), "--file", str(DOCKER / "compose.yaml"), "--profile", "monitoring", "config"]
        self.assertEqual(sorted(run(*config, "--services").split()), ["bochner", "grafana", "prometheus"])

    def test_images_are_pinned_and_mounted_files_exist(self):
        text = (DOCKER / "compose.yaml").read_text() + (DOCKER / "Dockerfile").read_text()
        images = re.findall(r"(?:image:|FROM) (?!scratch)([^$\s]+)", text)
        self.assertEqual(len(images), 3)
        for image in images:
            self.assertRegex(image, r":v?\d+\.\d+\.\d+(-[a-z-]+)?$")
        for path in re.findall(r"- \./(\S+?):", text):
            self.assertTrue((DOCKER / path).is_file(), path)

    @unittest.skipUnless(PROMETHEUS.exists(), "no promtool")
    def test_promtool_accepts_the_files_and_every_alert_fires(self):
        promtool("check", "config", str(DOCKER / "prometheus.yaml"))
        tests = ROOT / "tests/docker/alerts.test.yaml"
        promtool("test", "rules", str(tests))
        alerts = re.findall(r"- alert: (\w+)", (DOCKER / "alerts.yaml").read_text())
        for alert in alerts:
            self.assertIn(f'alertname="{alert}"', tests.read_text())


@unittest.skipUnless(PROMETHEUS.exists(), "no Prometheus")
class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A service with a model and requests, and a Prometheus with our files that scrapes it every second."""
        cls.service = Deployment("monitoring")
        cls.addClassCleanup(cls.service.down)
        cls.service.up()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        config = (DOCKER / "prometheus.yaml").read_text().replace("bochner:8080", cls.service.address)
        config = re.sub(r"_(interval|timeout): \d+s", r"_\1: 1s", config)
        (Path(folder.name) / "prometheus.yaml").write_text(config)
        (Path(folder.name) / "alerts.yaml").write_text((DOCKER / "alerts.yaml").read_text())
        cls.address = f"127.0.0.1:{free_port()}"
        flags = [f"--config.file={folder.name}/prometheus.yaml", f"--storage.tsdb.path={folder.name}/data"]
        process = subprocess.Popen(
            [str(PROMETHEUS / "prometheus"), *flags, f"--web.listen-address={cls.address}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        wait_for("the first scrape", lambda: cls.query("up == 1"))
        cls.use_the_service()

    @classmethod
    def use_the_service(cls):
        """What a rate counts must grow between two scrapes that both see it: once before and once after."""
        houses = (ROOT / "examples/houses.csv").read_bytes()
        cls.service.ask("/api/v1/datasets?name=houses&target=price", houses, content_type="text/csv")
        unseen = [*ROW[:3], "moon", True]
        for _ in range(2):
            train(cls.service, "houses", "houses", {"features": {"count": 64}})
            for version in cls.service.ask("/api/v1/models/houses")["versions"]:
                path = f"/api/v1/models/houses/versions/{version['version']}/predict"
                cls.service.ask(path, {"rows": [ROW, unseen]})
            time.sleep(2.5)

    @classmethod
    def query(cls, expression):
        """The values that Prometheus finds, none while it starts."""
        url = f"http://{cls.address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return [float(series["value"][1]) for series in json.load(answer)["data"]["result"]]
        except OSError as error:
            if getattr(error, "code", 503) != 503:
                raise AssertionError(f"{expression}: {error.read().decode()}") from error
            return []

    def test_every_panel_of_the_dashboard_shows_something(self):
        panels = json.loads((DOCKER / "grafana/bochner.json").read_text())["panels"]
        queries = [target["expr"] for panel in panels for target in panel["targets"]]
        self.assertEqual(len(queries), len(set(queries)))
        for query in queries:
            with self.subTest(query):
                found = self.query(query.replace("$__rate_interval", "1m"))
                self.assertTrue(any(value == value for value in found), f"found {found}")
        print(f"\ndashboard: {len(queries)} queries of {len(panels)} panels have data")

    def test_every_series_of_the_alerts_exists(self):
        selectors = set(re.findall(r"(\b(?:bochner_|up\b)\w*)(\{[^}]*\})?", self.expressions()))
        self.assertGreater(len(selectors), 5)
        for name, labels in selectors:
            # What an alert waits for by a pattern, such as errors, need not have happened; the label must be there.
            there = re.sub(r'(\w+)=~"[^"]*"', r'\1!=""', labels)
            self.assertTrue(self.query(name + there), name + there)
        print(f"\nalerts: {len(selectors)} selectors have series")

    def expressions(self):
        """The expressions of all alerts, as Prometheus has read them."""
        with urllib.request.urlopen(f"http://{self.address}/api/v1/rules", timeout=10) as answer:
            groups = json.load(answer)["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual([rule["health"] for rule in rules if rule["health"] == "err"], [])
        return "\n".join(rule["query"] for rule in rules)

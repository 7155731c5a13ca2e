"""What the image is made of."""

import json
import re
import tarfile
import tempfile
import unittest
from pathlib import Path

from deployment import IMAGE, ROOT, run

LARGEST = 120_000_000


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Unpacks the files of the image."""
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        archive = Path(cls.folder.name) / "image.tar"
        container = run("docker", "create", IMAGE)
        try:
            run("docker", "export", "--output", str(archive), container)
        finally:
            run("docker", "rm", "--volumes", container)
        with tarfile.open(archive) as files:
            cls.names = [name for name in files.getnames() if files.getmember(name).isfile()]
            files.extract("usr/local/bin/bochner", cls.folder.name)
        cls.binary = Path(cls.folder.name) / "usr/local/bin/bochner"

    def test_it_is_small(self):
        size = int(run("docker", "image", "inspect", "--format", "{{.Size}}", IMAGE))
        print(f"\nimage: {size / 1e6:.1f} MB, of it the binary {self.binary.stat().st_size / 1e6:.1f} MB")
        self.assertLess(size, LARGEST)

    def test_the_binary_is_stripped_and_its_symbols_are_a_file_of_their_own(self):
        symbols = ROOT / "target/docker/bochner.debug"
        sections = lambda path: run("readelf", "--sections", "--wide", str(path))
        self.assertNotRegex(sections(self.binary), r"\.symtab|\.debug_line")
        self.assertRegex(sections(symbols), r"\.symtab")
        self.assertRegex(sections(symbols), r"\.debug_line")
        build = lambda path: re.search(r"Build ID: (\w+)", run("readelf", "--notes", str(path))).group(1)
        self.assertEqual(build(self.binary), build(symbols))

    def test_it_holds_the_binary_its_libraries_and_nothing_to_run_beside_them(self):
        libraries = re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "--dynamic", str(self.binary)))
        held = {Path(name).name for name in self.names}
        self.assertIn("libopenblas.so.0", libraries)
        self.assertLessEqual(set(libraries), held)
        programs = [name for name in self.names if "/bin/" in f"/{name}" or "/sbin/" in f"/{name}"]
        self.assertEqual(programs, ["usr/local/bin/bochner"])

    def test_every_package_is_named_for_scanners_with_its_licence(self):
        packages = {Path(name).name for name in self.names if name.startswith("var/lib/dpkg/status.d/")}
        self.assertLessEqual({"libc6", "libgcc-s1", "libgfortran5", "libopenblas0-pthread"}, packages)
        for package in packages:
            self.assertIn(f"usr/share/doc/{package}/copyright", self.names)

    def test_it_runs_as_nobody_in_particular_and_knows_its_health(self):
        config = json.loads(run("docker", "image", "inspect", "--format", "{{json .Config}}", IMAGE))
        self.assertEqual(config["User"], "10001:10001")
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "bochner", "healthcheck"])
        self.assertEqual(list(config["Volumes"]), ["/data"])

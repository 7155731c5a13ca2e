"""A power cut: every write that was not synced is lost, and every name whose directory was not synced."""

import os
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).with_name("power_cut.c")


class PowerCut:
    """Watches what a server syncs; `environment` is to be given to it."""

    def __init__(self, folder, data_dir):
        self._shadow = folder / "shadow"
        self._data_dir = data_dir
        library = folder / "power_cut.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
        self.environment = {"LD_PRELOAD": str(library), "POWER_CUT_SHADOW": str(self._shadow)}
        self._forget()

    def ignore_syncs(self):
        """From now on the disk is one that only pretends to sync."""
        elsewhere = self._shadow.with_name("ignored")
        for part in ("content", "names"):
            (elsewhere / part).mkdir(parents=True)
        self.environment["POWER_CUT_SHADOW"] = str(elsewhere)

    def _forget(self):
        shutil.rmtree(self._shadow, ignore_errors=True)
        for part in ("content", "names"):
            (self._shadow / part).mkdir(parents=True)

    def strike(self):
        """Puts the data directory into the state that its disk would have; how many files were lost or cut."""
        left = self._data_dir.with_name("left")
        left.mkdir()
        lost = self._rebuild(self._data_dir, left)
        shutil.rmtree(self._data_dir)
        left.rename(self._data_dir)
        # All that is there now is on the disk.
        self._forget()
        self._remember(self._data_dir)
        return lost

    def _rebuild(self, folder, left):
        lost = 0
        manifest = self._shadow / "names" / str(folder).replace("/", "+")
        lines = manifest.read_text().splitlines() if manifest.exists() else []
        names = set()
        for line in lines:
            key, kind, name = line.split(" ", 2)
            names.add(name)
            if kind == "d":
                (left / name).mkdir(mode=0o700)
                lost += self._rebuild(folder / name, left / name)
                continue
            content = self._shadow / "content" / key
            # A name that is on the disk, of a file that never was synced, leads to an empty file.
            shutil.copyfile(content if content.exists() else os.devnull, left / name)
            (left / name).chmod(0o600)
            now = folder / name
            lost += not now.exists() or now.read_bytes() != (left / name).read_bytes()
        here = {path.name for path in folder.iterdir()} if folder.exists() else set()
        return lost + len(here - names)

    def _remember(self, folder):
        lines = []
        for path in folder.iterdir():
            key = birth(path)
            lines.append(f"{key} {'d' if path.is_dir() else 'f'} {path.name}")
            if path.is_dir():
                self._remember(path)
            else:
                shutil.copyfile(path, self._shadow / "content" / key)
        (self._shadow / "names" / str(folder).replace("/", "+")).write_text("".join(f"{line}\n" for line in lines))


def birth(path):
    """The key of a file as power_cut.c writes it; Python knows no birth times, but coreutils do."""
    inode, time = subprocess.run(["stat", "-c", "%i %.9W", path], check=True, capture_output=True, text=True).stdout.split()
    seconds, nanoseconds = time.split(".")
    return f"{inode}-{int(seconds)}-{int(nanoseconds)}"

"""Every shell and Python block of README.md and docs, run as it is written, page by page, on one service.

Only the address changes: 127.0.0.1:8080 becomes that of the service under test. `bochner` and `target/release/bochner` are the
built binary. A block that cannot be run has a comment before it, `<!-- not run: reason -->`, or the page one for all of its blocks,
`<!-- not run on this page: reason -->`; they are listed with `pytest -rP`.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import BINARY, start

ROOT = pathlib.Path(__file__).parents[2]
# The README first: other pages use what it makes.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"(?P<comment><!-- not run: (?P<reason>[^\n]+) -->\n)?^(?P<indent> *)```(?P<language>sh|python)\n(?P<text>.*?)^ *```$", re.M | re.S)
WHOLE_PAGE = re.compile(r"<!-- not run on this page: (.+) -->")
# Blocks of shells and Python under another name would not be seen.
OTHER_NAMES = re.compile(r"^ *```(bash|shell|console|zsh|py|python3)$", re.M)
MOST_EXCEPTIONS = 20

# An answer of 400 or above is an error, and a job that is still running is waited for, however slow the machine is.
PRELUDE = """
set -euo pipefail
curl() {
    local answer
    answer=$(mktemp)
    command curl --fail-with-body "$@" > "$answer" || { cat "$answer" >&2; return 1; }
    cat "$answer"
    if grep -qE '"status": ?"(queued|running)"' "$answer"; then
        while command curl -sS "http://$ADDRESS/api/v1/jobs" | grep -qE '"status": ?"(queued|running)"'; do sleep 0.2; done
    fi
}
"""


def blocks(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        lines = found["text"].splitlines()
        body = "\n".join(line.removeprefix(found["indent"]) for line in lines)
        yield text[: found.start("indent")].count("\n") + 1, found["language"], body, found["reason"]


def exceptions():
    found = []
    for page in PAGES:
        whole = WHOLE_PAGE.search(page.read_text(encoding="utf-8"))
        if whole:
            found.append((page.relative_to(ROOT), None, whole[1]))
        else:
            found += [(page.relative_to(ROOT), line, reason) for line, _, _, reason in blocks(page) if reason]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that looks like the repository to a reader, and a service beside it."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("examples", "tests", "docs"):
        (folder / name).symlink_to(ROOT / name)
    binary = pathlib.Path(os.environ.get("BOCHNER_BINARY", BINARY)).resolve()
    for place in ("bin", "target/release"):
        (folder / place).mkdir(parents=True)
        (folder / place / "bochner").symlink_to(binary)
    with start(folder, "--default-model", "houses") as service:
        yield folder, service


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs_as_written(folder, page):
    folder, service = folder
    text = page.read_text(encoding="utf-8")
    assert not OTHER_NAMES.search(text), "call blocks sh or python, so that they are run"
    if WHOLE_PAGE.search(text):
        pytest.skip(WHOLE_PAGE.search(text)[1])
    address = f"{service.host}:{service.port}"
    script, runnable = [PRELUDE], [block for block in blocks(page) if block[3] is None]
    for line, language, body, _ in runnable:
        body = body.replace("127.0.0.1:8080", address).replace('"127.0.0.1", 8080', f'"{service.host}", {service.port}')
        script.append(f"echo {page.name}:{line} >> steps")
        if language == "python":
            (folder / f"block{line}.py").write_text(body, encoding="utf-8")
            script.append(f"{sys.executable} block{line}.py")
        else:
            script.append(body)
    if not runnable:
        return
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env={**os.environ, "PATH": path, "ADDRESS": address}, capture_output=True, text=True, timeout=1800
    )
    last = (folder / "steps").read_text().splitlines()[-1]
    assert done.returncode == 0, f"the block at {last}: {done.stderr[-3000:]}\n{done.stdout[-2000:]}"


def test_exceptions_are_few_and_have_a_reason():
    for page, line, reason in exceptions():
        print(f"{page}:{line or 'all'}: not run: {reason}")
        assert len(reason) > 20, f"{page}:{line}: say why"
    assert len(exceptions()) <= MOST_EXCEPTIONS
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 250, "the README is for the first five minutes"

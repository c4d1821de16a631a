"""The pages about Python do what they say: their code runs, and prints what they show.

In `docs/python.md` and the how-to pages below, and in the README, a `python` block is run, in the order of the page and
in one namespace; a `text` block right after it is what it prints. The words are those of
`crates/goodarm/tests/it/book.rs`: `file=NAME` is saved, `numbers-vary` compares words alone, and `…` stands for
anything. A block that begins with `# not run` is only compiled.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib.util
import inspect
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = [DOCS / "python.md", *sorted(DOCS.glob("how-to/python-*.md")), REPOSITORY / "README.md"]
CRATE = REPOSITORY / "crates/goodarm-py"


@dataclass
class Block:
    """A fenced block."""

    info: list[str]
    body: str
    line: int

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.info if word.startswith("file=")), None)


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    is_open = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if not is_open:
                found.append(Block(line.removeprefix("```").split(), "", number + 1))
            is_open = not is_open
        elif is_open:
            found[-1].body += line + "\n"
    return found


def words(line: str) -> str:
    """The line with `#` for each number and one space for many; lines of a table are of any length."""
    line = re.sub(r"\d[\d.,e-]*", "#", line.rstrip())
    return re.sub(r"([ ─═]|┬─)\1*", r"\1", line)


def is_alike(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are those that are shown; `…` alone stands for any lines, and in a line for anything."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(is_alike(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    pattern = ".*".join(re.escape(part) for part in shown[0].split("…"))
    return bool(printed) and re.fullmatch(pattern, printed[0]) is not None and is_alike(shown[1:], printed[1:])


def run(block: Block, page: str, namespace: dict[str, Any]) -> str:
    """Runs a block as a notebook would, where `await` needs no function; what it printed."""
    source = "\n" * (block.line - 1) + block.body
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if block.body.startswith("# not run"):
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = eval(code, namespace)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    return printed.getvalue()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count, printed = 0, None
    for block in blocks(page):
        if block.file is not None:
            Path(block.file).write_text(block.body)
        elif block.language == "python":
            printed = run(block, page.name, namespace)
            count += 1
            continue
        elif block.language == "text" and printed is not None:
            tidy = words if "numbers-vary" in block.info else str.rstrip
            shown, got = ([tidy(line) for line in text.splitlines()] for text in (block.body, printed))
            assert is_alike(shown, got), f"{page.name}, line {block.line}: printed\n{printed}"
        printed = None
    assert count > 0


def test_the_notebook_prints_what_it_shows(tmp_path: Path) -> None:
    for name in ("nbclient", "nbformat", "ipykernel", "pandas"):
        pytest.importorskip(name)
    import nbformat

    kept = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    made = script("notebook").execute(tmp_path)
    assert len(kept.cells) == len(made.cells) > 20
    for old, new in zip(kept.cells, made.cells):
        # Verifiers are noisy: numbers differ, and in cells with this tag all below the first line.
        most = 1 if "varies" in old.metadata.get("tags", []) else None
        shown, printed = ([words(line) for line in texts(cell)][:most] for cell in (old, new))
        assert shown == printed, old.source


def texts(cell: Any) -> list[str]:
    """The lines that a cell printed or returned; warnings are left out."""
    outputs = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    assert all(output.output_type != "error" for output in outputs)
    whole = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return [line for text in whole for line in str(text).splitlines()]


def test_the_kept_notebook_is_small_and_says_nothing_of_where_it_was_made() -> None:
    text = (DOCS / "tutorial.ipynb").read_text()
    assert len(text) < 50_000
    for word in ("/tmp/", "/home/", "/root/", "/Users/", "execution_count\": null", "\"execution\""):
        assert word not in text


def test_the_reference_is_up_to_date() -> None:
    made = script("reference").render()
    assert (DOCS / "python-reference.md").read_text() == made, "python crates/goodarm-py/reference.py makes it anew"


def test_the_reference_has_every_name() -> None:
    import goodarm as ga

    page = (DOCS / "python-reference.md").read_text()
    for name in set(ga.__all__) - {"__version__", "errors"}:
        assert f"### `goodarm.{name}`" in page or f"| `{name}` (" in page, name


def script(name: str) -> Any:
    """A script of the crate, which is not part of the package."""
    spec = importlib.util.spec_from_file_location(name, CRATE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("one 1", "one 1", True),
        ("…", "one\ntwo", True),
        ("one …\n…\nthree", "one 1\ntwo\nthree", True),
        ("one", "two", False),
        ("one", "one\ntwo", False),
        ("one\ntwo", "one", False),
    ],
)
def test_other_lines_are_noticed(shown: str, printed: str, expected: bool) -> None:
    assert is_alike(shown.splitlines(), printed.splitlines()) == expected
    assert words("8 certified  of 1,200") == words("19 certified of 5.5e-3")
    assert words("8 certified") != words("8 rejected")

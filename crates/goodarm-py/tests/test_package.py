"""The package itself: types, docstrings, what an import pulls in."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import goodarm
import goodarm._results
import goodarm._verifiers

PACKAGE = Path(goodarm.__file__).parent


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_are_right() -> None:
    config = Path(__file__).parents[1] / "pyproject.toml"
    python("-m", "mypy", "--config-file", str(config), "-p", "goodarm")


def test_stubs_are_those_of_the_built_module() -> None:
    python("-m", "mypy.stubtest", "goodarm._native")


def test_the_examples_in_docstrings_run() -> None:
    modules = [goodarm, goodarm._verifiers, goodarm._results]
    results = [doctest.testmod(module) for module in modules]
    assert all(result.failed == 0 for result in results)
    assert sum(result.attempted for result in results) > 5


def test_the_examples_in_stubs_run() -> None:
    # The docstrings that people read in their editors are in the stubs.
    text = (PACKAGE / "_native.pyi").read_text()
    parser = doctest.DocTestParser()
    test = parser.get_doctest(text, {}, "_native.pyi", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.summarize().failed == 0 and len(test.examples) > 3


def test_an_import_pulls_in_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "polars", "pyarrow", "ray", "tqdm", "asyncio.windows_events"]
    python("-c", f"import sys, goodarm; found = [n for n in {heavy} if n in sys.modules]; assert not found, found")


def test_all_names_are_there() -> None:
    for name in goodarm.__all__:
        assert hasattr(goodarm, name)

"""The package itself: types, docstrings, what an import pulls in."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

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


USER = """
import goodarm as ga

@ga.verifier(threshold=0.7, price=0.002, scores="binary")
async def judge(candidate: dict[str, str]) -> ga.Score:
    return ga.Score(1.0, cost=0.001, reply="yes")

@ga.verifier
def short(candidate: dict[str, str]) -> bool:
    return len(candidate["answer"]) < 9

run: ga.Run = ga.run(candidates=[{"answer": "x"}], verifiers=[short, judge], budget=1, delta=0.1)
ids: list[str] = run.certified["id"]
session = ga.Session(3, 1.5, 0.1, [ga.Spec("a", threshold=0.5, price=1)])
arms: list[int] = [pull.arm for pull in session.ask(2)]
"""


def test_a_users_program_passes_a_strict_type_checker(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USER)
    python("-m", "mypy", "--strict", "--python-version", "3.10", str(program))
    program.write_text(USER.replace("threshold=0.7", "treshold=0.7"))
    with pytest.raises(AssertionError, match="treshold"):
        python("-m", "mypy", "--strict", str(program))


def test_the_module_asks_for_the_interpreters_lock() -> None:
    """An interpreter without the lock turns it on at the import; others always have it."""
    lock = "import sys, goodarm; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    assert python("-c", lock).strip() == "True"
    source = (Path(__file__).parents[1] / "src" / "lib.rs").read_text()
    assert "#[pymodule(gil_used = true)]\nmod _native {" in source, "PyO3's default is another"


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

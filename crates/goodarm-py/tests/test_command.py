"""The command `goodarm` that the wheel installs beside the library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import goodarm as ga

COMMAND = Path(sys.executable).parent / "goodarm"

SLOW_JOB = """
candidates = "answers.jsonl"
budget = 4
delta = 0.05
concurrency = 2
[[verifiers]]
name = "slow"
kind = "command"
shell = 'echo x >> begun; sleep 1; echo 1'
threshold = 0.5
"""


def goodarm(folder: Path, *arguments: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    return subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, env=environment)


def started(folder: Path, job: str) -> subprocess.Popen[str]:
    """A run of a job whose first call has begun."""
    (folder / "answers.jsonl").write_text("".join(f'{{"id": "q{i}"}}\n' for i in range(4)))
    (folder / "job.toml").write_text(job)
    pipe = subprocess.PIPE
    child = subprocess.Popen([COMMAND, "run", "job.toml"], cwd=folder, stdout=pipe, stderr=pipe, text=True)
    while not (folder / "begun").exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    return child


def test_it_has_the_version_of_the_library(tmp_path: Path) -> None:
    done = goodarm(tmp_path, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"goodarm {ga.__version__}\n", "")


def test_the_example_needs_an_empty_folder_and_nothing_else(tmp_path: Path) -> None:
    done = goodarm(tmp_path, "example", path="")
    assert done.returncode == 0, done.stderr
    assert "21 of 48 answers certified" in done.stdout
    assert (tmp_path / "goodarm-example" / "run" / "report.html").stat().st_size > 10_000
    assert len(ga.open(tmp_path / "goodarm-example" / "run").certified) == 21


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["run"], ["audit", "no-such-folder"], []])
def test_wrong_input_has_exit_code_2(tmp_path: Path, arguments: list[str]) -> None:
    done = goodarm(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr and "Traceback" not in done.stderr


def test_help_and_other_long_output_arrive_in_full(tmp_path: Path) -> None:
    assert "Usage: goodarm run" in goodarm(tmp_path, "run", "--help").stdout
    assert json.loads(goodarm(tmp_path, "schema").stdout)["title"]
    # The reader closes the pipe at once.
    done = subprocess.run(["sh", "-c", f'"{COMMAND}" schema 2>&1 | true; echo ended'], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ended\n", "")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_waits_for_calls_in_flight_and_the_run_continues(tmp_path: Path, stop: signal.Signals) -> None:
    child = started(tmp_path, SLOW_JOB)
    child.send_signal(stop)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert "stopping: no new calls" in said and "Traceback" not in said
    # What to type next begins with the command, and not with the interpreter.
    assert "resume it with: goodarm run job.toml --resume" in said, said
    resumed = goodarm(tmp_path, "run", "job.toml", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert ga.open(tmp_path / "run").audit().ok


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    child = started(tmp_path, SLOW_JOB.replace("sleep 1", "sleep 60"))
    child.send_signal(signal.SIGINT)
    time.sleep(0.5)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130 and "abandoned" in said, said
    assert time.monotonic() - begin < 20


def test_ctrl_c_ends_a_command_without_a_handler(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "answers.jsonl")
    child = subprocess.Popen([COMMAND, "init", "answers.jsonl"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    # Opens when the command reads from the other end, where nothing will come.
    with open(tmp_path / "answers.jsonl", "w"):
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
    assert (child.returncode, said) == (-signal.SIGINT, "")


HANDLERS = """
import signal, sys
from goodarm._command import main

names = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
before = [signal.getsignal(name) for name in names]
sys.argv = ["goodarm", "run", "job.toml", "--quiet"]
assert main() == 0
assert [signal.getsignal(name) for name in names] == before
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_handlers_are_as_before(tmp_path: Path) -> None:
    """`getsignal` only reads what Python remembers, so a signal is sent as well."""
    (tmp_path / "answers.jsonl").write_text('{"id": "q"}\n')
    (tmp_path / "job.toml").write_text(SLOW_JOB.replace("sleep 1", "true"))
    done = subprocess.run([sys.executable, "-c", HANDLERS], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("interrupted\n")

"""What the tests share."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

import goodarm as ga

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder for a run, which is not there yet."""
    return tmp_path / "run"


def candidates(count: int) -> list[dict[str, Any]]:
    """Answers of which two of three are good."""
    return [{"id": f"a{i}", "answer": f"answer {i}", "good": i % 3 != 0} for i in range(count)]


class Coin:
    """Approves of good answers nine times of ten, of bad ones three times; fresh for every call, and
    the same in every test.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.count = 0

    def __call__(self, candidate: dict[str, Any]) -> float:
        with self.lock:
            self.count += 1
            return float(self.random.random() < (0.92 if candidate["good"] else 0.3))


def good_ids(run: ga.Run) -> set[str]:
    """The ids of the certified answers, all of which are good."""
    certified = run.certified.to_pylist()
    assert all(row["good"] for row in certified)
    return {row["id"] for row in certified}


def check_books(run: ga.Run) -> None:
    """No call is lost or doubled, every cent is there, and the audit finds nothing."""
    calls = run.calls
    numbers = calls["call"]
    assert len(numbers) == len(set(numbers))
    assert sum(calls["cost"]) == pytest.approx(float(run.money.spent), rel=1e-9)
    assert run.money.spent <= run.money.budget
    audit = run.audit()
    assert audit.ok, audit.wrong

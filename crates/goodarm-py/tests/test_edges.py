"""What gives way at the edges if nobody looks: callbacks that raise, loops that stop, texts that are none."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Coin, candidates, check_books, good_ids
from test_run import GOOD, binary, certify, sync

import goodarm as ga
from goodarm._native import Mailbox

pytestmark = pytest.mark.filterwarnings("ignore:judge")


def test_columns_of_an_earlier_run_are_not_believed(out: Path, tmp_path: Path) -> None:
    first = certify(out, sync())
    rows = [row | {"goodarm.status": "certified", "goodarm.rank": 1} for row in candidates(30)]
    second = certify(tmp_path / "second", sync(), candidates=rows)
    assert good_ids(second) == {row["id"] for row in first.certified.to_pylist()} == GOOD
    assert len(second.certified) == second.summary["certified"]
    assert len(second.rejected) == second.summary["rejected"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_callback_that_raises_ends_the_run_and_nothing_goes_on_behind_it(is_async: bool, out: Path) -> None:
    coin = Coin()

    def judge(candidate: dict[str, Any]) -> float:
        return coin(candidate)

    async def judge_async(candidate: dict[str, Any]) -> float:
        await asyncio.sleep(0.001)
        return coin(candidate)

    def callback(state: dict[str, Any]) -> None:
        raise LookupError("no such bar")

    verifier = binary(judge_async if is_async else judge, concurrency=4)
    terms: dict[str, Any] = {"candidates": candidates(500), "budget": 10**6, "progress": callback}
    with pytest.raises(LookupError, match="no such bar"):
        certify(out, verifier, **terms)
    count = coin.count
    # The folder is free, and what was paid for is in it.
    run = ga.open(out)
    made = [failure for failure in run.calls["failure"] if failure is None]
    assert len(made) == count == coin.count
    check_books(run)
    with pytest.raises(LookupError):
        certify(out, verifier, **terms)


def test_exits_and_stopped_loops_of_async_verifiers_are_failures_of_their_calls(out: Path) -> None:
    coin = Coin()

    async def judge(candidate: dict[str, Any]) -> float:
        await asyncio.sleep(0)
        if candidate["id"] == "a1":
            sys.exit(3)
        if candidate["id"] == "a2" and coin.count % 5 == 0:
            asyncio.get_running_loop().stop()
        return coin(candidate)

    run = certify(out, binary(judge, timeout=20), budget=3000)
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert {(row["id"], row["failure"]) for row in failed} <= {("a1", "crashed")}
    assert good_ids(run) == GOOD - {"a1"}
    check_books(run)


def test_one_async_client_serves_several_runs(tmp_path: Path) -> None:
    loops: set[Any] = set()

    async def judge(candidate: dict[str, Any]) -> float:
        loops.add(asyncio.get_running_loop())
        return float(candidate["good"])

    for name in ("first", "second"):
        certify(tmp_path / name, binary(judge))
    assert len(loops) == 1


class EvilText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


class BareVoid(ga.Void):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    "evil",
    [
        ga.Score(1.0, reply="\udc80"),
        ga.Score(1.0, cost=-0.0),
        ValueError("\ud800"),
        EvilText(),
        ga.Void(retry_after="soon"),  # type: ignore[arg-type]
        BareVoid(),
    ],
    ids=["reply", "cost", "message", "no-text", "wait", "void"],
)
def test_no_text_and_no_number_stalls_a_call(evil: Any, out: Path) -> None:
    coin = Coin()
    is_told = False

    def judge(candidate: dict[str, Any]) -> Any:
        nonlocal is_told
        if coin.count > 20 and not is_told:
            is_told = True
            if isinstance(evil, Exception):
                raise evil
            return evil
        return coin(candidate)

    run = certify(out, binary(judge))
    assert good_ids(run) == GOOD
    assert "timed-out" not in set(run.calls["failure"])
    check_books(run)


def test_what_was_asked_for_before_a_policy_raises_is_returned() -> None:
    class Tired:
        calls = 0

        def choose(self, view: ga.View) -> tuple[int, int]:
            self.calls += 1
            if self.calls == 4:
                raise RuntimeError("enough")
            return (0, 0)

    judge = ga.Spec("judge", threshold=0.5, price=1, scores="binary")
    s = ga.Session(4, 100, 0.1, [judge], policy=Tired(), in_flight_share=1.0)
    pulls = s.ask(8)
    assert len(pulls) == 3 == s.in_flight
    s.tell_many(pulls, [1.0, 1.0, 1.0])
    with pytest.raises(RuntimeError, match="enough"):
        s.ask(8)
    assert len(s.ask(8)) == 8


def test_waits_without_end_and_outcomes_that_are_none_do_no_harm() -> None:
    mailbox = Mailbox(1e9)
    assert mailbox.take(1, 1e19, 0.0) == []
    mailbox.put([(7, 1.0), (8, ("what",)), (9, "no outcome")])  # type: ignore[list-item]
    mailbox.close()
    assert mailbox.take(1) is None


def test_candidates_that_are_no_text_or_no_number(out: Path) -> None:
    with pytest.raises(TypeError, match="candidate 1 is not plain data"):
        certify(out, sync(), candidates=[{"id": "a", "good": 1}, {"id": "\udc80", "good": 1}])
    rows = [row | {"x": value} for row, value in zip(candidates(3), [float("inf"), float("nan"), -float("inf")])]
    run = certify(out, sync(), candidates=rows)
    assert run.answers["x"] == [None, None, None]


def test_a_set_is_no_list_of_scores(out: Path) -> None:
    with pytest.raises(ga.NeverScored, match="not a list"):
        certify(out, binary(lambda batch: {float(i) for i in range(len(batch))}, batch=8))


def test_a_damaged_parquet_file_is_an_error_and_no_panic_is_printed(out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The Parquet library panics at an offset below 0."""
    corpus = Path(__file__).parents[3] / "fuzz" / "corpus" / "candidates-parquet"
    with pytest.raises(ga.Error, match="the reader gave up on it"):
        certify(out, sync(), candidates=corpus / "negative-offset.parquet")
    assert "panicked" not in capfd.readouterr().err

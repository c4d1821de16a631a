"""Whole runs with functions of Python's as verifiers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import Coin, candidates, check_books, good_ids

import goodarm as ga

GOOD = {f"a{i}" for i in range(30) if i % 3 != 0}


pytestmark = pytest.mark.filterwarnings("ignore:judge")


def certify(out: Path, *verifiers: Any, **keywords: Any) -> ga.Run:
    given: dict[str, Any] = {
        "candidates": candidates(30),
        "verifiers": list(verifiers),
        "budget": 20_000,
        "delta": 0.05,
        "output": out,
        "progress": False,
    }
    return ga.run(**(given | keywords))


def binary(function: Any, **keywords: Any) -> ga.Verifier:
    verifier: ga.Verifier = ga.verifier(
        function, **({"name": "judge", "threshold": 0.6, "scores": "binary"} | keywords)
    )
    return verifier


def sync() -> ga.Verifier:
    return binary(Coin())


def of_async() -> ga.Verifier:
    coin = Coin()

    async def judge(candidate: dict[str, Any]) -> float:
        await asyncio.sleep(0)
        return coin(candidate)

    return binary(judge)


def of_class_with_async_call() -> ga.Verifier:
    class Judge(Coin):
        async def __call__(self, candidate: dict[str, Any]) -> float:  # type: ignore[override]
            return Coin.__call__(self, candidate)

    return binary(Judge())


def batched() -> ga.Verifier:
    coin = Coin()
    return binary(lambda batch: [coin(candidate) for candidate in batch], batch=8)


def batched_numpy() -> ga.Verifier:
    numpy = pytest.importorskip("numpy")
    coin = Coin()
    return binary(lambda batch: numpy.array([coin(candidate) for candidate in batch]), batch=8)


def async_batched() -> ga.Verifier:
    coin = Coin()

    async def judge(batch: list[dict[str, Any]]) -> list[bool]:
        await asyncio.sleep(0)
        return [bool(coin(candidate)) for candidate in batch]

    return binary(judge, batch=8)


FORMS = [sync, of_async, of_class_with_async_call, batched, batched_numpy, async_batched]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_of_a_verifier_certifies_the_good_answers(form: Callable[[], ga.Verifier], out: Path) -> None:
    run = certify(out, ga.check("regex", pattern="^answer"), form())
    assert good_ids(run) == GOOD
    check_books(run)


def test_scores_of_all_kinds_are_numbers(out: Path) -> None:
    numpy = pytest.importorskip("numpy")
    values = [1, True, numpy.float32(1), numpy.int64(1), numpy.bool_(True), Decimal(1), ga.Score(1)]
    seen: list[Any] = []

    def judge(candidate: dict[str, Any]) -> Any:
        seen.append(values[len(seen) % len(values)])
        return seen[-1]

    run = certify(out, binary(judge), candidates=candidates(3))
    assert len(run.certified) == 3
    assert set(run.calls["score"]) == {1.0} and set(run.calls["failure"]) == {None}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "returned None"),
        ("1.0", "returned '1.0'"),
        ({"score": 1}, "returned dict"),
        (float("nan"), "NaN"),
        (ga.Score(1.0, cost=-1), "cost -1"),
        (ga.Score(1.0, cost=float("nan")), "cost nan"),
        (ga.Score("high"), "returned 'high'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_score_is_a_failure_that_says_so(value: Any, reason: str, out: Path) -> None:
    coin = Coin()
    count = 0

    def judge(candidate: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        return value if count % 10 == 3 else coin(candidate)

    run = certify(out, binary(judge))
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert failed and all(row["failure"] == "unreadable" for row in failed)
    assert all(reason in row["reason"] for row in failed), failed[0]["reason"]
    assert good_ids(run) <= GOOD
    check_books(run)


def test_a_verifier_that_never_gives_a_score_stops_the_run(out: Path) -> None:
    def judge(candidate: dict[str, Any]) -> None:
        return None

    with pytest.raises(ga.NeverScored, match="returned None") as caught:
        certify(out, binary(judge))
    assert caught.value.run.summary["rejected"] == 0
    assert caught.value.run.summary["calls"] == 5
    # Its calls would count against the answers, so the run is begun anew.
    run = certify(out, sync())
    assert good_ids(run) == GOOD and set(run.calls["failure"]) == {None}
    assert out.with_name("run.1").exists()


def test_a_coroutine_of_a_sync_function_is_told_apart(out: Path) -> None:
    async def judge(candidate: dict[str, Any]) -> float:
        return 1.0

    with pytest.raises(ga.NeverScored, match="async def"):
        certify(out, binary(lambda candidate: judge(candidate)))


@pytest.mark.parametrize("wrong", [[1.0], "11", 3, None, {"a": 1.0}])
def test_a_batch_of_the_wrong_length_fails_as_a_whole(wrong: Any, out: Path) -> None:
    with pytest.raises(ga.NeverScored, match="returned"):
        certify(out, binary(lambda batch: [] if wrong == [1.0] == [1.0] * len(batch) else wrong, batch=8))


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_exception_counts_with_its_traceback(error: BaseException, out: Path) -> None:
    coin = Coin()

    def judge(candidate: dict[str, Any]) -> float:
        if candidate["id"] == "a1":
            raise error
        return coin(candidate)

    run = certify(out, binary(judge), guarantee="holm", policy="uniform", budget=400)
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert {row["id"] for row in failed} == {"a1"}
    assert all(row["failure"] == "crashed" and "raise error" in row["reply"] for row in failed)
    assert "a1" not in good_ids(run)
    check_books(run)


def test_void_calls_are_made_again_and_leave_no_trace(out: Path) -> None:
    coin = Coin()
    count = 0

    def judge(candidate: dict[str, Any]) -> float:
        nonlocal count
        count += 1
        if count % 50 == 7:
            raise ga.Void("busy", retry_after=0.001)
        return coin(candidate)

    run = certify(out, binary(judge))
    assert good_ids(run) == GOOD
    assert set(run.calls["failure"]) == {None}
    assert len(run.calls) == coin.count
    check_books(run)


def test_a_call_that_takes_too_long_is_timed_out(out: Path) -> None:
    coin = Coin()
    release = threading.Event()

    def judge(candidate: dict[str, Any]) -> float:
        if candidate["id"] == "a1":
            release.wait(60)
        return coin(candidate)

    try:
        run = certify(out, binary(judge, timeout=2, concurrency=4), candidates=candidates(4), budget=60)
    finally:
        release.set()
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert {(row["id"], row["failure"]) for row in failed} == {("a1", "timed-out")}
    check_books(run)


def test_an_async_call_that_takes_too_long_is_cancelled(out: Path) -> None:
    coin = Coin()
    cancelled: list[str] = []

    async def judge(candidate: dict[str, Any]) -> float:
        if candidate["id"] == "a1":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(candidate["id"])
                raise
        return coin(candidate)

    run = certify(out, binary(judge, timeout=2, concurrency=4), candidates=candidates(4), budget=60)
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert {(row["id"], row["failure"]) for row in failed} == {("a1", "timed-out")}
    assert cancelled
    check_books(run)


def test_slow_functions_run_side_by_side(out: Path) -> None:
    together = threading.Barrier(8, timeout=30)

    def judge(candidate: dict[str, Any]) -> float:
        if not together.broken and judge.count < 8:  # type: ignore[attr-defined]
            judge.count += 1  # type: ignore[attr-defined]
            together.wait()
        return float(candidate["good"])

    judge.count = 0  # type: ignore[attr-defined]
    # The first call is alone until the verifier has given a score.
    warm = binary(Coin(), name="other")
    run = certify(out, binary(lambda c: judge(c) if warm.function.count > 3 else float(c["good"]), concurrency=16), warm)
    assert judge.count == 8 and not together.broken  # type: ignore[attr-defined]
    check_books(run)


def test_costs_are_believed_up_to_the_last_digit(out: Path) -> None:
    coin = Coin()

    def judge(candidate: dict[str, Any]) -> ga.Score:
        return ga.Score(coin(candidate), cost=Decimal("0.00123456789"), reply="because")

    run = certify(out, binary(judge, price=0.002), unit="dollars", budget=5)
    assert run.money.spent == Decimal("0.00123456789") * len(run.calls)
    assert set(run.calls["reply"]) == {"because"}
    check_books(run)


def test_bills_above_the_price_are_counted(out: Path) -> None:
    def judge(candidate: dict[str, Any]) -> ga.Score:
        return ga.Score(float(candidate["good"]), cost=2.5)

    with pytest.warns(UserWarning, match="above their ceiling"):
        run = certify(out, binary(judge, price=1, concurrency=1), budget=11)
    calls, money = len(run.calls), run.money
    assert calls > 0 and (money.overruns, money.overrun) == (calls, Decimal("1.5") * calls)
    check_books(run)


def test_a_budget_is_taken_to_its_last_digit(out: Path) -> None:
    budget = Decimal("123456789.123456789012")
    run = certify(out, binary(Coin()), budget=budget)
    assert run.money.budget == budget


def test_a_function_that_says_nothing_costs_its_price(out: Path) -> None:
    run = certify(out, binary(Coin(), price=0.002), unit="dollars", budget=5)
    assert run.money.spent == Decimal("0.002") * len(run.calls)
    assert not run.summary["notes"]


SCRIPT = """
import random, sys, time
import goodarm as ga

@ga.verifier(threshold=0.6, scores="binary", concurrency=8)
def judge(candidate):
    time.sleep(0.002)
    return float(random.random() < (0.92 if candidate["good"] else 0.3))

rows = [{"id": f"a{i}", "answer": "x", "good": i % 3 != 0} for i in range(60)]
run = ga.run(candidates=rows, verifiers=[judge], budget=6000, delta=0.05, output=sys.argv[1], progress=False)
print(len(run.certified))
"""


def journal_is_long(out: Path, length: int) -> bool:
    journal = out / "journal"
    return journal.exists() and journal.stat().st_size > length


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited for too long")


def test_a_killed_run_goes_on_and_nothing_is_lost_or_spent_twice(out: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for kill in range(1, 4):
        process = subprocess.Popen([sys.executable, script, out])
        wait_for(lambda: journal_is_long(out, 6000 * kill) or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        process.wait()
        check_books_so_far(ga.open(out))
    done = subprocess.run([sys.executable, script, out], check=True, capture_output=True, text=True)
    run = ga.open(out)
    assert int(done.stdout) == len(run.certified) > 0
    lost = [row for row in run.calls.to_pylist() if row["failure"] == "lost"]
    assert lost, "calls were in flight when it was killed"
    check_books(run)


def check_books_so_far(run: ga.Run) -> None:
    """A killed run has no outputs yet; its journal can be read all the same."""
    numbers = run.calls["call"]
    assert len(numbers) == len(set(numbers)) > 0
    assert sum(run.calls["cost"]) == pytest.approx(float(run.money.spent))


def test_ctrl_c_stops_drains_and_saves(out: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, script, out], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: journal_is_long(out, 6000))
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode != 0 and "goodarm.errors.Interrupted" in told
    run = ga.open(out)
    assert run.ending == "interrupted: can be resumed"
    # Those that were not sent any more are void; none is lost.
    assert set(run.calls["failure"]) <= {None, "not-connected"}
    check_books(run)


STUCK = """
import pathlib, signal
count = interrupt_count = 0

def stuck():
    global count
    count += 1
    if count > 100:
        time.sleep(600)

def interrupt(number, frame):
    global interrupt_count
    interrupt_count += 1
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)

# Called only while the run is looked after, so that an interrupt is taken for what it means.
def look(state):
    if count > 100:
        pathlib.Path(f"{sys.argv[2]}-{interrupt_count}").touch()

@ga.verifier"""


def test_twice_leaves_calls_behind(out: Path, tmp_path: Path) -> None:
    script, mark = tmp_path / "script.py", tmp_path / "stuck"
    stuck = SCRIPT.replace("@ga.verifier", STUCK).replace("time.sleep(0.002)", "stuck()")
    script.write_text(stuck.replace("progress=False", "progress=look"))
    process = subprocess.Popen([sys.executable, script, out, mark], stderr=subprocess.PIPE, text=True)
    for interrupts in range(2):
        wait_for(mark.with_name(f"stuck-{interrupts}").exists)
        process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert "goodarm.errors.Interrupted: left" in told, told
    assert ga.open(out).money.reserved > 0


def test_a_cancelled_task_drains_and_saves(out: Path) -> None:
    coin = Coin()
    begun = asyncio.Event()

    async def judge(candidate: dict[str, Any]) -> float:
        await asyncio.sleep(0.001)
        if coin.count > 100:
            begun.set()
        return coin(candidate)

    async def main() -> None:
        task = asyncio.create_task(
            ga.arun(candidates=candidates(200), verifiers=[binary(judge)], budget=50_000, delta=0.05,
                    output=out, progress=False)
        )
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    run = ga.open(out)
    assert run.ending == "interrupted: can be resumed"
    assert set(run.calls["failure"]) <= {None, "not-connected"}
    check_books(run)


def test_async_verifiers_are_called_on_the_callers_loop(out: Path) -> None:
    coin = Coin()
    loops: set[Any] = set()

    async def judge(candidate: dict[str, Any]) -> float:
        loops.add(asyncio.get_running_loop())
        return coin(candidate)

    async def main() -> ga.Run:
        loops.clear()
        run = await ga.arun(candidates=candidates(30), verifiers=[binary(judge), binary(Coin(1), name="sync")],
                            budget=20_000, delta=0.05, output=out, progress=False)
        assert loops == {asyncio.get_running_loop()}
        return run

    assert good_ids(asyncio.run(main())) == GOOD


def test_run_works_inside_a_running_loop_and_in_a_thread(out: Path, tmp_path: Path) -> None:
    async def main() -> ga.Run:
        return certify(out, of_async())

    assert good_ids(asyncio.run(main())) == GOOD
    results: list[ga.Run] = []
    thread = threading.Thread(target=lambda: results.append(certify(tmp_path / "other", sync())))
    thread.start()
    thread.join(60)
    assert good_ids(results[0]) == GOOD


def test_a_finished_run_is_taken_up_without_a_call(out: Path) -> None:
    certify(out, sync())

    def judge(candidate: dict[str, Any]) -> float:
        raise AssertionError("nothing is left to ask")

    assert good_ids(certify(out, binary(judge))) == GOOD


def test_a_changed_declaration_is_refused(out: Path) -> None:
    certify(out, sync())
    with pytest.raises(ga.RunError.Changed, match=r"threshold: 0.6 → 0.7"):
        certify(out, binary(Coin(), threshold=0.7))
    with pytest.raises(ga.RunError.Changed, match="content of"):
        certify(out, sync(), candidates=[{"id": "z", "good": 1}])
    with pytest.raises(ga.RunError.AlreadyBegun, match='resume="again"'):
        certify(out, sync(), resume=False)
    with pytest.raises(ga.RunError.NothingToResume):
        certify(out.with_name("none"), sync(), resume=True)
    with pytest.raises(ValueError, match="did you mean \"again\""):
        certify(out, sync(), resume="agian")
    # The pace may change.
    check_books(certify(out, binary(Coin(), concurrency=3, rate=1000.0)))


def test_candidates_in_every_form(tmp_path: Path) -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = candidates(30)
    lines = tmp_path / "answers.jsonl"
    pandas.DataFrame(rows).to_json(lines, orient="records", lines=True)
    frame = polars.DataFrame(rows)
    frame.write_parquet(tmp_path / "answers.parquet")
    forms = {
        "path": lines,
        "text": str(tmp_path / "answers.parquet"),
        "list": rows,
        "generator": (row for row in rows),
        "pandas": pandas.DataFrame(rows),
        "polars": frame,
        "pyarrow": pyarrow.table(frame),
        "nested": pyarrow.table({"id": [r["id"] for r in rows], "good": [r["good"] for r in rows],
                                 "messages": [[{"role": "user", "content": "x"}]] * 30}),
    }
    for name, form in forms.items():
        run = certify(tmp_path / name, sync(), candidates=form)
        assert good_ids(run) == GOOD, name


def test_nothing_in_a_frame_is_null_and_ids_are_made(out: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"answer": ["x", None, "z"], "number": [1.5, float("nan"), 2]})
    seen: dict[str, Any] = {}

    def judge(candidate: dict[str, Any]) -> float:
        seen[candidate["id"]] = candidate
        return 1.0

    run = certify(out, binary(judge), candidates=frame)
    assert len(run.certified) == 3
    assert [row["answer"] for row in seen.values() if row["answer"] is None] == [None]
    assert [row["number"] for row in seen.values() if row["number"] is None] == [None]


@pytest.mark.parametrize(
    ("rows", "expected", "text"),
    [
        ([], ga.CandidatesError, "no candidates"),
        (7, TypeError, "a list of dicts"),
        ([{"id": 1}, 3], TypeError, "candidate 1 is int"),
        ([{"id": "a"}, {"id": "a"}], ga.CandidatesError, "row 2"),
        ([{"id": "a", "x": object()}], TypeError, "candidate 0 is not plain data"),
        ("missing.jsonl", ga.JobError, "missing.jsonl"),
    ],
)
def test_wrong_candidates(rows: Any, expected: type[Exception], text: str, out: Path) -> None:
    with pytest.raises(expected, match=text):
        certify(out, sync(), candidates=rows)
    assert not out.exists()


def test_all_that_is_wrong_with_a_job_is_said_at_once(out: Path) -> None:
    with pytest.raises(ga.JobError) as caught:
        certify(out, binary(Coin(), threshold=2.0), ga.check("regexp", pattern="x"), delta=3, policy="rbc")
    text = str(caught.value)
    assert "delta: 3" in text and 'did you mean "rcb"' in text
    assert 'verifier "judge": threshold: 2 is not strictly between 0 and 1' in text
    assert "regexp" in text and "line" not in text
    with pytest.raises(ga.JobError, match="price"):
        certify(out, sync(), unit="dollars")
    with pytest.raises(ga.JobError, match="budget"):
        certify(out, sync(), budget=None)
    with pytest.raises(TypeError, match="a verifier is made by"):
        certify(out, 7)
    with pytest.raises(ga.JobError, match="two verifiers are called 'a'"):
        certify(out, ga.check("regex", pattern="x", name="a"), ga.check("regex", pattern="y", name="a"))
    with pytest.raises(ValueError, match="batch"):
        binary(Coin(), batch=0)
    with pytest.raises(ga.JobError, match="two verifiers are called 'judge'"):
        certify(out, sync(), sync())
    with pytest.raises(TypeError, match="for goodarm.Session"):
        certify(out, sync(), policy=object())


JOB = """
candidates = "answers.jsonl"
budget = 20000
delta = 0.05
output = "out"

[[verifiers]]
name = "form"
kind = "check"
check = "regex"
pattern = "^answer"

[[verifiers]]
name = "judge"
kind = "llm"
url = "http://127.0.0.1:9/v1"
model = "none"
prompt = "{{ answer }}"
max_tokens = 1
threshold = 0.6
scores = "binary"
price = 1
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(candidates(30)).to_json(tmp_path / "answers.jsonl", orient="records", lines=True)
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return path


def test_a_function_takes_the_place_of_a_job_files_verifier(job: Path) -> None:
    run = ga.run(job, verifiers={"judge": Coin()}, progress=False)
    assert run.path == job.parent / "out"
    assert good_ids(run) == GOOD
    terms = {verifier["name"]: verifier for verifier in run.summary["verifiers"]}
    assert terms["judge"]["kind"] == "python" and terms["judge"]["threshold"] == 0.6
    check_books(run)


def test_what_is_wrong_in_a_job_file_is_said_with_its_line(job: Path) -> None:
    job.write_text(JOB.replace("delta = 0.05", "dleta = 0.05"))
    with pytest.raises(ga.JobError, match=r"job.toml: line 4: dleta.*did you mean `delta`"):
        ga.run(job, verifiers={"judge": Coin()}, progress=False)
    job.write_text(JOB)
    with pytest.raises(ga.JobError, match="threshold"):
        ga.run(job, verifiers={"jugde": Coin()}, progress=False)


def test_progress_is_told_to_a_function(out: Path) -> None:
    seen: list[dict[str, Any]] = []

    def judge(candidate: dict[str, Any]) -> float:
        time.sleep(0.002)
        return float(candidate["good"])

    certify(out, binary(judge), progress=seen.append)
    assert seen and {"certified", "candidates", "calls", "spent", "budget"} <= set(seen[-1])


def test_a_function_that_forks_does_no_harm(out: Path) -> None:
    coin = Coin()
    forked = False

    def judge(candidate: dict[str, Any]) -> float:
        nonlocal forked
        if not forked and coin.count > 20:
            forked = True
            os.fork()
        return coin(candidate)

    run = certify(out, binary(judge, workers=1))
    assert good_ids(run) == GOOD
    check_books(run)
    os.wait()


def test_a_function_that_uses_the_run_it_is_called_from_fails_alone(out: Path) -> None:
    coin = Coin()

    def judge(candidate: dict[str, Any]) -> float:
        if candidate["id"] == "a1":
            certify(out, sync())
        return coin(candidate)

    run = certify(out, binary(judge), budget=3000)
    failed = [row for row in run.calls.to_pylist() if row["failure"]]
    assert {row["id"] for row in failed} == {"a1"}
    assert all("Locked" in row["reply"] for row in failed)
    check_books(run)

"""Verifiers on a real Ray cluster: two nodes beside the head, all on this machine."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

import goodarm as ga

try:
    import ray
    from ray.cluster_utils import Cluster

    import goodarm.ray
except ImportError as error:
    warnings.warn(f"NOTHING OF goodarm.ray IS TESTED: {error}", stacklevel=1)
    pytest.skip(f"nothing of goodarm.ray is tested: {error}", allow_module_level=True)

#: No run of these tests takes so long, and no call, however slowly actors start.
SECONDS_MAX = 240.0


@pytest.fixture(scope="module")
def cluster():
    # Workers cannot import this file: its classes travel with the calls.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE})
    for _ in range(2):
        add_node(cluster)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def add_node(cluster):
    return cluster.add_node(num_cpus=2, object_store_memory=STORE)


def answers(count, wrong_every=2):
    return [{"id": f"a{i}", "answer": str(i), "right": i % wrong_every != 0} for i in range(count)]


def ids(candidates, **wanted):
    return {c["id"] for c in candidates if all(c.get(key) == value for key, value in wanted.items())}


def go(tmp_path, candidates, judge, budget=4000, watch=lambda state: None, **more):
    """A run that is interrupted if it takes too long."""
    begin = time.monotonic()

    def look(state):
        assert time.monotonic() - begin < SECONDS_MAX, state
        watch(state)

    terms = {"delta": 0.05, "output": tmp_path / "run", "progress": look} | more
    return ga.run(candidates=candidates, verifiers=[judge], budget=budget, **terms)


def check_books(run):
    """Budget exact, no call lost or twice, and everything follows from the calls."""
    audit = run.audit()
    assert audit.ok, audit.wrong
    calls, money = run.calls, run.money
    assert sum(Decimal(str(cost)) for cost in calls["cost"]) == money.spent <= money.budget
    assert money.reserved == 0 and money.overrun == 0
    assert sorted(calls["call"]) == list(range(min(calls["call"]), min(calls["call"]) + len(calls["call"])))
    assert len(calls["call"]) == run.summary["calls"]


def failures(run):
    return Counter(run.calls["failure"])


class Judge:
    """Right in nine calls of ten; says on which node it is."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.node = ray.get_runtime_context().get_node_id()

    def __call__(self, candidate):
        time.sleep(self.seconds)
        return ga.Score(float(candidate["right"] != (random.random() < 0.1)), reply=self.node)


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


class Gathered(Judge):
    """The first call is answered at once: before a score the verifier gets no other. Those after it wait
    until every node has one, since the actors of some nodes may start long after the others.
    """

    def __init__(self, folder, nodes, seconds=0.0):
        super().__init__(seconds)
        self.folder = Path(folder)
        self.nodes = nodes

    def __call__(self, candidate):
        is_first = not any(self.folder.iterdir())
        (self.folder / self.node).touch()
        if not is_first:
            wait_for(lambda: len(list(self.folder.iterdir())) >= self.nodes)
        return super().__call__(candidate)


@pytest.fixture
def marks(tmp_path):
    """A folder that actors share with the tests."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def test_two_nodes_certify_the_right_answers(cluster, tmp_path, marks):
    candidates = answers(40)
    judge = ga.ray.verifier(
        Gathered, actors=4, num_cpus=1, args=(marks, 2), threshold=0.6, scores="binary", timeout=SECONDS_MAX
    )
    run = go(tmp_path, candidates, judge)
    check_books(run)
    assert set(run.certified["id"]) == ids(candidates, right=True)
    assert set(failures(run)) == {None}
    assert len(set(run.calls["reply"])) == 2, "both nodes made calls"


class Doomed(Gathered):
    """On one node, calls do not end any more once a file is there."""

    def __init__(self, folder, nodes, doomed, hold, held):
        super().__init__(folder, nodes, seconds=0.02)
        self.is_doomed = self.node == doomed
        self.hold, self.held = hold, held

    def __call__(self, candidate):
        if self.is_doomed and self.hold.exists():
            self.held.touch()
            time.sleep(3600)
        return super().__call__(candidate)


def test_a_node_is_killed_in_the_middle(cluster, tmp_path, marks):
    doomed = add_node(cluster)
    candidates = answers(40)
    hold, held = tmp_path / "hold", tmp_path / "held"
    seen = []

    def kill(state):
        if state["calls"] > 60 and not seen:
            seen.append(state["calls"])
            hold.touch()
            wait_for(held.exists)
            cluster.remove_node(doomed, allow_graceful=False)

    # Two on each node, for all of the run.
    judge = ga.ray.verifier(
        Doomed, actors=6, num_cpus=1, args=(marks, 3, doomed.node_id, hold, held), threshold=0.6, scores="binary",
        concurrency=48, timeout=SECONDS_MAX,
    )
    run = go(tmp_path, candidates, judge, watch=kill)
    check_books(run)
    assert seen and run.summary["calls"] > seen[0], "it was in the middle"
    assert failures(run)["lost"] > 0
    assert set(failures(run)) == {None, "lost"}
    assert set(run.certified["id"]) == ids(candidates, right=True)


class Fragile(Judge):
    """Dies of some answers, and writes down every call before it does."""

    def __init__(self, folder):
        super().__init__()
        self.log = open(Path(folder) / str(os.getpid()), "a", buffering=1)

    def __call__(self, candidate):
        self.log.write(candidate["id"] + "\n")
        if candidate.get("deadly"):
            os._exit(1)
        return super().__call__(candidate)


def test_an_actor_that_dies_of_some_answers(cluster, tmp_path):
    candidates = [c | {"deadly": i in (5, 11)} for i, c in enumerate(answers(16))]
    log = tmp_path / "log"
    log.mkdir()
    judge = ga.ray.verifier(Fragile, actors=2, args=(str(log),), threshold=0.6, scores="binary")
    run = go(tmp_path, candidates, judge, budget=1500)
    check_books(run)
    assert set(run.certified["id"]) <= ids(candidates, right=True, deadly=False)
    assert len(run.certified["id"]) >= 4
    lost = [id for id, failure in zip(run.calls["id"], run.calls["failure"]) if failure == "lost"]
    assert ids(candidates, deadly=True) <= set(lost)
    # Every execution is a call of the journal's, and only lost calls may have none.
    made = Counter(line for file in log.iterdir() for line in file.read_text().split())
    asked, scored = Counter(run.calls["id"]), Counter(run.calls["id"]) - Counter(lost)
    assert made <= asked and scored <= made


class Hopeless:
    def __init__(self):
        raise LookupError("there is no such model")

    def __call__(self, candidate):
        return 1.0


def test_a_constructor_that_always_raises(cluster, tmp_path):
    judge = ga.ray.verifier(Hopeless, actors=2, threshold=0.6, patience=2)
    with pytest.raises(ga.VerifierDown, match="LookupError: there is no such model") as stopped:
        go(tmp_path, answers(4), judge)
    run = stopped.value.run
    assert run.audit().ok and run.money.spent == 0, "nothing was begun"


class Picky(Judge):
    """Raises for some answers, and begins its work only at the second try."""

    asked = 0

    def __call__(self, candidate):
        self.asked += 1
        if self.asked == 1:
            raise ga.Void("still warm", retry_after=0.01)
        if candidate["id"] == "a3":
            raise KeyError("no rubric for this one")
        return super().__call__(candidate)


def test_exceptions_count_and_voids_do_not(cluster, tmp_path):
    candidates = answers(10)
    judge = ga.ray.verifier(Picky, actors=1, threshold=0.6, scores="binary")
    run = go(tmp_path, candidates, judge, budget=1000)
    check_books(run)
    assert set(run.certified["id"]) == ids(candidates, right=True) - {"a3"}
    rows = list(zip(run.calls["id"], run.calls["failure"], run.calls["reason"], run.calls["reply"]))
    crashed = [row for row in rows if row[1] == "crashed"]
    assert crashed and {row[0] for row in crashed} == {"a3"}
    assert all("no rubric for this one" in row[2] and "Traceback" in row[3] for row in crashed)
    assert set(failures(run)) == {None, "crashed"}


class Sleeper:
    """Hangs in every call about one answer, and is never mistaken about the others; says who it is."""

    def __call__(self, candidate):
        if candidate["id"] == "a1":
            time.sleep(3600)
        return ga.Score(float(candidate["right"]), reply=str(os.getpid()))


def test_an_actor_that_hangs_is_replaced(cluster, tmp_path):
    candidates = answers(4)
    # Long enough that on a busy machine only those time out that hang, or wait behind one that does.
    judge = ga.ray.verifier(Sleeper, actors=1, threshold=0.6, scores="binary", timeout=5, concurrency=4)
    run = go(tmp_path, candidates, judge, budget=300)
    check_books(run)
    outcomes = list(zip(run.calls["id"], run.calls["failure"], run.calls["reply"]))
    assert ("a1", "timed-out") in {(id, failure) for id, failure, _ in outcomes}
    assert len({actor for _, failure, actor in outcomes if failure is None}) > 1, "another took its place"
    assert "a1" not in run.certified["id"] and "a3" in run.certified["id"]


class Many:
    """A batched one; an async one below."""

    def __call__(self, candidates):
        assert isinstance(candidates, list) and len(candidates) <= 8
        return [c["right"] for c in candidates]


class Awaited:
    async def __call__(self, candidate):
        await asyncio.sleep(0.001)
        return candidate["right"]


def plain(candidate):
    return candidate["right"]


@pytest.mark.parametrize(("judge", "batch"), [(Many, 8), (Awaited, None), (plain, None)])
def test_batched_async_and_plain(cluster, tmp_path, judge, batch):
    candidates = answers(20)
    judge = ga.ray.verifier(judge, actors=1, batch=batch, threshold=0.6, scores="binary")
    run = go(tmp_path, candidates, judge, budget=1000)
    check_books(run)
    assert set(run.certified["id"]) == ids(candidates, right=True)
    assert set(failures(run)) == {None}


DRIVER = """
import sys, time
import ray
import goodarm as ga, goodarm.ray

class Slow:
    def __call__(self, candidate):
        time.sleep(0.01)
        return candidate["right"]

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 * 2**20)
candidates = [{"id": f"a{i}", "answer": str(i), "right": i % 2 == 1} for i in range(40)]
judge = ga.ray.verifier(Slow, actors=2, threshold=0.6, scores="binary", concurrency=12)
ga.run(candidates=candidates, verifiers=[judge], budget=2000, delta=0.05, output=sys.argv[1],
       progress=lambda state: print(state["calls"], flush=True))
"""


def test_the_driver_is_killed_and_resumed_in_a_new_session(tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-c", DRIVER, str(folder)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    for line in driver.stdout:
        if int(line) >= 50:
            break
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = ga.open(folder)
    assert before.ending is None and len(before.calls) >= 50
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=SECONDS_MAX)
    run = ga.open(folder)
    check_books(run)
    assert run.ending is not None
    assert 0 < failures(run)["lost"] <= 24, "what was in flight, and no more"
    assert set(run.certified["id"]) == {f"a{i}" for i in range(1, 40, 2)}
    scores = dict(zip(run.calls["call"], run.calls["score"]))
    kept = zip(before.calls["call"], before.calls["score"])
    assert all(scores[call] == score for call, score in kept), "what was answered is what it was"


def test_the_page_works_and_goes_on_without_ray(cluster, tmp_path):
    page = Path(__file__).parents[3] / "docs" / "how-to" / "ray.md"
    program = page.read_text().split("```python file=judge_on_ray.py\n")[1].split("```")[0]
    script = tmp_path / "judge_on_ray.py"
    script.write_text(program)
    where = os.environ | {"RAY_ADDRESS": cluster.address}
    printed = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=where, check=True, timeout=SECONDS_MAX, stdout=subprocess.PIPE
    ).stdout.decode()
    assert "15 of 20 answers certified" in printed and "audit: ok" in printed
    names: dict = {"__name__": "page"}
    exec(program, names)
    # The same terms without Ray: to the journal it is the same verifier.
    terms = {"threshold": 0.6, "scores": "binary", "concurrency": names["judge"].concurrency}
    judge = ga.verifier(names["Judge"](0.1), name="Judge", **terms)
    run = ga.run(candidates=names["answers"], verifiers=[judge], budget=2100, delta=0.05, output=tmp_path / "run")
    check_books(run)


def test_what_would_repeat_calls_is_refused():
    for option in ("max_restarts", "max_task_retries"):
        with pytest.raises(ValueError, match=option):
            ga.ray.verifier(Judge, actors=1, threshold=0.6, **{option: 3})


def test_mistakes_are_found_when_they_are_made():
    with pytest.raises(ValueError, match="num_gpu"):
        ga.ray.verifier(Judge, actors=1, num_gpu=1)
    with pytest.raises(ValueError, match="actors"):
        ga.ray.verifier(Judge, actors=0)
    with pytest.raises(ValueError, match="constructor of a class"):
        ga.ray.verifier(plain, actors=1, args=(1,))


def test_options_and_defaults():
    judge = ga.ray.verifier(Judge, actors=8, options={"num_cpus": 2}, resources={"big": 1}, threshold=0.6)
    assert judge.name == "Judge" and judge.concurrency == 8 * 2 * 64
    assert ga.ray.verifier(Many, actors=4, batch=16).concurrency == 4 * 2 * 16
    assert ga.ray.verifier(plain, actors=1)({"right": True}) is True


def test_ray_is_imported_only_when_asked_for():
    code = "import sys, goodarm; assert 'ray' not in sys.modules and not hasattr(goodarm, 'ray')"
    subprocess.run([sys.executable, "-c", code], check=True)


STORE = 80 * 2**20

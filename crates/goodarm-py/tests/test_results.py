"""What a run's folder holds, as tables and for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Coin, candidates

import goodarm as ga


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ga.Run:
    rows = candidates(30)
    rows[1]["answer"] = "<script>alert(1)</script>"
    judge = ga.verifier(Coin(), name="judge <i>", threshold=0.6, scores="binary")
    return ga.run(candidates=rows, verifiers=[judge], budget=20_000, delta=0.05,
                  output=tmp_path_factory.mktemp("results") / "run", progress=False)


def test_tables_go_to_every_library(run: ga.Run) -> None:
    polars, pandas, pyarrow = (pytest.importorskip(name) for name in ("polars", "pandas", "pyarrow"))
    calls = run.calls
    frames = [polars.DataFrame(calls), calls.to_polars(), calls.to_pandas(), calls.to_arrow(), pyarrow.table(calls)]
    for frame in frames:
        assert frame.shape == (len(calls), len(calls.column_names))
    assert list(calls.to_pandas()["cost"]) == calls["cost"] == polars.DataFrame(calls)["cost"].to_list()
    assert list(calls.to_numpy("call")) == calls["call"]
    assert calls.row(0) == calls.to_pylist()[0]


def test_a_job_file_with_questions(tmp_path: Path) -> None:
    job = REPOSITORY / "examples" / "capitals" / "questions.toml"
    states: list[dict[str, Any]] = []
    run = ga.run(job, output=tmp_path / "run", progress=states.append)
    questions = run.summary["questions"]
    assert questions["count"] == 48 and questions["answered"] == len(run.certified) > 20
    assert len(set(run.certified["question_id"])) == len(run.certified), "one for each question"
    calls = run.calls.to_pylist()
    made = [call for call in calls if call["verifier"] == "generator"]
    assert made and all(call["question"] and call["id"] == "" for call in made)
    assert run.audit().ok
    assert "of 48 questions answered" in repr(run) and "of 48 questions answered" in run._repr_html_()
    assert states[-1]["questions"] == 48
    assert ga.run(job, output=tmp_path / "run", progress=False).summary == run.summary, "it is done"


def test_answers_are_all_there_once(run: ga.Run) -> None:
    pytest.importorskip("numpy")
    parts = [run.certified["id"], run.undecided["id"], run.rejected["id"]]
    assert sorted(sum(parts, [])) == sorted(run.answers["id"])
    spent = run.answers.to_numpy("goodarm.judge <i>.spent").sum()
    assert spent == pytest.approx(float(run.money.spent))
    assert [row["goodarm.rank"] for row in run.certified.to_pylist()] == list(range(1, len(run.certified) + 1))


def test_wrong_columns_and_rows_are_named(run: ga.Run) -> None:
    with pytest.raises(KeyError, match="did you mean"):
        run.calls["scroe"]
    with pytest.raises(IndexError):
        run.calls.row(10**9)


def test_money_audit_report_and_text(run: ga.Run, tmp_path: Path) -> None:
    assert run.money.spent + run.money.left == run.money.budget
    audit = run.audit()
    assert audit and audit.ok and audit.checked and not audit.wrong
    assert all(isinstance(note, str) for note in audit.notes)
    assert run.report().read_text().startswith("<!")
    assert run.report(tmp_path / "page.html") == tmp_path / "page.html"
    assert "certified" in run.text


def test_damage_is_found(run: ga.Run, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run.path, copy)
    text = (copy / "summary.json").read_text()
    (copy / "summary.json").write_text(text.replace('"certified":', '"certified": 1, "was":', 1))
    assert not ga.open(copy).audit().ok
    journal = bytearray((copy / "journal").read_bytes())
    journal[len(journal) // 2] ^= 1
    (copy / "journal").write_bytes(journal)
    with pytest.raises(ga.Error):
        _ = ga.open(copy).summary


def test_what_a_notebook_shows_is_escaped_and_loads_nothing(run: ga.Run) -> None:
    page = run._repr_html_()
    assert "<script" not in page and "<script" not in run.answers._repr_html_()
    assert "&lt;script&gt;" in run.answers._repr_html_() and "judge &lt;i&gt; ≥ 0.6" in page
    assert "judge <i>" not in page
    for loading in ("src=", "href=", "url(", "@import", "http:", "https:"):
        assert loading not in page
    assert f"{len(run.certified)} of 30 answers certified" in page


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no run"):
        ga.open(tmp_path)


def test_repr_says_what_matters(run: ga.Run) -> None:
    assert f"{len(run.certified)} of 30 answers certified" in repr(run)
    assert "rows of call, id" in repr(run.calls)


def test_labels_prove_how_many_are_right(tmp_path: Path) -> None:
    short = ga.verifier(lambda candidate: True, name="passes", threshold=0.5, scores="exact")
    run = ga.run(candidates=candidates(20), verifiers=[short], budget=100, delta=0.05,
                 output=tmp_path / "run", progress=False)
    assert run.claim is None and "claim" not in run.summary
    first, second = run.cards(2, by="Ann")
    assert set(first) == {"id", "fields", "evidence"} and "answer" in first["fields"]
    assert first["evidence"]["passes"].startswith("mean 1.000 of 1 call")
    assert run.label([True], by="Ann") == 1
    # What is behind the first gap waits; what has its label is passed over.
    ids = [card["id"] for card in run.cards(20, by="Ann")]
    assert ids[0] == second["id"] and first["id"] not in ids
    assert run.label({first["id"]: True, ids[0]: True, ids[1]: None, ids[3]: True}, by="Ann") == 2
    assert run.label({ids[5]: True}, by="Ann") == 0
    claim = run.reload().claim
    assert claim is not None and (claim.answers, claim.labels, claim.right, claim.skipped) == (20, 3, 2, 1)
    assert claim.statement in run.text.lower() and run.audit().ok
    with pytest.raises(ga.CardQueueError.Unknown, match="nobody"):
        run.label({"nobody": True}, by="Ann")
    with pytest.raises(ga.CardQueueError.Unfit):
        run.label([True] * 20, by="Ann")
    with pytest.raises(ga.CardQueueError.Unfit, match="name"):
        run.label([True], by=" ")
    with pytest.raises(ga.LabelError.OtherTerms, match="delta"):
        run.label([True], by="Ann", delta=0.01)
    assert run.label([True] * 17, by="Bob") == 17
    claim = run.reload().claim
    assert claim is not None and (claim.at_least, claim.at_most, claim.share) == (19, 20, 0.95)

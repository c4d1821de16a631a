"""What a run's folder holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from ._native import Results, Table

#: How a run can end, as `ending.name` in summary.json.
EndingName = Literal[
    "budget-used-up",
    "calls-used-up",
    "done",
    "finished-early",
    "stopped",
    "waits-for-people",
    "verifier-down",
    "never-worked",
    "mistrusted",
]


class Money(NamedTuple):
    """Where the money of a run is: exact decimals, in `unit`."""

    unit: str
    budget: Decimal
    spent: Decimal
    reserved: Decimal
    left: Decimal
    spent_on_failures: Decimal
    #: The sum of all bills above their ceilings, less the ceilings.
    overrun: Decimal
    #: The number of bills above their ceilings. Only these can spend more than the budget.
    overruns: int


class Claim(NamedTuple):
    """What labels by people prove about the certified answers; `run.summary["claim"]` has the rest."""

    #: The claim in a sentence.
    statement: str
    #: How many answers it is about: those that were certified when the labels began.
    answers: int
    #: How many of them are right, at least.
    at_least: int
    #: How many of them are right, at most. Each bound has the confidence 1 - delta on its own.
    at_most: int
    #: `at_least` as a share, rounded down.
    share: float
    #: Upper bound on the probability that any claim of the run is false at any time: the sum over all that have begun.
    delta: float
    #: Answers that count. An answer counts when it and all answers before it are fully labelled.
    labels: int
    right: int
    wrong: int
    #: People could not tell; counts as wrong in `at_least`, and as right in `at_most`.
    skipped: int


class Audit(NamedTuple):
    """Every certificate and the ledger, computed again from the raw calls."""

    #: Checks that passed.
    checked: list[str]
    #: Failed checks: the first 20, and a line if the run is unfinished.
    wrong: list[str]
    #: How many checks failed in all; an unfinished run counts as one.
    wrong_count: int
    #: What a reader should know: files that have changed since, an outdated page, doubts.
    notes: list[str]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return self.wrong_count == 0

    def __bool__(self) -> bool:
        return self.ok


class Run:
    """A run's folder, read: its answers, its calls, its money. Made by `goodarm.open`, `goodarm.run`
    and `goodarm.arun`. Each property is read from the journal once; `reload()` reads it again.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._results = Results(Path(path))

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self._results.path)

    def reload(self) -> Run:
        """The run as it is now."""
        return Run(self.path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The totals; docs/outputs.md describes the keys."""
        summary: dict[str, Any] = json.loads(self._results.summary())
        return summary

    @cached_property
    def money(self) -> Money:
        """Where the money is."""
        money = self.summary["money"]
        names = ("budget", "spent", "reserved", "left", "spent_on_failures", "overrun")
        amounts = {name: Decimal(str(money[name])) for name in names}
        return Money(unit=money["unit"], overruns=money["overruns"], **amounts)

    @property
    def claim(self) -> Claim | None:
        """What labels prove about the certified answers; None before the first label."""
        claim = self.summary.get("claim")
        return None if claim is None else Claim(*(claim[key] for key in Claim._fields))

    def cards(self, count: int = 1, *, by: str) -> list[dict[str, Any]]:
        """The next answers that wait for a label by this person, in the order that was drawn when the claim
        began: `id`, `fields` to judge by, and the verifiers' `evidence`, which should not be shown before a label.
        """
        cards: list[dict[str, Any]] = json.loads(self._results.cards(by, count))
        return [
            {
                "id": card["id"],
                "fields": {field["name"]: field["text"] for field in card["fields"]},
                "evidence": {field["name"]: field["text"] for field in card["evidence"]},
            }
            for card in cards
        ]

    def label(
        self,
        said: Mapping[str, bool | None] | Iterable[bool | None],
        *,
        by: str,
        delta: float | None = None,
        labels: int | None = None,
    ) -> int:
        """Labels certified answers: True (right), False (wrong), or None (cannot tell), which counts as
        wrong. A list is about the next cards, in their order. With a mapping from ids, labels are
        taken in the order that was drawn, up to the first answer without a label. Returns how many were
        taken; the claim is in `reload().claim`.

        The terms of a claim are fixed when it begins, here or in `cards`: `delta` (0.05), and how many `labels` an
        answer gets, by different people (1). It is right if all of them say so.
        """
        pairs: list[tuple[str | None, bool | None]]
        pairs = list(said.items()) if isinstance(said, Mapping) else [(None, value) for value in said]
        return self._results.label(by, pairs, (delta, labels))

    @cached_property
    def certified(self) -> Table:
        """The certified answers with their evidence, in the order of their certificates."""
        return self._results.answers("certified")

    @cached_property
    def undecided(self) -> Table:
        """The answers that are neither certified nor rejected."""
        return self._results.answers("undecided")

    @cached_property
    def rejected(self) -> Table:
        """Answers that failed a check, or with evidence against them."""
        return self._results.answers("rejected")

    @cached_property
    def answers(self) -> Table:
        """All answers, in the order of the candidates."""
        return self._results.answers()

    @cached_property
    def calls(self) -> Table:
        """Every call that came back; the columns are those of `calls.jsonl`, costs as floats."""
        return self._results.calls()

    @property
    def ending(self) -> str | None:
        """How the run ended, in a sentence; None while it runs, or after a crash."""
        ending = self.summary["ending"]
        return None if ending is None else str(ending["sentence"])

    @property
    def ending_name(self) -> EndingName | None:
        """How the run ended, by name, for programs; None while it runs, or after a crash."""
        ending = self.summary["ending"]
        return None if ending is None else cast(EndingName, ending["name"])

    @property
    def text(self) -> str:
        """The report as text."""
        return self._results.text()

    def audit(self) -> Audit:
        """Computes every certificate and the ledger again."""
        return Audit(*self._results.audit())

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the report, into the run's folder if no path is given, and returns its path."""
        return Path(self._results.write_report(None if path is None else Path(path)))

    def __repr__(self) -> str:
        if "_results" not in self.__dict__:
            return "<Run>"
        s, money = self.summary, self.money
        return (
            f"<Run {str(self.path)!r}: {_headline(s)}, "
            f"{money.spent.normalize():f} of {money.budget.normalize():f} {money.unit} spent, {s['calls']} calls>"
        )

    def _repr_html_(self) -> str:
        """The headline, the money and the answers, for a notebook: escaped, and nothing is loaded."""
        s, money = self.summary, self.money
        amounts = [("spent", money.spent), ("left", money.left), ("budget", money.budget)]
        spent = ", ".join(f"{name} {amount.normalize():,f}" for name, amount in amounts)
        doubt = f"<p><b>{_escaped(s['doubt'])}</b></p>" if s.get("doubt") else ""
        return (
            f"<div style='overflow-x:auto'><h4>{_headline(s)}</h4>"
            f"<p>{_escaped(s['promise'])}</p>{doubt}"
            f"<p>{_escaped(money.unit.capitalize())}: {spent}; {s['calls']:,} calls.</p>"
            f"{self._answers_html()}</div>"
        )

    def _answers_html(self) -> str:
        """The first answers, the certified ones first: of each verifier the mean score and the calls."""
        verifiers = [(verifier["name"], verifier["threshold"]) for verifier in self.summary["verifiers"]]
        heads = ["answer", "status", *(f"{name} ≥ {threshold:g}" for name, threshold in verifiers)]
        rows: list[list[object]] = []
        for table in (self.certified, self.undecided, self.rejected):
            for index in range(min(len(table), ROWS_SHOWN - len(rows))):
                row = table.row(index)
                cells = [row[_added_column(row, "id")], row[_added_column(row, "status")]]
                for name, _ in verifiers:
                    mean, calls = row[_added_column(row, f"{name}.mean")], row[_added_column(row, f"{name}.calls")]
                    cells.append("" if mean is None else f"{mean:.3f} ({calls})")
                rows.append(cells)
        more = self.summary["candidates"] - len(rows)
        body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in cells)}</tr>" for cells in rows)
        head = "".join(_cell("th", head) for head in heads)
        rest = f"<p>and {more:,} more: see certified, undecided and rejected</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _headline(summary: dict[str, Any]) -> str:
    questions = summary.get("questions")
    if questions:
        return f"{questions['answered']:,} of {questions['count']:,} questions answered"
    return f"{summary['certified']:,} of {summary['candidates']:,} answers certified"


def _added_column(row: dict[str, Any], what: str) -> str:
    """The name of a column that goodarm adds: the last one, since a candidate may have a field of that name."""
    names = [name for name in row if name == f"goodarm.{what}" or name.startswith(f"goodarm.{what}_")]
    return names[-1] if names else what


def _escaped(text: str) -> str:
    import html  # only where something is shown

    return html.escape(text)


def _cell(kind: str, value: object) -> str:
    text = str(value)
    short = text if len(text) <= CHARACTERS_SHOWN else text[:CHARACTERS_SHOWN] + "…"
    return f"<{kind} style='text-align:left'>{_escaped(short)}</{kind}>"


ROWS_SHOWN = 20
CHARACTERS_SHOWN = 80


def open(path: str | os.PathLike[str]) -> Run:
    """Opens a run's folder, also during the run or after a crash."""
    return Run(path)

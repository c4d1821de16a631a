"""Every error variant of the Rust crates is an exception class of its own."""

from __future__ import annotations

import re

import pytest
from conftest import REPOSITORY

import goodarm as ga
from goodarm import errors

SOURCES = {
    "SpecError": "goodarm-core/src/problem.rs",
    "CostError": "goodarm-core/src/cost.rs",
    "PolicyError": "goodarm-core/src/policy.rs",
    "TellError": "goodarm-core/src/books/settle.rs",
    "LendError": "goodarm-core/src/books/lending.rs",
    "AddArmsError": "goodarm-core/src/books/lending.rs",
    "ReplayError": "goodarm-core/src/session.rs",
    "CandidatesError": "goodarm-data/src/candidates/error.rs",
    "RunError": "goodarm-record/src/run_error.rs",
    "HistoryError": "goodarm-record/src/history.rs",
    "OutputError": "goodarm-record/src/outputs.rs",
    "LabelError": "goodarm-record/src/labels.rs",
    "CardQueueError": "goodarm-record/src/card_queue.rs",
    "ReportError": "goodarm-report/src/report.rs",
    "ExportError": "goodarm-report/src/export.rs",
}

# Enums that have another name in Rust.
RUST_NAMES = {
    "CandidatesError": "CandidatesErrorKind",
    "TellError": "SettleError",
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_variant_has_its_class(name: str) -> None:
    text = (REPOSITORY / "crates" / SOURCES[name]).read_text()
    rust = RUST_NAMES.get(name, name)
    body = text.split(f"pub enum {rust} {{")[1].split("\n}")[0]
    variants = re.findall(r"^    ([A-Z]\w+)(?: \{|\(|,)", body, re.MULTILINE)
    assert variants
    # Those of a score are those of what is wrong with it.
    if name == "TellError":
        variants.remove("Score")
        variants += ["NotANumber", "NotBinary", "BelowLowest"]
        # A call is an object only in Python.
        variants.append("OtherSession")
    # Wherever a journal cannot be replayed, the class says why.
    if "Replay" in variants:
        variants.remove("Replay")
        variants += ["History", "Mismatch"]
    base = getattr(errors, name)
    for variant in variants:
        assert issubclass(getattr(base, variant), base), f"{name}.{variant}"
    annotated = [key for key in base.__annotations__ if key[0].isupper()]
    assert sorted(annotated) == sorted(variants), "no class without a variant"


def test_all_are_below_one() -> None:
    for name in SOURCES:
        assert issubclass(getattr(ga, name), ga.Error)
    assert issubclass(ga.SpecError, ValueError)
    assert issubclass(ga.Interrupted, KeyboardInterrupt)
    assert ga.RunError.Changed.__qualname__ == "RunError.Changed"

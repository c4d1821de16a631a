"""Exceptions. `Error` is the base class, except for `Interrupted` (a `KeyboardInterrupt`). A class such as
`RunError` has a subclass for each cause, as an attribute: `except goodarm.RunError.AlreadyBegun`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._results import Run


def _doc(text: str) -> Any:
    """The docstring of a subclass that `_make_variants` makes."""
    return text


class Error(Exception):
    """The base class of goodarm's errors."""


class SpecError(Error, ValueError):
    """A session cannot be made of these arms, verifiers, budget and delta."""

    Arms: ClassVar[type[SpecError]]
    Attributes: ClassVar[type[SpecError]]
    NameTaken: ClassVar[type[SpecError]]
    Price: ClassVar[type[SpecError]]
    PriceZero: ClassVar[type[SpecError]]
    Expected: ClassVar[type[SpecError]]
    Threshold: ClassVar[type[SpecError]]
    Range: ClassVar[type[SpecError]]
    Sigma: ClassVar[type[SpecError]]
    Lowest: ClassVar[type[SpecError]]
    Delta: ClassVar[type[SpecError]]
    Budget: ClassVar[type[SpecError]]
    BudgetZero: ClassVar[type[SpecError]]
    Design: ClassVar[type[SpecError]] = _doc("Questions, votes, generators or shared calls do not fit together.")


class CostError(Error, ValueError):
    """This is not an amount of money."""

    NotAnAmount: ClassVar[type[CostError]]
    TooLarge: ClassVar[type[CostError]]
    NotADecimal: ClassVar[type[CostError]]


class PolicyError(Error, ValueError):
    """A policy cannot be made."""

    Unknown: ClassVar[type[PolicyError]]
    AllocationConstant: ClassVar[type[PolicyError]]
    MeansMissing: ClassVar[type[PolicyError]]


class AskError(Error):
    """A policy asked for a call that may not be made, or broke another rule."""


class TellError(Error, ValueError):
    """A score or failure cannot be recorded; nothing has changed."""

    NotOutstanding: ClassVar[type[TellError]]
    OtherReply: ClassVar[type[TellError]] = _doc("The call was asked for another kind of outcome.")
    OtherSession: ClassVar[type[TellError]] = _doc("Another session has asked for the call.")
    NotANumber: ClassVar[type[TellError]]
    NotBinary: ClassVar[type[TellError]]
    BelowLowest: ClassVar[type[TellError]]


class LendError(Error, ValueError):
    """A share of delta cannot be lent or revoked."""

    NotLending: ClassVar[type[LendError]]
    NoSuchArm: ClassVar[type[LendError]]
    ArmLeft: ClassVar[type[LendError]]
    AlreadyLent: ClassVar[type[LendError]]
    NothingLent: ClassVar[type[LendError]]
    NotInPool: ClassVar[type[LendError]]


class AddArmsError(Error, ValueError):
    """Arms cannot be added."""

    NotLending: ClassVar[type[AddArmsError]]
    Questions: ClassVar[type[AddArmsError]]
    Full: ClassVar[type[AddArmsError]]


class ReplayError(Error, ValueError):
    """Events cannot be replayed."""

    Diverged: ClassVar[type[ReplayError]]
    Refused: ClassVar[type[ReplayError]]


class CandidatesError(Error, ValueError):
    """Candidates cannot be used."""

    Read: ClassVar[type[CandidatesError]]
    UnknownFormat: ClassVar[type[CandidatesError]]
    Empty: ClassVar[type[CandidatesError]]
    Document: ClassVar[type[CandidatesError]]
    NoIdColumn: ClassVar[type[CandidatesError]]
    Faults: ClassVar[type[CandidatesError]]


class JobError(Error, ValueError):
    """Everything that is wrong with a job, each on a line of its own."""


class RunError(Error):
    """A run cannot begin or continue. Its journal is kept."""

    AlreadyBegun: ClassVar[type[RunError]]
    OutputIsFile: ClassVar[type[RunError]]
    InTheWay: ClassVar[type[RunError]] = _doc("The folder holds a file of a run whose journal is gone.")
    NothingToResume: ClassVar[type[RunError]]
    Locked: ClassVar[type[RunError]]
    File: ClassVar[type[RunError]]
    Journal: ClassVar[type[RunError]]
    NotDurable: ClassVar[type[RunError]]
    Replies: ClassVar[type[RunError]]
    Labels: ClassVar[type[RunError]]
    Terms: ClassVar[type[RunError]]
    Output: ClassVar[type[RunError]]
    OlderJournal: ClassVar[type[RunError]]
    Changed: ClassVar[type[RunError]]
    Diverged: ClassVar[type[RunError]]
    Policy: ClassVar[type[RunError]]


class HistoryError(Error):
    """A journal cannot be read."""

    Journal: ClassVar[type[HistoryError]]
    Terms: ClassVar[type[HistoryError]]
    Inconsistent: ClassVar[type[HistoryError]]
    NeverBegun: ClassVar[type[HistoryError]]
    Decisions: ClassVar[type[HistoryError]]
    TooManyCandidates: ClassVar[type[HistoryError]]
    Call: ClassVar[type[HistoryError]]


class ReportError(Error):
    """A report cannot be made."""

    History: ClassVar[type[ReportError]]
    Mismatch: ClassVar[type[ReportError]]
    Labels: ClassVar[type[ReportError]]
    Output: ClassVar[type[ReportError]]


class LabelError(Error):
    """A run cannot be labelled, or its claim cannot be computed."""

    History: ClassVar[type[LabelError]]
    Mismatch: ClassVar[type[LabelError]]
    Candidates: ClassVar[type[LabelError]]
    NothingCertified: ClassVar[type[LabelError]]
    Labels: ClassVar[type[LabelError]]
    OtherRun: ClassVar[type[LabelError]]
    Older: ClassVar[type[LabelError]]
    OtherTerms: ClassVar[type[LabelError]]
    Terms: ClassVar[type[LabelError]]
    Output: ClassVar[type[LabelError]]
    Lock: ClassVar[type[LabelError]]


class CardQueueError(Error, ValueError):
    """A label cannot be recorded; nothing has changed."""

    Unknown: ClassVar[type[CardQueueError]]
    Doubled: ClassVar[type[CardQueueError]] = _doc("This person has labelled the answer already.")
    OutOfOrder: ClassVar[type[CardQueueError]]
    Unfit: ClassVar[type[CardQueueError]] = _doc("The labels, the name or the terms do not fit the cards.")
    Folder: ClassVar[type[CardQueueError]]
    File: ClassVar[type[CardQueueError]]
    History: ClassVar[type[CardQueueError]]
    Mismatch: ClassVar[type[CardQueueError]]


class ExportError(Error):
    """A table of answers cannot be made."""

    NoCandidates: ClassVar[type[ExportError]]
    NoField: ClassVar[type[ExportError]]
    Folder: ClassVar[type[ExportError]]
    Output: ClassVar[type[ExportError]]


class OutputError(Error):
    """A file of a run cannot be written."""

    File: ClassVar[type[OutputError]]
    History: ClassVar[type[OutputError]]
    Mismatch: ClassVar[type[OutputError]]


class PlanError(Error, ValueError):
    """A plan cannot be made."""

    Text: ClassVar[type[PlanError]]
    Recording: ClassVar[type[PlanError]]
    NoAnswers: ClassVar[type[PlanError]]
    Key: ClassVar[type[PlanError]] = _doc("A key has a value that cannot be used.")
    Trial: ClassVar[type[PlanError]]
    Cancelled: ClassVar[type[PlanError]]
    RecordingOfQuestions: ClassVar[type[PlanError]]


class Stopped(Error):
    """A run stopped before it was done. Everything is saved; `run` has the results so far."""

    run: Run

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


class VerifierDown(Stopped):
    """A verifier was down for longer than its patience: the run can be resumed."""


class NeverScored(Stopped):
    """A verifier has never given a score, or its replies cannot be trusted: fix it and begin again."""


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C, or waits for people. Everything is saved; `run` has the results so far."""

    run: Run

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def _make_variants() -> None:
    """Makes the subclasses that the classes above declare."""
    for base in list(globals().values()):
        if isinstance(base, type) and issubclass(base, Error):
            for name, kind in base.__dict__.get("__annotations__", {}).items():
                if str(kind).startswith("ClassVar"):
                    qualified = f"{base.__qualname__}.{name}"
                    doc = base.__dict__.get(name)
                    body = {"__module__": __name__, "__qualname__": qualified, "__doc__": doc}
                    setattr(base, name, type(name, (base,), body))


_make_variants()

"""Certify as many LLM answers as a verification budget can buy.

Answers have several noisy verifiers of very different price. goodarm decides, call by call, which
answer to check with which verifier next, and certifies the answers whose mean score reaches every
verifier's threshold: with probability at least 1 - delta no certificate is wrong. Spending
stays within the budget, unless a bill exceeds its declared ceiling.

>>> import goodarm as ga, tempfile
>>> @ga.verifier(threshold=0.5, scores="exact")
... def is_short(candidate):
...     return len(candidate["answer"]) < 20
>>> answers = [{"id": "a", "answer": "Paris"}, {"id": "b", "answer": "Paris, I am rather sure, but who knows"}]
>>> run = ga.run(candidates=answers, verifiers=[is_short], budget=10, delta=0.05,
...              output=tempfile.mkdtemp() + "/run")
>>> run.certified["id"], run.rejected["id"]
(['a'], ['b'])
"""

from . import errors
from ._native import Figure, Ledger, Pull, Session, Spec, Table, View, __version__
from ._plan import Plan, plan
from ._results import Audit, Claim, Money, Run, open
from ._run import arun, run
from ._verifiers import BuiltIn, Score, Verifier, Void, check, command, http, llm, replay, verifier
from .errors import (
    AddArmsError,
    AskError,
    CandidatesError,
    CardQueueError,
    CostError,
    Error,
    ExportError,
    HistoryError,
    Interrupted,
    JobError,
    LabelError,
    LendError,
    NeverScored,
    OutputError,
    PlanError,
    PolicyError,
    ReplayError,
    ReportError,
    RunError,
    SpecError,
    Stopped,
    TellError,
    VerifierDown,
)

__all__ = [
    "AddArmsError",
    "AskError",
    "Audit",
    "BuiltIn",
    "CandidatesError",
    "CardQueueError",
    "Claim",
    "CostError",
    "Error",
    "ExportError",
    "Figure",
    "HistoryError",
    "Interrupted",
    "JobError",
    "LabelError",
    "Ledger",
    "LendError",
    "Money",
    "NeverScored",
    "OutputError",
    "Plan",
    "PlanError",
    "PolicyError",
    "Pull",
    "ReplayError",
    "ReportError",
    "Run",
    "RunError",
    "Score",
    "Session",
    "Spec",
    "SpecError",
    "Stopped",
    "Table",
    "TellError",
    "Verifier",
    "VerifierDown",
    "View",
    "Void",
    "__version__",
    "arun",
    "check",
    "command",
    "errors",
    "http",
    "llm",
    "open",
    "plan",
    "replay",
    "run",
    "verifier",
]

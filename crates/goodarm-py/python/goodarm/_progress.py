"""Progress of a run, for people."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol


class Progress(Protocol):
    """A display of progress."""

    def show(self, state: dict[str, Any]) -> None: ...
    def show_message(self, text: str) -> None: ...
    def close(self) -> None: ...


def display(wanted: bool | Callable[[dict[str, Any]], object] | None) -> Progress:
    """The display that is wanted; by default a bar in a terminal or notebook."""
    if callable(wanted):
        return Callback(wanted)
    if wanted is False or (wanted is None and not _is_watched()):
        return Silent()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return Lines()
    return Bar(tqdm)


def _is_watched() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _line(state: dict[str, Any]) -> str:
    pace = state["calls_per_second"]
    shown = f", {pace:,.0f} calls/s" if pace else ""
    questions = state.get("questions")
    total = f"{questions} questions" if questions else f"{state['candidates']} certified"
    return (
        f"{state['certified']} of {total}, "
        f"{state['spent']:g} of {state['budget']:g} {state['unit']} spent{shown}"
    )


class Silent:
    """Shows warnings only."""

    def show(self, state: dict[str, Any]) -> None:
        pass

    def show_message(self, text: str) -> None:
        if text.startswith("warning"):
            warnings.warn(text.removeprefix("warning: "), stacklevel=6)

    def close(self) -> None:
        pass


class Callback(Silent):
    """Calls a function."""

    def __init__(self, function: Callable[[dict[str, Any]], object]) -> None:
        self.function = function

    def show(self, state: dict[str, Any]) -> None:
        self.function(state)


class Lines:
    """Writes a line now and then."""

    def __init__(self) -> None:
        self.due = 0.0

    def show(self, state: dict[str, Any]) -> None:
        now = time.monotonic()
        if now >= self.due:
            self.due = now + LINE_SECONDS
            self.show_message(_line(state))

    def show_message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class Bar:
    """A bar of tqdm's: how much of the budget is spent."""

    def __init__(self, tqdm: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.bar = tqdm(total=100, bar_format="{percentage:3.0f}%|{bar}| {desc}", leave=True)

    def show(self, state: dict[str, Any]) -> None:
        self.bar.n = round(100 * state["spent"] / state["budget"], 1)
        self.bar.set_description_str(_line(state), refresh=True)

    def show_message(self, text: str) -> None:
        self.bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self.bar.close()


LINE_SECONDS = 10.0

"""The command `goodarm`: the tool itself, from the compiled part."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command line of this process, and returns the exit code.

    Signals are the tool's meanwhile. A command with no handler of its own ends at Ctrl-C, as other programs do:
    Python's handler would wait until the tool returns.
    """
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    # Another handler was set on purpose, such as `SIG_IGN` by a shell for a job in the background.
    if before["SIGINT"] is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _native.main(sys.argv)
    finally:
        for name, handler in before.items():
            if handler is not None:
                signal.signal(getattr(signal, name), handler)

"""Executes docs/tutorial.ipynb and keeps what it prints: `python crates/goodarm-py/notebook.py`.

It runs in a folder of its own, beside a link to `examples`, so that nothing is left behind. `execute` is
what the test uses, too. Needs nbclient and ipykernel.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "tutorial.ipynb"


def execute(folder: Path) -> Any:
    """The notebook, executed in `folder` as if that were the repository, and tidied."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(PAGE, as_version=4)
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    docs = folder / "docs"
    docs.mkdir()
    use_this_python(folder)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(docs)}})
    client.execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        tags = cell["metadata"].get("tags")
        cell["metadata"] = {"tags": tags} if tags else {}
        if "outputs" in cell:
            for output in cell["outputs"]:
                tidy(output)
            cell["outputs"] = joined(cell["outputs"])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return notebook


def use_this_python(folder: Path) -> None:
    """The kernel `python3` is this interpreter, whatever else is installed under that name."""
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}))
    os.environ["JUPYTER_PATH"] = str(folder / "jupyter")


def tidy(output: Any) -> None:
    """Takes away where and when it was run."""
    if "text" in output:
        output["text"] = re.sub(r"\S*ipykernel_\d+/\d+\.py:\d+", "<cell>", output["text"])
    for kind, text in output.get("data", {}).items():
        if kind == "text/html":
            # What pandas says about how its tables look, and editors ignore.
            output["data"][kind] = re.sub(r"<style scoped>.*?</style>\n", "", text, flags=re.DOTALL)


def joined(outputs: list[Any]) -> list[Any]:
    """A stream is one output, in however many pieces it came."""
    whole: list[Any] = []
    for output in outputs:
        if whole and output["output_type"] == "stream" and output.get("name") == whole[-1].get("name"):
            whole[-1]["text"] += output["text"]
        else:
            whole.append(output)
    return whole


def main() -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        notebook = execute(Path(folder))
    nbformat.write(notebook, PAGE)
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()

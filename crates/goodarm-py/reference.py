"""Makes docs/python-reference.md from the stubs and docstrings: `python crates/goodarm-py/reference.py`.

Nothing is imported: the sources are read. What is in `__all__` is in the reference, and a test compares.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

CRATE = Path(__file__).resolve().parent
PACKAGE = CRATE / "python" / "goodarm"
PAGE = CRATE.parents[1] / "docs" / "python-reference.md"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Where names are from, in the order of the page, and what a reader calls that.
SECTIONS = {
    "_run": "Runs",
    "_verifiers": "Verifiers",
    "_results": "Results",
    "_native": "Sessions and tables",
    "_plan": "Plans",
    "errors": "Errors",
    "ray": "goodarm.ray",
}

HEAD = """\
# Python reference

Everything that `import goodarm` gives, by its docstrings. [The Python page](python.md) says how it is used.
`Amount` is an int, a float or a `Decimal`; `PathLike` a string or a path; `EndingName` one of [the names](outputs.md#endings) of endings.

<!-- Made by `python crates/goodarm-py/reference.py`; a test compares. -->
"""


class Module:
    """One file of the package: what it defines, and the comments beside that."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.lines = self.text.splitlines()
        nodes = (node for node in self.tree.body if isinstance(node, Definition))
        self.definitions = {node.name: node for node in nodes}

    @property
    def exported(self) -> list[str]:
        """What is in `__all__`; without one, the names that are not private."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                return [str(name) for name in ast.literal_eval(node.value)]
        return [name for name in self.definitions if not name.startswith("_")]

    def comment_above(self, line: int) -> str:
        """The `#:` lines above a line, which is counted from 1."""
        comment: list[str] = []
        for text in reversed(self.lines[: line - 1]):
            if not text.strip().startswith("#:"):
                break
            comment.insert(0, text.strip().removeprefix("#:").strip())
        return " ".join(comment)


def modules() -> dict[str, Module]:
    """The files of the package by name; of a compiled one its stub."""
    paths = [*PACKAGE.glob("*.py"), *PACKAGE.glob("*.pyi")]
    return {path.stem: Module(path) for path in sorted(paths)}


def render() -> str:
    """The page."""
    known = modules()
    front = known["__init__"]
    homes = imports(front.tree)
    found: dict[str, list[str]] = {}
    for name in front.exported:
        home = homes.get(name, "")
        if home in known and name in known[home].definitions:
            found.setdefault(home, []).append(name)
        elif name not in known and name != "__version__":
            raise SystemExit(f"{name} is in __all__, and no file defines it")
    for name in SUBMODULES & known.keys():
        found[name] = [own for own in known[name].exported if own in known[name].definitions]
    unknown = found.keys() - SECTIONS.keys()
    titles = SECTIONS | {name: name.lstrip("_").capitalize() for name in sorted(unknown)}
    parts = [HEAD]
    for home, title in titles.items():
        if home in found:
            # As they stand in the file: its author put first what matters most.
            order = list(known[home].definitions)
            parts.append(section(known[home], title, sorted(found[home], key=order.index)))
    page = "\n".join(parts).replace("_Amount", "Amount").replace("_Policy", "Policy")
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def imports(tree: ast.Module) -> dict[str, str]:
    """From which file of the package each name comes, also those that are imported late."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            found |= {alias.asname or alias.name: node.module for alias in node.names}
    return found


def section(module: Module, title: str, names: list[str]) -> str:
    parts = [f"## {title}\n"]
    if module.name in SUBMODULES and (doc := ast.get_docstring(module.tree)):
        parts.append(prose(doc) + "\n")
    if module.name == "errors":
        parts.append(errors_table(module, names))
        return "\n".join(parts)
    prefix = "goodarm.ray." if module.name == "ray" else "goodarm."
    for name in names:
        node = module.definitions[name]
        if is_internal(node):
            continue
        parts.append(f"### `{prefix}{name}`\n")
        if isinstance(node, ast.ClassDef):
            parts.append(class_text(module, node, prefix))
        else:
            parts.append(fenced(signature(node, prefix + name)) + docstring(node))
    return "\n".join(parts)


def class_text(module: Module, node: ast.ClassDef, prefix: str) -> str:
    parts = [constructor(node, prefix), docstring(node)]
    rows = [row for own in node.body for row in members(module, own)]
    methods = [own for own in node.body if isinstance(own, Function) and not is_property(own)]
    if rows:
        parts.append("\n".join(["| Attribute | |", "|---|---|", *rows]) + "\n")
    for method in methods:
        if method.name.startswith("_") or is_internal(method):
            continue
        own = signature(method, f"{node.name}.{method.name}", skip_self=True)
        parts.append(fenced(own) + docstring(method))
    return "\n".join(part for part in parts if part)


def constructor(node: ast.ClassDef, prefix: str) -> str:
    """How it is made; nothing for what only goodarm makes."""
    own = {method.name: method for method in node.body if isinstance(method, Function)}
    is_made_elsewhere = "Made by" in (ast.get_docstring(node) or "")
    make = own.get("__new__") or own.get("__init__")
    if make and not is_made_elsewhere:
        return fenced(signature(make, prefix + node.name, skip_self=True, returns=False))
    is_data = any("NamedTuple" in ast.unparse(base) for base in node.bases)
    fields = [own for own in node.body if isinstance(own, ast.AnnAssign) and isinstance(own.target, ast.Name)]
    if is_data and not is_made_elsewhere and any(own.value for own in fields):
        return fenced(f"{prefix}{node.name}({', '.join(ast.unparse(own) for own in fields)})")
    return ""


def members(module: Module, node: ast.stmt) -> list[str]:
    """The rows of an attribute, of a property, or of the attributes that a constructor sets."""
    if isinstance(node, Function) and node.name == "__init__":
        return [own for statement in node.body for own in set_attribute(module, statement)]
    if isinstance(node, Function) and is_property(node) and not node.name.startswith("_"):
        words = " ".join((ast.get_docstring(node) or "").split())
        return [row(node.name, node.returns, words)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
        return [row(node.target.id, node.annotation, module.comment_above(node.lineno))]
    return []


def set_attribute(module: Module, node: ast.stmt) -> list[str]:
    """`self.name = …` below a comment with `#:`."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    words = module.comment_above(node.lineno)
    if not isinstance(target, ast.Attribute) or not words:
        return []
    return [row(target.attr, node.annotation if isinstance(node, ast.AnnAssign) else None, words)]


def row(name: str, kind: ast.expr | None, words: str) -> str:
    text = f"{name}: {ast.unparse(kind)}" if kind else name
    cells = [cell.replace("|", "\\|") for cell in (f"`{text}`", words)]
    return f"| {cells[0]} | {cells[1]} |".replace("|  |", "| |")


def is_property(node: Function) -> bool:
    return any(ast.unparse(decorator) in ("property", "cached_property") for decorator in node.decorator_list)


def is_internal(node: Definition) -> bool:
    """Whether it has to do with how calls are moved about, which is between goodarm and itself."""
    if isinstance(node, ast.ClassDef):
        own = {method.name: method for method in node.body if isinstance(method, Function)}
        return "__init__" in own and is_internal(own["__init__"])
    return "Mailbox" in ast.unparse(node.args) or node.name == "start_actor"


def signature(node: Function, name: str, *, skip_self: bool = False, returns: bool = True) -> str:
    """What is typed, on one line or one argument a line."""
    arguments = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    if skip_self:
        (arguments.posonlyargs or arguments.args).pop(0)
    given = [spaced(argument) for argument in split(ast.unparse(arguments))]
    text = ", ".join(given)
    end = f" -> {ast.unparse(node.returns)}" if returns and node.returns and ast.unparse(node.returns) != "None" else ""
    begin = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{begin}{name}({text}){end}"
    if len(line) <= WIDTH:
        return line
    inner = "\n".join(f"    {argument}," for argument in given)
    return f"{begin}{name}(\n{inner}\n){end}"


def split(arguments: str) -> list[str]:
    """Arguments one by one: at the commas that are in no bracket."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def spaced(argument: str) -> str:
    """`name: kind = default`, as people write it."""
    kind = re.search(r"[^=]=(?=[^=])", argument)
    if ":" not in argument or not kind:
        return argument
    return f"{argument[:kind.start() + 1]} = {argument[kind.end():]}"


def docstring(node: Definition) -> str:
    doc = ast.get_docstring(node)
    return prose(doc) + "\n" if doc else ""


def prose(doc: str) -> str:
    """A docstring as Markdown: lists of arguments, and examples as code."""
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", doc):
        head, _, rest = block.partition("\n")
        if head in ("Args:", "Raises:"):
            blocks.append(("Arguments:" if head == "Args:" else head) + "\n\n" + items(rest))
        elif block.startswith(">>>"):
            blocks.append(fenced(block, "pycon").rstrip())
        elif block.startswith("    "):
            code = textwrap.dedent(block)
            if blocks and blocks[-1].startswith("```python"):
                blocks[-1] = blocks[-1].removesuffix("```") + f"\n{code}\n```"
            else:
                blocks.append(fenced(code).rstrip())
        else:
            blocks.append(" ".join(block.split("\n")))
    return "\n\n".join(blocks) + "\n"


def items(text: str) -> str:
    """`name: words` with its further lines, as a list."""
    lines: list[str] = []
    for line in textwrap.dedent(text).splitlines():
        if line.startswith(" "):
            lines[-1] += " " + line.strip()
        else:
            name, _, words = line.partition(": ")
            lines.append(f"- `{name}`: {words}")
    return "\n".join(lines)


def fenced(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}\n```\n\n"


def errors_table(module: Module, names: list[str]) -> str:
    """A row for each class, with the ways to go wrong that are classes below it."""
    lines = ["| Class | What it says | Classes below it |", "|---|---|---|"]
    for name in names:
        node = module.definitions[name]
        if not isinstance(node, ast.ClassDef):
            continue
        bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
        below = [
            f"`.{own.target.id}`{variant_doc(own)}"
            for own in node.body
            if isinstance(own, ast.AnnAssign) and isinstance(own.target, ast.Name)
            and ast.unparse(own.annotation).startswith("ClassVar")
        ]
        words = " ".join((ast.get_docstring(node) or "").split())
        lines.append(f"| `{name}` ({bases}) | {words} | {', '.join(below)} |")
    return "\n".join(lines) + "\n"


def variant_doc(node: ast.AnnAssign) -> str:
    """The docstring of a class below another, in brackets."""
    if not isinstance(node.value, ast.Call):
        return ""
    doc = str(ast.literal_eval(node.value.args[0])).removesuffix(".")
    return f" ({doc[0].lower()}{doc[1:]})"


#: Modules that are used by their own name.
SUBMODULES = {"errors", "ray"}
WIDTH = 100

if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE.name}")

"""Tables that benchmarks print and keep in `benchmarks/results/`, and the figures that README and docs quote.

    python benchmarks/results.py            # brings marked figures and tables in README.md and docs/ up to date
    python benchmarks/results.py --check    # lists those that differ from the files, and exits with 1

A benchmark prints its table through `Table`, which writes it to `results/NAME.json` when it is complete. A run
with fewer parts replaces only the tables that it measured. WORDTIDE_RESULTS names another folder, for trials.

In Markdown, a figure follows a mark that names a table, a row and a column, and a table stands between two
marks, with the columns and rows to show if not all:

    <!-- result: counting :: 5-grams, version 2: DuckDB :: ratio -->9.3
    <!-- result: install :: in all :: MB :: .0f -->850
    <!-- table: fitting.growth :: d; seconds; peak GB :: every 8-years; every year -->
    <!-- /table -->

A row is named by its first cell, or by a text that occurs in no other row ("tied, 100" joins cells with commas).
A figure is the first number of its cell, in the format of Python after a fourth `::` if it is rounded.
"""

import argparse
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "results"
NUMBER = re.compile(r"[-+\u2212]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_RESULT = re.compile(rf"<!-- result: (?P<key>[^>]*?) -->(?P<shown>{NUMBER.pattern})?")
_TABLE = re.compile(r"<!-- table: (?P<key>[^>]*?) -->\n(?P<shown>.*?)<!-- /table -->", re.DOTALL)


@dataclass(frozen=True)
class Result:
    """A table that a benchmark has measured.

    Attributes:
        columns, rows: Texts as they were printed.
        title: What the table shows, if its name does not say it.
        notes: Sizes of the problem and figures beside the table, a sentence each.
        date, command, version, machine, load: When, how, with which code and where it was measured; `load` is the
            load average before the run.
    """

    columns: list[str]
    rows: list[list[str]]
    title: str = ""
    notes: list[str] = field(default_factory=list)
    date: str = ""
    command: str = ""
    version: str = ""
    machine: str = ""
    load: str = ""

    def row(self, key: str) -> list[str]:
        """Find the row with this first cell, or the only row that contains a text.

        Raises:
            LookupError: No row, or more than one, fits.
        """
        exact = [row for row in self.rows if row[0] == key]
        found = exact or [row for row in self.rows if key in ", ".join(row)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows match {key!r}")
        return found[0]

    def column(self, key: str) -> int:
        """Find the number of a column by its heading, or by "#2" for the second one.

        Raises:
            LookupError: No column, or more than one, has this heading.
        """
        headings = [f"#{place}" for place in range(1, len(self.columns) + 1)]
        found = [
            place for place, names in enumerate(zip(self.columns, headings, strict=True)) if key in names
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} columns are {key!r}, of: {'; '.join(self.columns)}")
        return found[0]

    def markdown(self, columns: Sequence[str] = (), rows: Sequence[str] = ()) -> str:
        """Render the table, with all columns and rows or those named, and a line that says where it comes from.

        The rows may also be "first 5".
        """
        numbers = [self.column(name) for name in columns] or list(range(len(self.columns)))
        if len(rows) == 1 and (first := re.fullmatch(r"first (\d+)", rows[0])):
            chosen = self.rows[: int(first[1])]
        else:
            chosen = [self.row(key) for key in rows] or self.rows
        lines = [_line([self.columns[n] for n in numbers])]
        lines.append(f"|{'|'.join('---:' if _is_numeric(chosen, n) else '---' for n in numbers)}|")
        lines += [_line([row[n] for n in numbers]) for row in chosen]
        load = f", load {self.load}" if self.load else ""
        lines += ["", f"*`{self.command}`, {self.date}, version {self.version}{load}*"]
        return "\n".join(lines) + "\n"


class Table:
    """A table that is printed row by row, and kept when the block ends without an error.

        with Table("fitting.growth", ["d", "seconds"]) as table:
            table.row(100, f"{seconds:.1f}")

    Args:
        name: The file's name, and the table's after a dot where a benchmark has several.
        columns: The headings.
        title: Printed before the table.
    """

    def __init__(self, name: str, columns: Sequence[str], title: str = "") -> None:
        self.name, self.columns, self.title = name, list(columns), title
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        self.load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""

    def __enter__(self) -> Self:
        heading = f"\n{self.title}\n\n" if self.title else ""
        print(f"{heading}{_line(self.columns)}\n|{'---|' * len(self.columns)}", flush=True)
        return self

    def row(self, *cells: object) -> None:
        """Print and keep a row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns of {self.name}")
        self.rows.append([str(cell).strip() for cell in cells])
        print(_line(self.rows[-1]), flush=True)

    def note(self, text: str) -> None:
        """Keep a sentence with the table, which is printed after it."""
        self.notes.append(text)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        for text in self.notes:
            print(f"\n{text}", flush=True)
        print(flush=True)
        keep(self.name, self.result())

    def result(self) -> Result:
        """The table with today's date, the command that runs, and the machine."""
        return Result(
            columns=self.columns,
            rows=self.rows,
            title=self.title,
            notes=self.notes,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            command=command_line(sys.argv),
            version=_version(),
            machine=machine(),
            load=self.load,
        )


def keep(name: str, result: Result) -> Path:
    """Write a table to its file; other tables of the file stay."""
    file, _, table = name.partition(".")
    path = folder() / f"{file}.json"
    tables = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tables[table] = {key: value for key, value in asdict(result).items() if value}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_as_json(tables), encoding="utf-8", newline="\n")
    return path


def load(name: str) -> Result:
    """Read a table.

    Raises:
        LookupError: There is no such file or table.
    """
    file, _, table = name.partition(".")
    path = folder() / f"{file}.json"
    if not path.exists():
        raise LookupError(f"no file {path.name} in benchmarks/results")
    tables = json.loads(path.read_text(encoding="utf-8"))
    if table not in tables:
        raise LookupError(f"no table {table!r} in {path.name}; there are: {', '.join(map(repr, tables))}")
    return Result(**tables[table])


def folder() -> Path:
    """The folder of the files: WORDTIDE_RESULTS, or benchmarks/results."""
    return Path(os.environ.get("WORDTIDE_RESULTS") or FOLDER)


def figure(key: str) -> str:
    """The figure that a mark names, such as "counting :: 5-grams, version 2: DuckDB :: ratio".

    Raises:
        LookupError: The files have no such figure.
    """
    name, row, column, *form = key.split(" :: ")
    result = load(name)
    cell = result.row(row)[result.column(column)]
    found = NUMBER.search(cell)
    if found is None:
        raise LookupError(f"no number in {cell!r}")
    if not form:
        return found[0]
    return format(float(found[0].replace(",", "").replace("\N{MINUS SIGN}", "-")), form[0])


def filled_table(key: str) -> str:
    """The Markdown table that a mark names."""
    name, columns, rows = (*key.split(" :: "), "", "")[:3]
    chosen = ([part.strip() for part in text.split("; ") if part.strip()] for text in (columns, rows))
    return load(name).markdown(*chosen)


def filled(text: str) -> str:
    """A Markdown text with the present figures at its marks."""
    text = _RESULT.sub(lambda found: f"<!-- result: {found['key']} -->{figure(found['key'])}", text)
    return _TABLE.sub(
        lambda found: f"<!-- table: {found['key']} -->\n{filled_table(found['key'])}<!-- /table -->", text
    )


def pages() -> Iterator[Path]:
    """The Markdown files that may quote figures."""
    yield ROOT / "README.md"
    yield ROOT / "benchmarks" / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def machine() -> str:
    """The machine in a few words."""
    system = platform.system()
    python = f"Python {platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {_processor()}, {system}, {python}"


def command_line(arguments: Sequence[str]) -> str:
    """The command that runs, without the folders of files."""
    script, *given = arguments
    place = Path(script).resolve()
    if place.is_relative_to(ROOT):
        script = place.relative_to(ROOT).as_posix()
    plain = (re.sub(r"(^|=)[^\s=]*/(?=[^/])", r"\1", argument.rstrip("/")) for argument in given)
    return shlex.join(["python", script, *plain])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version() -> str:
    """The version in the source tree, without an import: install.py measures where nothing is installed."""
    found = re.search(r'__version__ = "(.+)"', (ROOT / "src/wordtide/version.py").read_text(encoding="utf-8"))
    return found[1] if found else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _is_numeric(rows: Sequence[Sequence[str]], number: int) -> bool:
    cells = [row[number] for row in rows if row[number]]
    return bool(cells) and all(NUMBER.match(cell.strip("*")) for cell in cells)


def _as_json(tables: dict[str, dict[str, Any]]) -> str:
    """JSON with a line for each row, so that changes can be read."""
    parts = []
    for name, table in tables.items():
        fields = [f"  {json.dumps(key)}: {_field(key, value)}" for key, value in table.items()]
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _field(key: str, value: Any) -> str:
    if key not in ("rows", "notes"):
        return json.dumps(value, ensure_ascii=False)
    lines = (f"   {json.dumps(each, ensure_ascii=False)}" for each in value)
    return "[\n" + ",\n".join(lines) + "\n  ]"


def main() -> None:
    """Fill the marks of all pages, or check them."""
    parser = argparse.ArgumentParser(description="Figures of the benchmarks in README and docs.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if a page is not up to date"
    )
    options = parser.parse_args()
    stale = []
    for page in pages():
        old = page.read_text(encoding="utf-8")
        try:
            new = filled(old)
        except (LookupError, ValueError) as error:
            sys.exit(f"{page.relative_to(ROOT)}: {error}")
        if new != old:
            stale.append(page.relative_to(ROOT).as_posix())
            if not options.check:
                page.write_text(new, encoding="utf-8", newline="\n")
    if stale:
        print("\n".join(stale))
    sys.exit(1 if options.check and stale else 0)


if __name__ == "__main__":
    main()

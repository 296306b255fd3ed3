"""Corpora in every format, cut into shards so small that a few kilobytes keep several workers busy."""

import gzip
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_WORDS = [f"w{n}" for n in range(60)]
_SMALL = """
import sys
from wordtide.counts.cluster import shards as sharding
sharding._SMALLEST = int(sys.argv.pop(1))
from wordtide.cli.app import main
main()
"""


def documents(seed: int, number: int) -> list[tuple[str, str]]:
    """Dated texts with line breaks, quotes and commas, in random order."""
    rng = random.Random(seed)
    made = []
    for _ in range(number):
        sentences = [
            " ".join(rng.choices(_WORDS, weights=range(60, 0, -1), k=rng.randint(1, 9)))
            for _ in range(rng.randint(0, 4))
        ]
        text = rng.choice([". ", '.\n"', ', "so" he said.\n\n']).join(sentences).capitalize()
        made.append((f"{rng.randint(1990, 1999)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}", text))
    return made


def texts(folder: Path) -> Path:
    """A folder of text files, one of them with an unknown ending."""
    folder.mkdir()
    for number, (date, text) in enumerate(documents(1, 24)):
        (folder / f"{date}_{number}.txt").write_text(text, encoding="utf-8")
    (folder / "cover.jpg").write_bytes(b"")
    return folder


def json_lines(path: Path, seed: int = 2, bad: bool = False) -> Path:
    """JSON Lines, compressed if the name says so; with `bad`, some rows are bad for several reasons."""
    lines = [
        json.dumps({"id": n, "date": date, "text": text})
        for n, (date, text) in enumerate(documents(seed, 120))
    ]
    if bad:
        lines[7] = "{no json"
        lines[50] = json.dumps({"id": 50, "date": None, "text": "w1 w2"})
        lines[90] = json.dumps({"id": 90, "date": "someday", "text": "w1 w2"})
        lines[100] = ""
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def csv_rows(path: Path) -> Path:
    """CSV whose texts hold quoted line breaks, commas and doubled quotes."""
    rows = ['"{}","{}"'.format(date, text.replace('"', '""')) for date, text in documents(3, 120)]
    path.write_text("date,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def parquet(path: Path) -> Path:
    """A Parquet file with row groups of ten rows."""
    rows = documents(4, 95)
    table = pa.table({"date": [date for date, _ in rows], "text": [text for _, text in rows]})
    pq.write_table(table, path, row_group_size=10)
    return path


def ngrams(folder: Path) -> Path:
    """Tables of 5-grams, in version 2 and in version 3."""
    rng = random.Random(5)
    folder.mkdir()
    for number in range(3):
        lines = []
        for _ in range(60):
            gram = " ".join(rng.choices("abcdefghij", k=rng.randint(1, 5)))
            years = sorted(rng.sample(range(1900, 1920), rng.choice([2, 12])))
            if number:
                lines.append("\t".join([gram, *(f"{year},{rng.randint(1, 9)},1" for year in years)]))
            else:
                lines += [f"{gram}\t{year}\t{rng.randint(1, 9)}\t1" for year in years]
        (folder / f"table-{number}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def command_with_shards_of(size: int, *arguments: object) -> list[str]:
    """The command line that runs wordtide in a process of its own, with shards of this many bytes."""
    return [sys.executable, "-c", _SMALL, str(size), *map(str, arguments)]

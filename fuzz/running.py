"""Runs one fuzz target under atheris: python fuzz/running.py TARGET [--seconds N] [FILE ...] (see README.md).

With files it tries just those. Otherwise it goes on from what earlier runs found worth keeping.
"""

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
_SOURCES = ROOT / "src" / "wordtide"
_KEPT = ROOT / "build" / "fuzz"
_LONGEST = 1 << 16
_TIMEOUT, _MEGABYTES = 10, 4096


def main() -> None:
    """Instrument the package, write the seeds, and fuzz."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("files", nargs="*")
    chosen = parser.parse_args()
    sys.path.insert(0, str(ROOT / "fuzz"))
    with atheris.instrument_imports(include=["wordtide"], exclude=list(modules_with_kernels())):
        target = importlib.import_module(f"targets.{chosen.target}")
    kept = _KEPT / chosen.target
    kept.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.SEEDS):
        (kept / f"seed-{number:02}").write_bytes(seed)
        target.try_input(seed)  # compiles what has to be compiled, outside the time limit of an input
    options = [
        *(
            f"-max_total_time={chosen.seconds}",
            f"-max_len={_LONGEST}",
            f"-artifact_prefix={kept}/",
            "-print_final_stats=1",
            "-len_control=0",
        ),
        *(f"-timeout={_TIMEOUT}", f"-rss_limit_mb={_MEGABYTES}"),
    ]
    atheris.Setup([sys.argv[0], *options, *(chosen.files or [str(kept)])], target.try_input)
    atheris.Fuzz()


def modules_with_kernels() -> Iterator[str]:
    """The modules of the package that numba compiles, and which therefore cannot be instrumented."""
    for path in sorted(_SOURCES.rglob("*.py")):
        if path.name == "compiled.py" or "wordtide.compiled" in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(_SOURCES.parent).with_suffix("").parts)


if __name__ == "__main__":
    main()

"""Size and time of an installation: the built wheel with its dependencies in an empty environment.

python benchmarks/install.py                              # what `pip install wordtide` brings
python benchmarks/install.py --extras demo --keep env     # with extras; keeps the environment

The size is the sum of all files, as `du -sb` counts them, with pip itself and with the byte code that pip
writes. Packages come from the index that pip is configured for, so the time depends on the network and on
pip's cache.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from pathlib import Path

from results import Table

ROOT = Path(__file__).parents[1]
LIMIT = 900e6  # bytes


def pip(python: Path | str, *arguments: str | Path) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run([python, "-m", "pip", *arguments, *quiet], check=True)


def sizes(folder: Path) -> tuple[int, int]:
    """Bytes in all files and folders of a folder, and bytes on disk."""
    found = [path.lstat() for path in (folder, *folder.rglob("*"))]
    return sum(one.st_size for one in found), sum(512 * one.st_blocks for one in found)


def by_package(packages: Path) -> Counter[str]:
    """Bytes of what is in `site-packages`, a package and its bundled libraries (`NAME.libs`) together."""
    total: Counter[str] = Counter()
    for path in packages.iterdir():
        if not path.name.endswith(".dist-info"):
            total[path.name.removesuffix(".libs")] += sizes(path)[0]
    return total


def measure(folder: Path, extras: str, constraints: Path | None) -> int:
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder / "wheel", ROOT)
    (wheel,) = (folder / "wheel").glob("*.whl")
    environment = folder / "env"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    chosen = f"{wheel}[{extras}]" if extras else str(wheel)
    began = time.perf_counter()
    pip(python, "install", chosen, *(("--constraint", constraints) if constraints else ()))
    took = time.perf_counter() - began
    (packages,) = environment.glob("lib/python*/site-packages")
    size, on_disk = sizes(environment)
    byte_code = sum(path.stat().st_size for path in environment.rglob("*.pyc"))
    with Table("install." + extras.replace(",", "-") if extras else "install", ("what", "MB")) as table:
        table.row("in all", f"{size / 1e6:.1f}")
        table.row("byte code", f"{byte_code / 1e6:.1f}")
        table.row("on disk, in blocks", f"{on_disk / 1e6:.1f}")
        table.row("the wheel of wordtide", f"{wheel.stat().st_size / 1e6:.1f}")
        for name, bytes_used in by_package(packages).most_common(12):
            table.row(name, f"{bytes_used / 1e6:.1f}")
        table.note(f"The installation took {took:.0f} s.")
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--extras", default="", help="extras to install, such as demo,cluster")
    parser.add_argument("--constraints", type=Path, help="versions to install; the newest if not given")
    parser.add_argument("--keep", type=Path, help="folder for the environment; a temporary one if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        size = measure(folder.resolve(), options.extras, options.constraints)
    if not options.extras and size >= LIMIT:
        sys.exit(f"The installation is larger than {LIMIT / 1e6:.0f} MB.")


if __name__ == "__main__":
    main()

"""Train one method in a process of its own: its time, its peak memory, and what it found.

    python training.py FOLDER METHOD SETTINGS OUTPUT

FOLDER is a prepared corpus, METHOD one of ours or "gensim ...", SETTINGS JSON. Prints one line of JSON. Only
what the method needs is loaded, so that the peak is its own. Time is that of the processor, which other jobs
on the machine change less than that of the clock; loading libraries and reading the data is not in it,
building a vocabulary is.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

GENSIM = "gensim "


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    return int(line.split()[1]) << 10


def train_gensim(folder: Path, method: str, settings: dict[str, Any], output: Path) -> tuple[float, int]:
    """Processor seconds, and bytes before training."""
    from gensim_peers import PEERS, Training
    from sentence_files import read_sentences
    from slice_vectors import save_slices

    slices = read_sentences(folder / "sentences.txt")
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    before = peak_bytes()
    start = time.process_time()
    found = PEERS[method.removeprefix(GENSIM)](slices, words, Training(**settings))
    seconds = time.process_time() - start
    save_slices(output, found)
    return seconds, before


def train_ours(folder: Path, method: str, settings: dict[str, Any], output: Path) -> tuple[float, int]:
    """Processor seconds, and bytes before training. `without`: numbers of slices to be left out."""
    import wordtide
    from wordtide.evaluation.scores import without_slices

    tiny = wordtide.count(
        [("1850", "steam power drives the mill"), ("1950", "atomic power drives the ship")], workers=1
    )
    wordtide.fit(tiny, method=method, dim=2, threads=1)  # loads compiled code
    left_out = settings.pop("without", [])
    counts = wordtide.Counts.load(folder / "counts")
    counts = without_slices(counts, left_out) if left_out else counts
    before = peak_bytes()
    start = time.process_time()
    model = wordtide.fit(counts, method=method, threads=1, **settings)
    seconds = time.process_time() - start
    model.save(output, overwrite=True)
    return seconds, before


def main() -> None:
    folder, method, settings, output = sys.argv[1:]
    train = train_gensim if method.startswith(GENSIM) else train_ours
    seconds, before = train(Path(folder), method, json.loads(settings), Path(output))
    print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "before": before}))


if __name__ == "__main__":
    main()

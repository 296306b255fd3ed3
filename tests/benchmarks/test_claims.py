"""Claims of README and docs that sum up tables in words, or in a figure of their own, follow from these tables."""

import re
from pathlib import Path

import numpy as np
from results import NUMBER, Result, load

ROOT = Path(__file__).parents[2]
METHODS = ("smoothing", "filtering", "warm-start", "independent", "static")


def page(name: str) -> str:
    """A page without marks and line breaks."""
    text = re.sub(r"<!--.*?-->", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(text.split())


EVIDENCE = page("docs/evidence.md")


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "").replace("\u2212", "-")) for found in NUMBER.findall(text)]


def column(table: Result, key: str, place: int = 0) -> np.ndarray:
    """A number of each cell of a column that has any."""
    cells = (numbers(row[table.column(key)]) for row in table.rows)
    return np.array([cell[place] for cell in cells if cell])


def predictions(table: Result) -> dict[str, np.ndarray]:
    return {method: np.array(numbers(", ".join(table.row(method)[1:]))) for method in METHODS}


def test_smoothing_predicts_better_than_all_but_a_static_model_on_two_corpora() -> None:
    found = predictions(load("prediction"))
    assert len(found["smoothing"]) == 7
    assert (found["smoothing"] > found["filtering"]).all()
    assert (found["filtering"] > np.maximum(found["warm-start"], found["independent"])).all()
    leads = found["smoothing"] - found["static"]
    level = np.abs(leads) < 0.0005
    assert (level.sum(), (leads[~level] > 0).sum()) == (2, 5)
    assert f"level with it on two ({np.abs(leads[level]).max():.4f} apart)" in EVIDENCE
    assert "better than one static model on five; on two they are level" in EVIDENCE
    readme = page("README.md")
    assert "predicts unseen times better than the baselines on [all seven corpora]" in readme
    assert "better than one static model on five; on two they are level" in readme


def test_smoothing_predicts_better_than_gensim_and_only_gensims_chain_better_than_filtering() -> None:
    table = load("peers.likelihood")
    place = table.column("log-likelihood, slices left out")
    found = {row[1]: float(row[place]) for row in table.rows if row[0] == "sotu"}
    assert max(found, key=found.__getitem__) == "smoothing"
    for method in ("filtering", "warm-start", "independent"):
        assert found["gensim chained"] > found[method]
    assert found["filtering"] > max(found["gensim per-slice"], found["gensim compass"])


def test_the_default_settings_predict_best_as_often_as_the_page_says() -> None:
    table = load("defaults")
    assert column(table, "v = 0.35").size == 3
    best = {
        key: sum("**" in row[table.column(key)] for row in table.rows) for key in ("v = 0.35", "D = 0.001")
    }
    assert best == {"v = 0.35": 3, "D = 0.001": 2}
    assert "predicts best on all three corpora, and the default diffusion, 0.001 per year, on two" in EVIDENCE


def test_jumps_are_found_and_dated_as_the_page_says() -> None:
    table = load("verdicts.smoothing")
    jumps, drifts = (
        [numbers(row[table.column(kind)]) for row in table.rows] for kind in table.columns[1:6:4]
    )
    found = np.array(jumps)[:, 0]
    held = column(table, "interval holds the date") @ found / found.sum()
    assert f"Of all {found.sum():.0f} jumps found, intervals hold {held:.0%}" in EVIDENCE
    assert round(10 * found.sum() / np.sum(jumps)) == 9
    assert "nine of ten sudden changes are called sudden and dated to within a year (median)" in EVIDENCE
    assert column(table, "date error").max() < 1.0
    assert (np.array(drifts)[:, 0] / np.sum(drifts, axis=1)).max() < 1 / 3
    assert "With few slices, up to a third of the drifts are called jumps" in EVIDENCE
    others = np.array([numbers(row[-1]) for row in table.rows])
    assert (others[:, 0].sum(), others[:, 1].sum()) == (0, 5)
    assert "calls almost no unchanged word changed" in page("README.md")
    misses = 1 - np.mean([numbers(row[1])[0] / 72 for row in load("verdicts.filtering").rows])
    assert "misses half of them" in EVIDENCE
    assert round(misses, 1) == 0.5


def test_no_word_is_called_changed_with_shuffled_dates() -> None:
    table = load("verdicts.smoothing-shuffled")
    cells = [numbers(cell) for row in table.rows for cell in row[1:] if cell]
    assert all(jump == gradual == 0 for jump, gradual, _ in cells)
    assert f"none of {sum(words for *_, words in cells):,.0f} words has a verdict" in EVIDENCE
    assert not column(load("uncertainty.ungdc-called"), "first half, dates shuffled").any()
    called = load("uncertainty.ungdc-0.05-called")
    assert not any(column(called, half).any() for half in ("first half", "second half"))


def test_limits_of_intervals_are_those_of_the_tables() -> None:
    chances = load("text_calibration.chances")
    cells = (numbers(cell) for row in chances.rows for cell in row[3:] if cell)
    off = np.array([true - stated for stated, true in cells])
    average, high, low = (f"{value:.2f}".lstrip("0") for value in (np.abs(off).mean(), off.max(), -off.min()))
    assert f"on average within {average} of what is stated" in EVIDENCE
    assert f"It is up to {high} higher in clusters, and up to {low} lower elsewhere." in EVIDENCE
    assert f"in some worlds it is off by up to {max(high, low)}" in page("docs/ask.md")
    change = load("text_calibration.change")
    moved = [numbers(cell)[1] for row in change.rows for cell in row[1:] if "(" in cell]
    assert f"of single models {min(moved):.0f} to {max(moved):.0f}% of their intervals hold" in EVIDENCE
    assert "above the truth in less than 1% of cases" in EVIDENCE


def test_speed_is_that_of_the_tables() -> None:
    ours = load("counting").row("text, JSON Lines: plain Python twin")[1]
    assert float(ours) < 0.5
    assert "four million words are counted in less than half a second on one core" in EVIDENCE
    measured = load("fitting.gensim").row("smoothing")[-1]
    assert float(re.search(r"([\d.]+) s /", measured)[1]) < 20
    assert "the State of the Union is smoothed in under 20 seconds on two" in EVIDENCE
    rows = (*load("fitting.filtering").rows, load("fitting.smoothing").rows[0])
    times = [1 / float(row[1]) for row in rows]
    assert f"takes {min(times):.0f} to {max(times):,.0f} times as long to reach the same ELBO" in EVIDENCE
    questions = load("questions")
    shell = [row[0].startswith("wordtide") for row in questions.rows]
    assert column(questions, "seconds")[shell].max() < 2
    assert "from the shell in less than two" in EVIDENCE


def test_words_of_function_words_and_phrases_are_those_of_the_tables() -> None:
    words = load("function_words")
    unseen = ("de", "tr", "es", "it", "pl", "en changelogs", "en un-debates-all-years")
    wrong = 1 - np.mean(
        [float(row[words.column("precision")]) for row in words.rows if row[0].startswith(unseen)]
    )
    assert round(10 * wrong) == 3
    assert "three of ten words found there are content words" in EVIDENCE
    called = {row[0]: numbers(row[words.column("with a verdict, of")]) for row in words.rows}
    pages = [verdicts / of for name, (verdicts, of) in called.items() if "manpages" in name or "help" in name]
    assert f"for up to {max(pages):.1%} of the words of manual and help pages" in EVIDENCE
    covered = (
        column(load("phrases"), "coverage without, with"),
        column(load("phrases"), "coverage without, with", 1),
    )
    assert f"at most {(covered[0] - covered[1]).max():.1f}% of its coverage" in EVIDENCE


def test_the_sizes_of_the_paper_page_are_those_of_its_run() -> None:
    (note,) = load("paper.scale").notes
    entries, knots, pairs = (
        float(re.search(rf"([\d,]+) {what}", note)[1].replace(",", "")) / 1e6
        for what in ("entries", "knots", "stored pairs")
    )
    text = page("docs/paper.md")
    assert f"The {entries:.1f} million n-gram-years are generated" in text
    assert f"{knots:.1f} million knots, {pairs:.1f} million pairs" in text


def test_kills_lost_nothing_and_watch_and_server_answered_rightly() -> None:
    table, load_cells = load("soak"), dict(load("soak.load").rows)
    assert table.row("all")[table.column("problems")] == "0"
    assert load_cells["rows given to `watch`"] == load_cells["rows that it reported"]
    assert load_cells["wrong answers"] == "0"
    assert "kills lost nothing" in EVIDENCE

"""The benchmark with human judgments: it reads the layouts of DWUG, and planted changes come back."""

import importlib
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from planted_senses import Plan, distance, write_planted
from usages import groups_of, plain_word, read_gold

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
USES = "lemma\tpos\tdate\tgrouping\tidentifier\tdescription\tcontext\tindexes_target_token\tindexes_target_sentence\n"


@pytest.fixture(scope="module")
def gold():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PEERS))
        yield importlib.import_module("gold")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    rows = [
        'plane_nn\tnn\t1824\t1\ta\t \tThe "planes are level, he said.\t5:11\t0:31',
        "plane_nn\tnn\t1851\t1\tb\t \tAn inclined Plane.\t12:17\t0:18",
        "plane_nn\tnn\t1990\t2\tc\t \tThe plane landed; planes do.\t4:9\t0:28",
        "plane_nn\tnn\t1999\t2\td\t \tno span\t\t",
    ]
    write(tmp_path / "data/plane_nn/uses.csv", USES + "\n".join(rows) + "\n")
    pairs = [
        "a\tc\tx\t1.0\t \tplane_nn",
        "c\tb\tx\t2\t \tplane_nn",
        "a\tb\tx\t4\t \tplane_nn",
        "a\tc\ty\t0\t \tplane_nn",
    ]
    header = "identifier1\tidentifier2\tannotator\tjudgment\tcomment\tlemma\n"
    write(tmp_path / "data/plane_nn/judgments.csv", header + "\n".join(pairs) + "\n")
    write(
        tmp_path / "stats/opt/stats_groupings.csv",
        "lemma\tgrouping\tchange_binary\tchange_graded\nplane_nn\t1_2\t1\t0.8\n",
    )
    return tmp_path


def test_usages_and_judgments_are_read(folder):
    data = read_gold(folder)
    assert [use.text for use in data.uses] == [
        'The " plane  are level, he said.',
        "An inclined  plane .",
        "The  plane  landed; planes do.",
    ]
    assert data.skipped == 1
    assert [(group.name, group.first, group.last) for group in data.groups] == [
        ("1", 1824, 1851),
        ("2", 1990, 1990),
    ]
    (truth,) = data.truths
    assert (truth.word, truth.groups, truth.graded, truth.binary) == ("plane", ("1", "2"), 0.8, 1.0)
    assert truth.unrelated == 4.0 - (1.0 + 2.0) / 2  # pairs within a group, and 0, do not count


@pytest.mark.parametrize("place", ["stats/stats_groupings.tsv", "stats/maj_3/stats_groupings.csv"])
def test_changes_may_lie_elsewhere(folder, place):
    (folder / place).parent.mkdir(exist_ok=True)
    shutil.move(folder / "stats/opt/stats_groupings.csv", folder / place)
    assert read_gold(folder).truths[0].graded == 0.8


def test_without_statistics_judgments_are_the_truth(folder):
    shutil.rmtree(folder / "stats")
    (truth,) = read_gold(folder).truths
    assert np.isnan(truth.graded)
    assert truth.unrelated == 2.5


def test_groups_may_be_ranges_of_years(folder):
    path = folder / "data/plane_nn/uses.csv"
    text = (
        path.read_text(encoding="utf-8")
        .replace("\t1824\t1\t", "\t \t1810-1860\t")
        .replace("\t1851\t1\t", "\t \t1810-1860\t")
    )
    path.write_text(text.replace("\t1990\t2\t", "\t \t1960-2010\t"), encoding="utf-8")
    data = read_gold(folder)
    assert [(group.name, group.year) for group in data.groups] == [("1810-1860", 1810), ("1960-2010", 1960)]
    assert data.truths[0].groups == ("1810-1860", "1960-2010")


def test_undated_groups_are_a_century_apart(folder):
    uses = [SimpleNamespace(group=name, year=np.nan) for name in ("2", "1", "10")]
    assert [(group.name, group.year) for group in groups_of(uses)] == [("1", 1900), ("2", 2000), ("10", 2100)]


def test_a_folder_without_usages_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"data/WORD/uses\.csv"):
        read_gold(tmp_path)


def test_lemmas_lose_their_part_of_speech():
    assert [plain_word(lemma) for lemma in ("Attack_nn", "abbauen", "chairman_nn")] == [
        "attack",
        "abbauen",
        "chairman",
    ]


def test_areas_and_correlations(gold):
    assert gold.area(np.array([0, 1, 0, 1]), np.array([1.0, 4.0, 2.0, 3.0])) == 1.0
    assert gold.area(np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 1.0, 1.0])) == 0.5
    assert gold.correlation(np.array([0.1, 0.5, 0.9]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)


def planted_documents():
    """Texts of two periods in which each of many words has contexts of its own."""
    rng = np.random.default_rng(2)
    letters = "abcdefghijklmnop"
    senses = [f"sense{letters[n // 4]}{letters[n % 4]}" for n in range(16)]
    near = [[f"{letters[n // 4]}{letters[n % 4]}{letters[k]}" for k in range(6)] for n in range(16)]
    for year in (1850, 1950):
        for _ in range(60):
            text = []
            for n in rng.permutation(16).tolist():
                text += [
                    *rng.choice(near[n], 4),
                    senses[n],
                    *rng.choice(near[n], 4),
                    "the",
                    "and",
                    "of",
                    "a.",
                ]
            yield f"{year}-06-01", " ".join(text)


def test_planted_changes_are_found_from_end_to_end(gold, tmp_path, monkeypatch):
    monkeypatch.setattr("planted_senses.MOST_FREQUENT", 0)
    monkeypatch.setattr("planted_senses.CONTEXT_WORDS", 8)
    write_planted(list(planted_documents()), ((1840, 1860), (1940, 1960)), tmp_path, Plan(8, 50, 3))
    data = read_gold(tmp_path)
    assert len(data.truths) == 8
    assert data.skipped == 0
    assert len({use.identifier for use in data.uses}) == len(data.uses)
    (result,) = gold.results_of(data, [], dim=10)
    assert gold.correlation(result.truth["graded"], result.truth["unrelated"]) > 0.5
    assert gold.correlation(result.truth["graded"], result.found[gold.OURS["verdict"]]) > 0.7
    monkeypatch.setattr(gold, "RESAMPLED", 50)
    assert gold.cell([result], gold.OURS["change"], "graded").startswith("0.")


def test_the_distance_of_shares_is_that_of_jensen_and_shannon():
    assert distance(0.0, 1.0) == pytest.approx(1.0)
    assert distance(0.3, 0.3) == 0.0
    assert 0.0 < distance(0.1, 0.3) < distance(0.1, 0.6)

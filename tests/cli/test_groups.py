"""Groups as typed: count, fit, and the questions about groups."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from cli.command_line import run

HERE = "river water fish boat stream bridge mill ferry shore tide".split()
THERE = "money loan credit coin gold price market trade bank fund".split()
OTHER = [f"word{letter}{digit}" for letter in "abcdefgh" for digit in "jklmn"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """*capital* goes with rivers in the north and with money in the south."""
    generator = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("groups")
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        for number in range(4000):
            region = ("north", "south")[number % 2]
            topic = (HERE, THERE)[int(generator.integers(2))]
            words = [*generator.choice(topic, 3), *generator.choice(OTHER, 6)]
            if generator.random() < 0.25:
                words.append("capital" if (topic is HERE) == (region == "north") else "harvest")
            row = {
                "year": 1900 + number % 3 * 10,
                "text": " ".join(generator.permutation(words)),
                "region": region,
            }
            file.write(f"{json.dumps(row)}\n")
    kept = "--examples", 2, "--group-field", "region"
    counted = run("count", folder / "texts.jsonl", "-o", folder / "counts", *kept)
    assert counted.code == 0, counted.err
    fitted = run("fit", folder / "counts", "-o", folder / "model", "--dim", 8)
    assert fitted.code == 0, fitted.err
    return folder / "model"


def test_divided_lists_words_with_both_meanings(model: Path) -> None:
    answer = run("divided", model, "--groups", "north,south", "--format", "json")
    assert answer.code == 0, answer.err
    rows = {row["word"]: row for row in json.loads(answer.out)}
    assert {"capital", "harvest"} <= rows.keys()
    assert set(rows["capital"]["near"]) & set(HERE)
    assert set(rows["capital"]["other_near"]) & set(THERE)
    assert rows["capital"]["group"] == "north"
    assert rows["capital"]["effect_low"] > 0


@pytest.mark.parametrize(
    "typed",
    [
        ("--groups", "north", "south"),
        ("--groups", "north", "--groups", "south"),
        ("--groups", "north, south"),
        ("--groups", "north", "south", "--at", "1910"),
    ],
)
def test_groups_are_named_one_after_the_other(model: Path, typed: tuple[str, ...]) -> None:
    answer = run("divided", model, *typed, "--format", "csv")
    assert answer.code == 0, answer.err
    expected = run(
        "divided", model, "--format", "csv", *typed[typed.index("--at") :] if "--at" in typed else ()
    )
    assert answer.out == expected.out
    assert "capital,north,south" in answer.out


def test_a_time_chooses_where_groups_are_compared(model: Path) -> None:
    first, last = (run("divided", model, "--at", at, "--format", "csv") for at in ("1900", "last"))
    assert first.code == last.code == 0
    assert first.out != last.out
    beyond = run("divided", model, "--at", "2020")
    assert "after the last slice" in beyond.err


def test_example_sentences_name_their_group(model: Path) -> None:
    counts = model.parent / "counts"
    found = json.loads(run("examples", counts, "capital", "--format", "json").out)
    rows = [json.loads(line) for line in (model.parent / "texts.jsonl").read_text("utf-8").splitlines()]
    regions = {row["text"]: row["region"] for row in rows}
    assert len(found) == 6
    assert [one["group"] for one in found] == [
        regions["".join(one[part] for part in ("before", "word", "after"))] for one in found
    ]
    assert run("examples", counts, "capital", "--format", "csv").out.splitlines()[0].endswith(",after,group")
    assert f", {found[0]['group']}" in run("examples", counts, "capital").out


def test_questions_follow_the_group(model: Path) -> None:
    near = {
        group: [
            row["word"]
            for row in json.loads(
                run("neighbors", model, "capital", "--group", group, "--format", "json").out
            )
        ]
        for group in ("north", "south")
    }
    assert len(set(near["north"]) & set(HERE)) > len(set(near["south"]) & set(HERE))
    curves = run("similarity", model, "capital", "river", "--by-group", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(curves.out)))
    assert [row["group"] for row in rows] == ["north"] * 3 + ["south"] * 3
    for row in rows:
        assert float(row["low"]) <= float(row["similarity"]) <= float(row["high"])
        assert float(row["low"]) < float(row["high"])
    stories = json.loads(run("story", model, "capital", "--by-group", "--format", "json").out)
    assert [story["group"] for story in stories] == ["north", "south"]
    assert all(story["sentence"].startswith("capital") for story in stories)
    table = run("story", model, "capital", "--by-group")
    assert table.out.splitlines()[0] == "north:"


def test_mistakes_are_one_clear_error(model: Path) -> None:
    unknown = run("neighbors", model, "capital", "--group", "west")
    assert unknown.code != 0
    assert "There is no group 'west'." in unknown.err
    assert "The groups are north, south." in unknown.err
    one = run("divided", model, "--groups", "north")
    assert one.code != 0
    assert "only one group" in one.err


def test_figures_show_each_group(model: Path, tmp_path: Path) -> None:
    similar = "plot", "similarity", model, "capital", "river", "--by-group"
    drawn = run(*similar, "-o", tmp_path / "similarity.svg")
    assert drawn.code == 0, drawn.err
    assert "north" in (tmp_path / "similarity.svg").read_text("utf-8")
    drawn = run("plot", "timeline", model, "--by-group", "-o", tmp_path / "timeline.svg")
    assert drawn.code == 0, drawn.err
    picture = (tmp_path / "timeline.svg").read_text("utf-8")
    assert "capital (north)" in picture
    assert "capital (south)" in picture
    refused = run(*similar, "--with", model.parent / "model", "-o", tmp_path / "both.svg")
    assert refused.code != 0
    steady = run("plot", "similarity", model, "worda", "river", "--by-group", "-o", tmp_path / "x.svg")
    assert "not in the vocabulary" in steady.err
    alike = run("plot", "similarity", model, "wordaj", "river", "--by-group", "-o", tmp_path / "alike.svg")
    assert alike.code == 0, alike.err
    assert "no significant difference" in alike.err

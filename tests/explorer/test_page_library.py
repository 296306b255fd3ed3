"""What the page says of a fitted model is what the library says of it, within the quantisation that the page
states.
"""

import gzip
import json
import re
import warnings
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from cli.command_line import run
from embeddings.moving_words import drawn
from explorer.page_driving import opened
from explorer.small_pages import moving_model, small_model

import wordtide
from wordtide.embeddings.dynamics import dynamics_of
from wordtide.explorer.explore import PageOptions, save_html
from wordtide.questions.change import changed
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import similarity
from wordtide.questions.story import story

pytestmark = pytest.mark.slow

SUBJECTS = "wheel engine river lamp market school soldier letter garden winter".split()
OLD = "mill horse candle ferry coin chapel musket parchment plough coal".split()
NEW = "motor train bulb bridge bank college rifle mail tractor gas".split()


@pytest.fixture(scope="module")
def counts():
    """Subjects that are spoken of with old things at first, and with new things later."""
    generator = np.random.default_rng(11)
    texts = []
    for year in range(1850, 2001, 25):
        for _ in range(400):
            number = int(generator.integers(len(SUBJECTS)))
            one, thing = SUBJECTS[number], (NEW if generator.random() < (year - 1850) / 150 else OLD)[number]
            texts.append(
                (str(year), f"the {one} and its {thing} near a {SUBJECTS[(number + 1) % 10]} of {thing}")
            )
    return wordtide.count(texts)


@pytest.fixture(scope="module")
def model(counts):
    return wordtide.fit(counts, dim=5, threads=1)


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = model.save_html(tmp_path_factory.mktemp("library") / "page.html", map_words=0, title="Subjects")
    with opened(path.as_uri()) as found:
        text = path.read_text(encoding="utf-8")
        header = json.loads(resource(text, "header.bin"))
        size = len(header["words"]), len(header["slices"]), header["dim"]
        deltas = np.frombuffer(
            resource(text, "vectors.bin"), dtype=np.int8, count=int(np.prod(size))
        ).reshape(size)
        yield found, header, np.add.accumulate(deltas, axis=1, dtype=np.int8).astype(np.float64)


def resource(text, name):
    """A data block of the single file, inflated."""
    (block,) = re.findall(rf'data-resource="{name}">([^<]+)<', text)
    return gzip.decompress(b64decode(block))


def test_similarities_are_the_models(model, page):
    found, header, directions = page
    spread_error = header["quantisation"]["profiled_spread"]
    # a coordinate is off by half a step at most, so a direction by half the root of d steps
    steps = 0.5 * np.sqrt(header["dim"]) / np.linalg.norm(directions, axis=2)
    errors: list[float] = []
    for word in SUBJECTS:
        others = [other for other in (*OLD, *NEW) if other != word]
        table = model.similarity(word, *others)
        for other in others:
            told = found.ask("([a, b]) => wordtide.similarity(a, b)", [word, other])
            mine = table[table.other == other]
            assert np.allclose([point["time"] for point in told], mine.time)
            bound = steps[header["words"].index(word)] + steps[header["words"].index(other)]
            assert (
                np.abs([point["similarity"] for point in told] - mine.similarity.to_numpy()) <= bound + 1e-6
            ).all()
            reach = (mine.similarity - mine.low).to_numpy()
            whole = mine.low.to_numpy() > -1.0  # not cut off
            error = np.abs([point["similarity"] - point["low"] for point in told] / reach - 1.0)
            errors.extend(error[whole])
    # stated is the 95 % quantile over pairs of all words; these are some
    assert len(errors) > 100
    assert np.quantile(errors, 0.9) <= 1.5 * spread_error


def test_lists_of_neighbors_are_those_of_the_command_line_in_the_same_order(model, page, tmp_path):
    found, header, _ = page
    model.save(tmp_path / "model")
    times = [one["shown"] for one in header["slices"]]
    asked = [(word, time) for word in header["words"] for time in times]
    told = found.ask(
        "asked => Promise.all(asked.map(([word, time]) => wordtide.neighbors(word, time)))", asked
    )
    told = [[near["word"] for near in listed] for listed in told]
    expected = []
    for word, time in asked:
        answer = run("neighbors", tmp_path / "model", word, "--at", time, "--format", "json")
        assert answer.code == 0
        expected.append([row["word"] for row in json.loads(answer.out)])
    assert len(expected) > 150
    assert max(map(len, expected)) == 10
    assert told == expected


def test_neighbors_are_the_models(model, page):
    found, _, _ = page
    for word in SUBJECTS:
        for time in (1850, 1925, 2000):
            told = found.ask("([word, time]) => wordtide.neighbors(word, time, 5)", [word, str(time)])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", wordtide.NoteWarning)
                table = model.neighbors(word, at=time, top=5)
            # words that are nearly as near may change places by rounding
            assert np.abs([near["similarity"] for near in told] - table.similarity).max() < 0.02
            listed = dict(zip(table.word, table.similarity, strict=True))
            faint = dict(zip(table.word, table.faint, strict=True))
            assert all(near["faint"] == faint.get(near["word"], near["faint"]) for near in told)
            assert all(
                near["word"] in listed or abs(near["similarity"] - table.similarity.min()) < 0.02
                for near in told
            )


def test_neighbors_are_inferred_where_the_library_says_so(tmp_path):
    model = small_model()  # many words do not occur at many slices
    marks = []
    with opened(save_html(model, tmp_path / "page.html", PageOptions(map_words=0)).as_uri()) as found:
        for word in model.words[:6]:
            for time in model.times.tolist():
                told = found.ask("([word, time]) => wordtide.neighbors(word, time, 30)", [word, time])
                table = neighbors(model, word, time, top=30).columns
                listed = dict(zip(table["word"], map(bool, table["inferred"]), strict=True))
                assert {near["word"]: near["inferred"] for near in told} == listed
                marks += listed.values()
    assert 20 < sum(marks) < len(marks) - 20


def test_a_page_of_some_slices_looks_for_occurrences_in_these(tmp_path):
    model = small_model(slices=24)
    path = save_html(model, tmp_path / "page.html", PageOptions(map_words=0, slices=8, words=20))
    header = json.loads(resource(path.read_text(encoding="utf-8"), "header.bin"))
    times = [one["time"] for one in header["slices"]]
    kept = np.searchsorted(model.times, np.array(times) - 1e-6)
    with opened(path.as_uri()) as found:
        for place, time in enumerate(times):
            near = kept[max(place - header["slices_nearby"], 0) : place + header["slices_nearby"] + 1]
            for one in found.ask(
                "([word, time]) => wordtide.neighbors(word, time, 20)", [header["words"][0], time]
            ):
                assert one["inferred"] == (model.occurrences(one["word"])[near].sum() == 0)
        text = found.go("#/about").text("main")
        assert f"{header['left_out']['why']} Here are 20 words at 8 slices." in text


def test_changed_words_are_the_librarys_each_over_the_time_of_its_story(tmp_path):
    model = moving_model()
    table = changed(model, top=24).columns
    assert all(table["significant"])
    assert len(set(zip(table["since"], table["until"], strict=True))) > 2
    with opened(
        save_html(model, tmp_path / "page.html", PageOptions(map_words=0)).as_uri(), "#/changed"
    ) as found:
        found.page.wait_for_selector(".changedWord")
        labels = found.page.locator(".changedList .row").evaluate_all(
            "rows => rows.map(row => row.ariaLabel)"
        )
        for label, word in zip(labels, table["word"], strict=True):
            assert label.startswith(told(model, word))
        for word in table["word"][:4]:
            found.go(f"#/word/{word}")
            found.wait(
                "word => document.querySelector('h1 b')?.textContent === word && document.querySelector('.panel .when')",
                word,
            )
            facts = story(model, word).facts
            shown = found.page.locator(".panel .when").all_inner_texts()
            assert [shown[0], shown[2]] == [str(int(facts["since"])), str(int(facts["until"]))]


def told(model, word):
    """How the list begins to tell of a word that changed gradually, by the facts of its story."""
    facts = story(model, word).facts
    assert facts["verdict"] == "gradual"
    names = ("date_low", "date_high", "since", "until")
    low, high, since, until = (int(round(facts[name], 6)) for name in names)
    amount = "a lot" if facts["effect"] >= 0.1 else "somewhat"
    bits = f"{facts['effect']:.2f} bits a use, at least {facts['effect_low']:.2f}"
    return f"{word}: gradual, {low}–{high}, changed {amount} ({bits}), between {since} and {until}, from {facts['from'][:2]}"


def test_where_no_word_surely_changed_the_page_has_the_librarys_note(model, page):
    found, _, _ = page
    found.go("#/changed").page.wait_for_selector(".changedWord")
    answer = changed(model, top=1000)
    assert not any(answer.columns["significant"])
    assert found.page.locator(".notice").all_inner_texts() == answer.notes
    assert (
        found.page.locator(".changedList .row.quiet .changedWord").all_text_contents()
        == answer.columns["word"][:40]
    )
    found.go("#/").page.wait_for_selector(".card.quiet")
    assert found.text("[aria-label='No significant change'] .note") == answer.notes[0]


def test_the_headline_and_the_verdict_are_those_of_the_models_story(model, page):
    found, _, _ = page
    for word in ("wheel", "engine", "motor"):
        found.go(f"#/word/{word}")
        said = "document.querySelector('h1').textContent"
        found.wait(f"word => document.querySelector('h1 b')?.textContent === word && {said} !== word", word)
        facts = story(model, word).facts
        assert facts["verdict"] == "unsure"
        near = list(dict.fromkeys([*facts["from"].split(", ")[:2], *facts["to"].split(", ")[:2]]))
        span = f"between {int(facts['since'])} and {int(facts['until'])}"
        assert found.ask(said) == f"{word} shows no significant change {span}. Near it: {', '.join(near)}."


def test_every_verdict_and_the_jumps_themselves_are_the_librarys(tmp_path):
    fitted = drawn("smoother")[0]
    model = wordtide.DynamicEmbeddings(replace(fitted, dynamics=dynamics_of(fitted)))
    names = {"still": "No significant change", "jumps": "Jump", "ramps": "Gradual change"}
    names |= {"bursts": "Burst and return", "gaps": "Jump"}
    # as many marks as dates, a ramp for a gradual change
    marks = {"still": (0, 0), "jumps": (1, 0), "ramps": (0, 1), "bursts": (2, 0), "gaps": (1, 0)}
    path = save_html(model, tmp_path / "page.html", PageOptions(map_words=0))
    header = json.loads(resource(path.read_text(encoding="utf-8"), "header.bin"))
    with opened(path.as_uri()) as found:
        for word, verdict in names.items():
            facts = story(model, word).facts
            found.go(f"#/word/{word}")
            found.wait("word => document.querySelector('h1 b')?.textContent === word", word)
            found.page.wait_for_selector(".wordView .end")
            assert found.text(".verdict").startswith(verdict)
            drawn_marks = [found.page.locator(f".wide .{kind}").count() for kind in ("jump", "ramp")]
            assert tuple(drawn_marks) == marks[word]
            if verdict == "Jump":
                assert re.search(rf"(in|around) {int(round(facts['date'], 6))}\.$", found.text("h1"))
            other = next(name for name in model.words if name != word)
            told = found.ask("([a, b]) => wordtide.similarity(a, b)", [word, other])
            mine = similarity(model, word, other).columns["similarity"]
            shown = [point["similarity"] for point in told]
            assert np.abs(np.array(shown) - mine).max() <= 2.0 * header["quantisation"]["similarity"] + 1e-3


@pytest.mark.parametrize("method", ["warm-start", "filtering"])
def test_models_of_other_methods_have_all_views(counts, method, tmp_path):
    other = wordtide.fit(counts, method=method, dim=5, threads=1)
    path = other.save_html(tmp_path / "page.html", map_words=30)
    with opened(path.as_uri()) as found:
        for route in ("#/word/engine", "#/changed", "#/compare", "#/map", "#/about", "#/"):
            found.go(route)
            found.page.wait_for_timeout(300)
        found.go("#/changed")
        found.wait("() => document.querySelector('main svg rect') !== null")
        assert found.ask("() => document.querySelectorAll('main svg path.thick').length > 0") == (
            method == "filtering"
        )

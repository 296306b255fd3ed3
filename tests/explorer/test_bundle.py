"""The page as one file and as a folder: data that cannot run, within the size, whole or not at all, the same
every time.
"""

import base64
import hashlib
import os
import re
from functools import cache

import numpy as np
import pytest
from explorer.small_pages import HOSTILE, KINDS, PAGE, block_of, blocks_in, parsed, small_model
from observers import RecordingObserver

from wordtide.api import DynamicEmbeddings
from wordtide.counts.count import count
from wordtide.counts.counts import Counts
from wordtide.errors import FolderError, OutputError, SettingsError
from wordtide.explorer import explore as opening
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.explore import PageOptions, save_html, save_site
from wordtide.explorer.page_data import Labels, PageData
from wordtide.explorer.page_views import select_all
from wordtide.explorer.server import ExplorerServer
from wordtide.explorer.single_file import Limits, fitting_content, policy, single_file
from wordtide.inference.fit import fit

NO_MAP = PageOptions(map_words=0)
FILES = [
    "header.bin",
    "nearest.bin",
    "occurrences.bin",
    "stories.bin",
    "changed.bin",
    "cards.bin",
    "vectors.bin",
]


@cache
def large_model():
    """A model whose whole page takes 0.33 MB."""
    return small_model(words=150, slices=40, dim=40)


@pytest.fixture(autouse=True)
def _plain_page(monkeypatch):
    monkeypatch.setattr(opening, "built_page", lambda: PAGE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_file_holds_every_resource(kind, tmp_path):
    model = small_model(kind)
    written = save_html(model, tmp_path / "story.html", NO_MAP)
    blocks = blocks_in(written.read_bytes())
    assert sorted(blocks) == sorted(FILES)
    assert next(iter(blocks)) == "header.bin"
    header = parsed(blocks["header.bin"])
    assert (header["format"], header["version"], header["embedded"]) == ("wordtide-explorer", 1, True)
    block_of(blocks["vectors.bin"], len(header["words"]) * len(header["slices"]), header["dim"])


def test_words_cannot_leave_the_data(tmp_path):
    names = [*HOSTILE, *(f"w{n}" for n in range(12))]
    options = PageOptions(
        map_words=0, title="</script><script>alert(1)</script>", licence='"><img src=x onerror=alert(1)>'
    )
    html = save_html(small_model(names=names), tmp_path / "story.html", options).read_text(encoding="utf-8")
    page = re.sub(
        r'<script type="application/octet-stream" data-resource="[a-z]+\.bin">[A-Za-z0-9+/=]*</script>\n',
        "",
        html,
    )
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(PAGE, remote=False)}">'
    assert page == PAGE.replace("<!--wordtide:policy-->", tag).replace("<!--wordtide:data-->", "")


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else():
    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    script, style = digest("document.title = 'é';"), digest("p { margin: 0 }")
    assert policy(PAGE, remote=False) == (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert policy(PAGE, remote=True).replace("connect-src 'self'; ", "") == policy(PAGE, remote=False)


@pytest.mark.parametrize(
    "page",
    [
        "",
        PAGE.replace("<!--wordtide:data-->", ""),
        PAGE + "<!--wordtide:policy-->",
        PAGE + "<script></script>",
    ],
)
def test_a_page_that_is_not_as_built_is_refused(page):
    with pytest.raises(FolderError, match="damaged"):
        list(single_file(page, {}))


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("one.html", "two.html"):
        save_html(small_model(), tmp_path / name, PageOptions(map_words=0, title="t"))
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


@pytest.mark.parametrize("max_mb", [0.12, 0.2])
def test_a_file_stays_within_its_size_and_says_what_it_leaves_out(max_mb, tmp_path):
    listening = RecordingObserver()
    model = large_model()
    written = save_html(
        model, tmp_path / "story.html", PageOptions(map_words=0, max_mb=max_mb), observer=listening
    )
    header = parsed(blocks_in(written.read_bytes())["header.bin"])
    assert written.stat().st_size <= max_mb * 1e6
    assert written.stat().st_size > 0.7 * max_mb * 1e6
    assert listening.messages == [header["left_out"]["why"]]
    assert f"to stay within {max_mb:g} MB" in header["left_out"]["why"]
    assert header["left_out"]["slices"] == 40 - len(header["slices"]) > 0


def test_words_go_only_when_a_dozen_slices_of_all_are_too_many(tmp_path):
    model = large_model()
    for max_mb in (0.1, 0.18):
        written = save_html(model, tmp_path / f"{max_mb}.html", PageOptions(map_words=0, max_mb=max_mb))
        header = parsed(blocks_in(written.read_bytes())["header.bin"])
        assert (len(header["words"]) < 150) == (len(header["slices"]) == 12)
    assert len(header["words"]) == 150


@pytest.mark.parametrize("slices", [None, 30])
def test_an_estimate_that_is_too_low_is_mended(slices, tmp_path, monkeypatch):
    monkeypatch.setattr("wordtide.explorer.single_file._SAFETY", 0.3)
    options = PageOptions(slices=slices, map_words=0, max_mb=0.16)
    written = save_html(large_model(), tmp_path / "story.html", options)
    header = parsed(blocks_in(written.read_bytes())["header.bin"])
    assert written.stat().st_size <= options.max_mb * 1e6
    assert len(header["words"]) == 150 if slices is None else len(header["slices"]) == 30


def test_what_was_asked_for_and_does_not_fit_is_an_error(tmp_path):
    model = large_model()
    with pytest.raises(SettingsError, match="150 words and 40 slices do not fit"):
        save_html(model, tmp_path / "story.html", PageOptions(words=150, slices=40, map_words=0, max_mb=0.2))
    assert os.listdir(tmp_path) == []


def test_words_and_slices_asked_for_are_kept(tmp_path):
    written = save_html(small_model(), tmp_path / "story.html", PageOptions(words=12, slices=3, map_words=0))
    header = parsed(blocks_in(written.read_bytes())["header.bin"])
    assert (len(header["words"]), len(header["slices"])) == (12, 3)


def test_a_lighter_file_first_has_fewer_dates_then_coarser_vectors_then_fewer_words(monkeypatch):
    monkeypatch.setattr("wordtide.explorer.single_file.ENOUGH_SLICES", 20)
    monkeypatch.setattr("wordtide.explorer.single_file.ENOUGH_WORDS", 60)
    model = large_model()
    data = PageData(model, select_all(model), Labels("light"))
    found = [fitting_content(data, Limits(size)) for size in range(360_000, 20_000, -5_000)]
    forms = [(len(one.kept.words), len(one.kept.slices), one.levels, one.sentences) for one in found]
    assert forms[0] == (150, 40, 127, 6)
    stages = [
        0 if levels == 127 else 1 if words == 150 else 2 if slices == 20 else 3
        for words, slices, levels, _ in forms
    ]
    assert stages == sorted(stages)
    assert set(stages) == {0, 1, 2, 3}
    for (words, slices, levels, sentences), stage in zip(forms, stages, strict=True):
        assert sentences == (6 if levels == 127 else 2)
        assert slices >= (20 if stage < 3 else 12)
        assert words == 150 if stage < 2 else words >= 60 if slices > 12 else words >= 10


@pytest.mark.parametrize(
    "option",
    [{"words": 9}, {"slices": 1}, {"max_mb": 0}, {"max_mb": float("nan")}, {"map_words": -1}, {"threads": 0}],
)
def test_options_that_make_no_page_are_refused(option):
    with pytest.raises(SettingsError):
        PageOptions(**option)


def test_a_model_without_time_has_no_page(tmp_path):
    with pytest.raises(SettingsError, match="single slice"):
        save_html(small_model(slices=1), tmp_path / "story.html")


def test_an_existing_file_is_replaced_only_if_asked(tmp_path):
    target = tmp_path / "story.html"
    target.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        save_html(small_model(), target, NO_MAP)
    assert target.read_text() == "mine"
    save_html(small_model(), target, NO_MAP, overwrite=True)
    assert blocks_in(target.read_bytes())
    assert os.listdir(tmp_path) == ["story.html"]


def test_an_interrupted_export_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(opening, "single_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_html(small_model(), tmp_path / "story.html", NO_MAP)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_holds_the_page_and_plain_files(kind, tmp_path):
    site = save_site(small_model(kind, words=12, slices=4), tmp_path / "site", NO_MAP)
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "connect-src 'self'" in page
    assert "data-resource" not in page
    header = parsed((site / "data" / "header.bin").read_bytes())
    assert header["embedded"] is False
    per_chunk = header["words_per_chunk"]
    names = ["header", "occurrences", "changed", "cards", *(f"slices/{n:04d}" for n in range(4))]
    names += [
        f"{kind}/{n:04d}" for kind in ("words", "stories", "nearest") for n in range(-(-12 // per_chunk))
    ]
    found = {str(path.relative_to(site / "data")) for path in (site / "data").rglob("*.bin")}
    assert found == {f"{name}.bin" for name in names}


def test_a_folder_of_ours_is_replaced_if_asked_and_another_never(tmp_path):
    model = small_model(words=12, slices=4)
    save_site(model, tmp_path / "site", NO_MAP)
    (tmp_path / "site" / "data" / "slices" / "0009.bin").write_text("old")
    with pytest.raises(OutputError, match="exists"):
        save_site(model, tmp_path / "site", NO_MAP)
    save_site(model, tmp_path / "site", NO_MAP, overwrite=True)
    assert not (tmp_path / "site" / "data" / "slices" / "0009.bin").exists()
    (tmp_path / "photos").mkdir()
    with pytest.raises(OutputError, match="not a folder made by wordtide"):
        save_site(model, tmp_path / "photos", NO_MAP, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["photos", "site"]


def test_a_folder_that_cannot_be_finished_leaves_what_was_there(tmp_path, monkeypatch):
    model = small_model(words=12, slices=4)
    site = save_site(model, tmp_path / "site", NO_MAP)
    before = (site / "index.html").read_bytes()

    def failing(self, name):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wordtide.explorer.resources.RemoteResources.resource", failing)
    with pytest.raises(OutputError, match="disk is full"):
        save_site(model, tmp_path / "site", NO_MAP, overwrite=True)
    assert (site / "index.html").read_bytes() == before
    assert os.listdir(tmp_path) == ["site"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Counts with sentences, and a model of them."""
    folder = tmp_path_factory.mktemp("corpus")
    trades = ["miller", "smith", "weaver", "baker", "cooper", "tanner"]
    sentences = [f"The {trade} sold <b>{thing}</b> today." for trade in trades for thing in ("bread", "iron")]
    texts = [(str(year), " ".join(sentences)) for year in (1900, 1905, 1910, 1915)]
    counts = count(texts, output=folder / "counts", every="year", examples=2)
    return folder / "counts", fit(counts, dim=4, threads=1, max_steps=2)


def test_sentences_are_there_if_asked_for(corpus, tmp_path):
    folder, model = corpus
    blocks = blocks_in(
        save_html(model, tmp_path / "story.html", PageOptions(map_words=0, examples=folder)).read_bytes()
    )
    header, examples = parsed(blocks["header.bin"]), parsed(blocks["examples.bin"])
    assert header["examples"] is True
    assert [one["documents"] for one in header["slices"]] == [1, 1, 1, 1]
    place = str(header["words"].index("miller"))
    assert {one["word"] for one in examples[place]} == {"miller"}
    assert [one["slice"] for one in examples[place]] == sorted(one["slice"] for one in examples[place])
    for one in examples[place]:
        assert header["slices"][one["slice"]]["shown"] == one["shown"]
        assert (one["before"], one["after"][:6]) == ("The ", " sold ")
    assert len(examples[place]) == 6


def test_the_sentences_of_the_old_and_the_new_use_are_closest_to_the_neighbors_named(corpus):
    folder, model = corpus
    kept = select_all(model)
    (place,) = np.flatnonzero([model.words[number] == "miller" for number in kept.words])
    evidence = Evidence(model, Counts.load(folder))
    story = {"since": 1900.5, "until": 1915.5, "verdict": "jump", "date_low": 1906.0, "date_high": 1909.0}
    story["second_date"] = None
    for old, new in (("bread", "iron"), ("iron", "bread")):
        told = [{**story, "from": [old], "to": [new]}]
        (found,) = evidence.sentences(kept, np.array([place]), 6, told).values()
        shown = {one["shows"]: one for one in found if one["shows"]}
        assert old in shown["old"]["after"]
        assert new in shown["new"]["after"]
        assert shown["old"]["shown"] <= "1905" < "1910" <= shown["new"]["shown"]
    told = [{**story, "second_date": 1914.0, "from": ["bread"], "to": ["iron"]}]
    (found,) = evidence.sentences(kept, np.array([place]), 6, told).values()
    assert [one["shown"] for one in found if one["shows"] == "new"] == ["1915"]


def test_sentences_of_slices_left_out_stand_with_the_nearest(corpus, tmp_path):
    folder, model = corpus
    options = PageOptions(map_words=0, examples=folder, slices=2)
    blocks = blocks_in(save_html(model, tmp_path / "story.html", options).read_bytes())
    header, examples = parsed(blocks["header.bin"]), parsed(blocks["examples.bin"])
    shown = {one["shown"]: one["slice"] for one in examples[str(header["words"].index("miller"))]}
    assert shown == {"1900": 0, "1905": 0, "1910": 1, "1915": 1}


def test_without_asking_there_are_no_sentences(corpus, tmp_path):
    blocks = blocks_in(save_html(corpus[1], tmp_path / "story.html", NO_MAP).read_bytes())
    assert "examples.bin" not in blocks
    assert parsed(blocks["header.bin"])["examples"] is False


def test_counts_of_another_corpus_are_refused(corpus, tmp_path):
    with pytest.raises(SettingsError, match="other slices"):
        save_html(small_model(slices=4), tmp_path / "story.html", PageOptions(examples=corpus[0]))


def test_a_model_writes_its_own_page_by_its_method(tmp_path):
    model = small_model()
    assert isinstance(model, DynamicEmbeddings)
    written = model.save_html(tmp_path / "story.html", map_words=0, title="Mine")
    assert parsed(blocks_in(written.read_bytes())["header.bin"])["title"] == "Mine"


def test_a_model_opens_its_own_page_by_its_method(monkeypatch, capsys):
    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(ExplorerServer, "serve_forever", interrupted)
    small_model().explore(browser=False, map_words=0)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", capsys.readouterr().out)


def test_a_file_and_a_folder_show_one_bar_at_a_time(corpus, tmp_path):
    model, options = small_model(words=12, slices=3), PageOptions(map_words=12)
    file, site, sentences = RecordingObserver(), RecordingObserver(), RecordingObserver()
    save_html(model, tmp_path / "story.html", options, observer=file)
    assert [name for name, *_ in file.stages] == ["neighbors", "stories", "changes", "mapping", "vectors"]
    save_site(model, tmp_path / "site", options, observer=site)
    assert [name for name, *_ in site.stages] == [
        "changes",
        "mapping",
        "vectors",
        "stories",
        "neighbors",
        "writing",
    ]
    with_examples = PageOptions(map_words=0, examples=corpus[0])
    save_html(corpus[1], tmp_path / "with.html", with_examples, observer=sentences)
    assert "sentences" in [name for name, *_ in sentences.stages]
    for observer in (file, site, sentences):
        assert observer.finished
        assert all(depth == 0 and done == total for _, done, total, depth in observer.stages)


def test_a_model_with_fractions_of_occurrences_has_whole_ones_on_the_page(tmp_path):
    model = small_model()
    halves = small_model(values=np.asarray(model.fitted.occurrences.values) / 2.0)
    blocks = blocks_in(save_html(halves, tmp_path / "story.html", NO_MAP).read_bytes())
    assert parsed(blocks["header.bin"])["totals"][0] == model.total_occurrences.max() / 2

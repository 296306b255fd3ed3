"""Texts of Debian packages come without macros, markup and file headers."""

import gzip

from package_texts import plain_manual, texts_of


def test_a_manual_page_loses_its_macros_and_escapes():
    page = '.\\" a comment\n.TH CP 1\n.SH "NOM"\ncp \\- \\fBcopier\\fR les fichiers\n.BI cp " source"\n.nf\n'
    assert plain_manual(page).split() == "NOM cp - copier les fichiers cp source".split()


def test_pages_and_sayings_are_read_in_order_of_their_paths(tmp_path):
    for path, content in {
        "usr/share/games/fortunes/ru/one": "Раз.\n%\nДва.\n",
        "usr/share/games/fortunes/ru/one.dat": "\0",
        "usr/share/help/de/a.html": "<html><head><title>x</title></head><p>Zellen f&uuml;llen</p></html>",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    (tmp_path / "usr/share/man/fr/man1").mkdir(parents=True)
    (tmp_path / "usr/share/man/fr/man1/ls.1.gz").write_bytes(gzip.compress(b"afficher"))
    assert [text.strip() for text in texts_of(tmp_path)] == ["Раз.", "Два.", "Zellen füllen", "afficher"]

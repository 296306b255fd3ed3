"""The promises to newcomers, a row each: any file, any date, no lost work, usual conventions.

A key is the line that is typed, or what is special about the files that are counted. Every row runs in a folder
of its own with texts, counts and a model.
"""

import datetime as dt
import json
import os

import numpy as np
import pytest
from cli.typed_lines import (
    CHINESE,
    GERMAN,
    JAPANESE,
    THAI,
    TWEET,
    Row,
    alone,
    counted,
    dated,
    explored,
    in_python,
    in_shell,
    interrupted,
    lists_of_words,
    move_out,
    opened_in_libreoffice,
    refused,
    same_as,
    spoil,
    table,
    words,
)
from office_files import archive, docx, odt, pdf, rtf, xlsx

FILES_AND_DATES = {
    # Numbers that are no clear date
    "36525": counted(dated(36525), refused=("line 2", "1999-12-31 as an Excel serial date (--date-format excel)")),
    "199912": counted(dated(199912), refused=("1999-12 as YYYYMM (--date-format '%Y%m')", "1970-01-03")),
    "991231": counted(dated(991231), refused=("1999-12-31 as YYMMDD (--date-format '%y%m%d')",)),
    "20180": counted(dated(20180), refused=("1955-04-01 as an Excel serial date", "--date-format epoch")),
    "36525 as an Excel date": counted(dated(36525), ("--date-format", "excel", "--every", "day"), ("1999-12-31",)),
    "36525.75 as an Excel date": counted(
        dated(36525.75), ("--date-format", "excel", "--every", "hour"), ("1999-12-31T18",)
    ),
    "199912 as YYYYMM": counted(dated(199912), ("--date-format", "%Y%m", "--every", "month"), ("1999-12",)),
    "991231 as YYMMDD": counted(dated(991231), ("--date-format", "%y%m%d", "--every", "day"), ("1999-12-31",)),
    "20180 as seconds": counted(dated(20180), ("--date-format", "epoch"), ("1970",)),
    # Names of files
    "MS 1234 fol 12, 1899-05.txt": counted(
        {"MS 1234 fol 12, 1899-05.txt": "steam"}, ("--every", "month"), ("1899-05",),
        said=("file names with unclear dates: 1", "1899-05 for 'MS 1234 fol 12, 1899-05.txt'"),
    ),
    "Vol 3 p 1000 (1902).txt": counted(
        {"Vol 3 p 1000 (1902).txt": "steam"}, (), ("1902",), said=("1902 for 'Vol 3 p 1000 (1902).txt'",)
    ),
    "1984 by Orwell, 1949.txt": counted(
        {"1984 by Orwell, 1949.txt": "steam"}, (), ("1949",), said=("1949 for '1984 by Orwell, 1949.txt'",)
    ),
    "a name with one date": counted({"1862-12-01_lincoln_12.txt": "steam"}, (), ("1862",), said=("1862-12-01",)),
    "a name with a signature alone": counted(
        {"MS 1234.txt": "steam"}, (), ("1234",), said=("file names with unclear dates: 1; chosen: 1234 for 'MS 1234.txt'",)
    ),
    "a name whose day may be its month": counted(
        {"12-03-1890.txt": "steam"}, (), ("1890",), said=("file names with unclear dates: 1; chosen: 1890 for '12-03-1890.txt'",)
    ),
    "a name whose day is first by request": counted(
        {"12-03-1890.txt": "steam"}, ("--date-format", "day-first", "--every", "day"), ("1890-03-12",)
    ),
    "1889 03 12 Brief.txt": counted({"1889 03 12 Brief.txt": "steam"}, ("--every", "day"), ("1889-03-12",)),
    "a manuscript in a folder of its year": counted({"1899/MS 1234.txt": "steam"}, (), ("1899",)),
    # Precision
    "1901.txt by month": counted(
        {"1901.txt": "steam"}, ("--every", "month"), ("1901-07",),
        said=("dates less precise than a slice: 1 of 1 document, such as 1901 (1901.txt)",),
    ),
    "Brief 12.03.1901.txt by month": counted({"Brief 12.03.1901.txt": "steam"}, ("--every", "month"), ("1901-03",)),
    "Brief 5. März 1902.txt by day": counted({"Brief 5. März 1902.txt": "steam"}, ("--every", "day"), ("1902-03-05",)),
    # Delimiters and encodings
    "a semicolon CSV": counted(
        {"x.csv": table(("1901", "Steam, power"), ("1902", "mill"), delimiter=";")}, (), ("1901", "1902"),
        words("steam power mill"), said=("delimiter ';'",),
    ),
    "a semicolon CSV with commas in its header": counted(
        {"x.csv": "date;title, subtitle;text\n1901;a;steam\n1902;b, c, d;mill\n"}, (), ("1901", "1902"), words("steam mill")
    ),
    "a comma CSV with semicolons in its texts": counted(
        {"x.csv": table(("1901", "steam; power; a"), ("1902", "mill; b"))}, (), ("1901", "1902"), said=("delimiter ','",)
    ),
    "a tab-separated .csv": counted(
        {"x.csv": table(("1901", "Steam, power"), delimiter="\t")}, (), ("1901",), words("steam power"), said=("delimiter tab",)
    ),
    "a delimiter of one's own": counted(
        {"x.csv": table(("1901", "steam"), delimiter="^")}, ("--delimiter", "^"), ("1901",), words("steam")
    ),
    "a Windows-1252 CSV": counted(
        {"x.csv": table(("1901", GERMAN), delimiter=";").encode("cp1252")}, (), ("1901",), words("grüße köln straße"),
        said=("encoding cp1252",),
    ),
    "a Windows-1252 text": counted(
        {"1901.txt": GERMAN.encode("cp1252")}, (), ("1901",), words("grüße köln"), said=("encoding cp1252",)
    ),
    "Windows-1252 JSON Lines": counted(
        {"x.jsonl": b'{"date": "1901", "text": "' + GERMAN.encode("cp1252") + b'"}\n'}, (), ("1901",), words("grüße straße")
    ),
    "a UTF-16 CSV": counted(
        {"x.csv": table(("1901", GERMAN.replace(",", ""))).encode("utf-16")}, (), ("1901",), words("grüße"), said=("encoding utf-16",)
    ),
    "a UTF-16 text without a mark": counted(
        {"1901.txt": GERMAN.encode("utf-16-le")}, (), ("1901",), words("grüße"), said=("encoding utf-16-le",)
    ),
    "a byte-order mark": counted({"x.csv": "\ufeff" + table(("1901", "steam"))}, (), ("1901",), words("steam")),
    "an encoding of one's own": counted(
        {"1901.txt": "ŁÓDŹ".encode("cp852")}, ("--encoding", "cp852"), ("1901",), words("łódź"), said=("encoding cp852",)
    ),
    # Documents
    "a Word document": counted(
        {"1901.docx": docx("Liebe <w:b/>Mutter", "viele Grüße")}, (), ("1901",), words("liebe mutter grüße"), said=("1 docx file",)
    ),
    "a Word document with the name of a text": counted({"1901.txt": docx("steam")}, (), ("1901",), words("steam")),
    "an OpenDocument text": counted({"1901.odt": odt("steam", "power")}, (), ("1901",), words("steam power")),
    "a web page": counted(
        {"1901.html": "<!DOCTYPE html><html><head><style>p{color:red}</style></head><body><p class='x'>Fish &amp; <b>ch</b>ips"
                      "<script>var spam = 1;</script></body></html>"},
        (), ("1901",), words("fish chips"), words("class color spam p amp"),
    ),
    "a web page that declares its encoding": counted(
        {"1901.html": "<html><meta charset=iso-8859-2><p>Łódź</p></html>".encode("iso-8859-2")}, (), ("1901",), words("łódź")
    ),
    "a PDF file": counted({"1901.pdf": pdf("steam power")}, (), ("1901",), words("steam power"), said=("1 pdf file",)),
    "a Rich Text file": counted({"1901.rtf": rtf("steam \\b power")}, (), ("1901",), words("steam power"), words("rtf1 ansi times")),
    "a workbook": counted(
        {"x.xlsx": xlsx(["Date", "Text"], [dt.date(1999, 12, 31), "steam"], ["c. 1850", "mill"])}, ("--every", "year"),
        ("1850", "1999"), words("steam mill"), said=("1 xlsx file; columns Date, Text", "day 1, year 1"),
    ),
    "a workbook with the name of a table": counted(
        {"x.csv": xlsx(["date", "text"], ["1901", "steam"])}, refused=("x.csv", "workbook", "--format xlsx")
    ),
    "an old Word document": counted(
        {"1901.txt": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)}, refused=("1901.txt", "old version of Office", "save it as .docx")
    ),
    "old Word documents in a folder of texts": counted(
        {"1901.txt": "steam", "1902.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)},
        refused=("1902.doc", "old version of Office", "save it as .docx", "--skip-bad"),
    ),
    "files of other kinds in a folder of texts": counted(
        {"1901.txt": "steam", "a.jpg": b"\xff\xd8", "b.JPG": b"\xff\xd8", "README": "1"}, (), ("1901",),
        said=("3 files with other endings not read (.jpg 2, no ending 1)",),
    ),
    "an XML file with the name of a text": counted(
        {"1901.txt": '<?xml version="1.0"?>\n<TEI><p rend="it">steam</p></TEI>'}, refused=("1901.txt", "an XML file", "Convert it to text"),
    ),
    "a damaged PDF file": counted({"1901.pdf": b"%PDF-1.7 nothing"}, refused=("1901.pdf", "cannot be read", "save it as text")),
    "a bomb in a Word document": counted(
        {"1901.docx": archive(word__document_xml="<a>" + " " * 80_000_000 + "</a>")}, refused=("1901.docx", "--max-expansion")
    ),
    "entities in a Word document": counted(
        {"1901.docx": archive(word__document_xml='<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><a>&c;</a>')},
        refused=("1901.docx", "declares XML entities"),
    ),
    "a picture": counted({"1901.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"}, refused=("1901.txt", "not text")),
    # Forms of dates, of files and of slices
    "a JSON array": counted(
        {"x.json": json.dumps([{"date": "1901", "text": 'a "steam, [mill]"'}, {"date": "1902", "text": "b\n{c}"}], indent=2)},
        (), ("1901", "1902"), words("steam mill c"), said=("1 JSON array file",),
    ),
    "a JSON array that is cut": counted({"x.json": '[{"date": "1901", "text": "steam"}, {"da'}, refused=("x.json", "cut short")),
    "an item without a date": counted(
        {"x.json": '[{"date": "1901", "text": "steam"},\n {"text": "mill"}]'}, refused=("x.json, item 2", "'date' is missing")
    ),
    "Twitter's created_at": counted(
        {"x.jsonl": json.dumps({"created_at": TWEET, "text": "steam"})}, ("--every", "hour"), ("2008-08-27T13",)
    ),
    "31.12.1999": counted(dated("31.12.1999"), ("--every", "day"), ("1999-12-31",)),
    "31 Dec 1999": counted(dated("31 Dec 1999"), ("--every", "day"), ("1999-12-31",)),
    "31/12/1999": counted(dated("31/12/1999"), ("--every", "day"), ("1999-12-31",)),
    "03/04/1999": counted(
        dated("03/04/1999"), refused=("1999-04-03 (--date-format day-first)", "1999-03-04 (--date-format month-first)")
    ),
    "03/04/1999 day-first": counted(
        dated("03/04/1999"), ("--date-format", "day-first", "--every", "day"), ("1999-04-03",)
    ),
    "03/04/1999 month-first": counted(
        dated("03/04/1999"), ("--date-format", "month-first", "--every", "day"), ("1999-03-04",)
    ),
    "1850s": counted(dated("1850s"), ("--every", "decade"), ("1850-1859",), said=("several years 1",)),
    "c. 1850": counted(dated("c. 1850"), (), ("1850",)),
    "--every decade": counted(dated(1856), ("--every", "decade"), ("1850-1859",)),
    "--every 10years": counted(dated(1856), ("--every", "10years"), ("1850-1859",)),
    # Markup
    "entities": counted(
        dated("1901") | {"y.csv": table(("1901", "fish &amp; chips &#8217; caf&eacute; R&D"))}, (), ("1901",),
        words("fish chips café r d"), words("amp eacute"),
    ),
    "stop words": counted(
        {"x.csv": table(("1901", "The fish and the chips")), "stop.lst": "the\nAnd  # a comment\n"}, ("--stop-words", "{folder}/stop.lst"),
        ("1901",), words("fish chips"), words("the and"),
    ),
    "retweet markers": counted(
        {"x.csv": table(("2008", "RT @bob: fish"))}, ("--drop", r"RT @\w+:"), ("2008",), words("fish"), words("rt bob")
    ),
    "reStructuredText": counted(
        {"1901.txt": ".. code-block:: python\n\nThe :class:`fish` swims."}, ("--drop", r"(?m)^\.\. .*|:\w+:"), ("1901",),
        words("the fish swims"), words("code-block python class"),
    ),
    "wiki markup": counted(
        {"1901.txt": "{{Infobox|a=b}} The [[fish|Fish]] <ref name=x>spam</ref> swims."},
        ("--drop", r"\{\{[^}]*\}\}|<ref[^>]*>[^<]*</ref>|\[\[[^|\]]*\|"), ("1901",), words("the fish swims"), words("infobox ref spam"),
    ),
    "a pattern for n-grams": counted(
        {"x": "steam power\t1862\t3\t2\n"}, ("--format", "ngrams", "--drop", "x"), refused=("N-gram tables", "--drop")
    ),
    "a pattern that is no regular expression": counted(dated("1901"), ("--drop", "(a"), refused=("--drop '(a' cannot be used", "RE2")),
    # Scripts without spaces
    "Chinese": counted({"1901.txt": CHINESE}, (), ("1901",), said=("82% of the text has no spaces", "jieba")),
    "Japanese": counted({"1901.txt": JAPANESE}, (), ("1901",), said=("% of the text has no spaces", "MeCab")),
    "Thai": counted({"1901.txt": THAI}, (), ("1901",), said=("100% of the text has no spaces", "PyThaiNLP")),
    "English": counted({"1901.txt": "Steam power."}, (), ("1901",), words("steam power")),
}  # fmt: skip

DAMAGED = ("is damaged",)
ZERO = "/dev/zero is not a regular file"
FULL = ("wordtide: standard output cannot be written: No space left on device.",)
ADAM = "--dim 4 --threads 1 --checkpoint-every 100 --diffusion 0.001 --solver adam"

LOST_WORK = {
    # Outputs that are inputs, or of another kind
    "fit counts -o counts --overwrite": refused(4, "is the input counts, so it will not be replaced"),
    "fit counts -o ./texts/../counts --overwrite": refused(4, "is the input"),
    "count texts -o model --overwrite": refused(4, "is of another kind (model), so the new counts will not replace it"),
    "fit counts -o others --overwrite": refused(4, "is of another kind (counts), so the new model will not replace it"),
    "merge counts others -o others --overwrite": refused(4, "is the input others"),
    "evaluate counts --dim 4 -o counts --overwrite": refused(4, "is the input"),
    "evaluate counts --dim 4 -o model --overwrite": refused(4, "is of another kind (model), so the new evaluation will"),
    "tune counts --dim 4 -o counts --overwrite": refused(4, "is the input"),
    "explore model --folder model --overwrite": refused(4, "is of another kind (model)"),
    "export model --to word2vec --at last --words words.txt -o words.txt --overwrite": refused(4, "is the input words.txt"),
    "fit counts -o next --dim 4": refused(4, "next.checkpoint is of another kind (counts)"),
    "fit counts -o next --dim 4 --overwrite": refused(4, "next.checkpoint is of another kind (counts)"),
    "count texts -o next --scheduler local:1": refused(4, "next.work is neither empty nor a work folder"),
    "count texts -o /": refused(4, "/ cannot be replaced"),
    "fit counts -o / --overwrite": refused(4, "/ cannot be replaced"),
    "export model --to word2vec --at last -o /": refused(4, "/ cannot be replaced"),
    # Ctrl-C
    f"fit counts -o new {ADAM} --adam-minibatch-steps 100000": Row(how=interrupted, code=130, said=("holds what is done", "Continue with: wordtide fit counts")),
    f"fit counts -o new --method filtering {ADAM} --adam-steps 100000": Row(how=interrupted, code=130, said=("holds what is done", "Continue with: wordtide fit counts")),
    # Resources
    "count texts -o new --workers 100000": Row(said=("using ", " workers, not 100,000")),
    "fit counts -o new --config /dev/zero": refused(3, ZERO),
    "fit counts -o new --config texts": refused(3, "texts is a folder"),
    "export model --to word2vec --at last --words /dev/zero -o new": refused(3, ZERO),
    "count texts -o new --vocabulary /dev/zero": refused(3, ZERO),
    "plot likelihood /dev/zero -o new.png": refused(3, ZERO),
    "count /dev/zero --format jsonl -o new": refused(3, ZERO),
    "count /dev/zero --format csv -o new": refused(3, ZERO),
    "count /dev/zero --format ngrams -o new": refused(3, ZERO),
    "count files -o new  # a device": refused(3, "1899.txt is not a regular file", prepare=lambda here: os.symlink("/dev/zero", here / "files" / "1899.txt")),
    "count files -o new  # a pipe": refused(3, "1899.txt is not a regular file", prepare=lambda here: os.mkfifo(here / "files" / "1899.txt")),
    # Standard output on a full disk
    "wordtide --help > /dev/full": Row(how=in_shell("bash"), code=4, only=FULL),
    "wordtide fit --help > /dev/full": Row(how=in_shell("bash"), code=4, only=FULL),
    "wordtide --version > /dev/full": Row(how=in_shell("bash"), code=4, only=FULL),
    "wordtide info counts > /dev/full": Row(how=in_shell("bash"), code=4, only=FULL),
    "wordtide changed model --format json > /dev/full": Row(how=in_shell("bash"), code=4, only=FULL),
    # Models with impossible numbers; hostile/test_large_models.py has those above 512 MiB
    **{
        f"{line}  # {name} {value}": Row(code=5, said=DAMAGED, unchanged=True, prepare=spoil(name, value))
        for line in ("info model", "neighbors model energy")
        for name, value in (
            ("mean_u", np.nan), ("mean_u", -np.inf), ("precision_u", np.nan), ("precision_u", np.inf), ("precision_u", -1.0),
            ("occurrence_values", -1),
        )
    },
    **{
        f"info model  # {name} elsewhere": Row(code=5, said=(f"{name} is a link that leaves the folder",), prepare=move_out(name))
        for name in ("words.txt", "arrays.safetensors", "curve.csv")
    },
    "info latest  # a link to the model": Row(prepare=lambda here: os.symlink(here / "model", here / "latest")),
    # The explorer's server
    "explore model --no-browser --no-map  # with 32 half-open connections": Row(how=explored(silent=32), out=("200 in less than 2 s",)),
}  # fmt: skip

GROUPED = ("Prepare", "Fit", "Ask", "Show", "Stream", "Check")
BASH = (
    'eval "$(_WORDTIDE_COMPLETE=source_bash wordtide)"; COMP_WORDS=({typed}); COMP_CWORD={last}; '
    '_wordtide_completion wordtide; echo "${{COMPREPLY[@]}}"'
)
ZSH = (
    "compdef() {{ :; }}; _arguments() {{ print -r -- $*; }}; "
    'eval "$(_WORDTIDE_COMPLETE=source_zsh wordtide)"; words=({typed}); CURRENT={last}+1; _wordtide_completion'
)
FISH = '_WORDTIDE_COMPLETE=source_fish wordtide | source; complete --do-complete "{typed}"'
COMPLETED = {"wordtide nei": "neighbors", "wordtide plot time": "timeline", "wordtide story --to": "--top"}

CONVENTIONS = {
    # Help and completion
    "": Row(how=alone, code=2, groups=GROUPED),
    "--help": Row(how=alone, groups=GROUPED),
    "-h": Row(how=alone, groups=GROUPED),
    **{
        f"{shell}: {typed}": Row(code.format(typed=typed, last=typed.count(" ")), how=in_shell(shell), out=(found,))
        for shell, code in (("bash", BASH), ("zsh", ZSH), ("fish", FISH))
        for typed, found in COMPLETED.items()
    },
    # One is not plural
    "count files -o new  # one document": Row(
        files={"1900.txt": "Steam power."}, said=("1 document, 2 words",), unsaid=r"\b1 (documents|slices|words|rows|files)\b"
    ),
    ">>> repr(wordtide.count([('1900', 'Steam power.')]))": Row(how=in_python, out=("<Counts: 1 slice (1900 to 1900), 2 words, 2 tokens>",)),
    # Words in a file
    "similarity model energy --words words.txt --format csv": Row(then=same_as("similarity model energy power vigor --format csv")),
    "axis model --from power --to vigor energy --words want.txt --format csv": Row(
        then=same_as("axis model --from power --to vigor energy want --format csv")
    ),
    "plot timeline model --words words.txt -o one.svg": Row(then=same_as("plot timeline model power vigor -o other.svg")),
    "plot similarity model energy --words words.txt -o one.svg": Row(then=same_as("plot similarity model energy power vigor -o other.svg")),
    "export model --to csv --at last --words words.txt -o new.csv": Row(said=("new.csv",)),
    # Units, lists, suggestions
    "story model enregy": Row(code=2, said=("Similar words: energy",)),
    "story model energy --format json": Row(then=lists_of_words),
    "changed model --format json": Row(then=lists_of_words),
    # Python mirrors the shell
    ">>> model.plot.timeline('energy', output='one.svg')": Row(how=in_python, then=same_as("plot timeline model energy -o other.svg")),
    ">>> model.plot.similarity('energy', 'power', output='one.svg')": Row(
        how=in_python, then=same_as("plot similarity model energy power -o other.svg")
    ),
    ">>> counts.examples('energy')": Row(how=in_python, code=1, said=("no sentences were kept", "examples=3")),
    ">>> wordtide.count([('1850', 'Steam power.')], output='new', examples=2).examples('steam')": Row(how=in_python, out=("Steam power.",)),
    ">>> wordtide.count([('1850', 'Steam.'), ('1950', 'Power.')], output='new', examples=2).examples('steam', at='1950')": Row(
        how=in_python, out=("No sentence with 'steam' was kept for 1950.",)
    ),
    ">>> model.story('energy')": Row(how=in_python, out=("energy moved from ",)),
    ">>> model.neighbors('energy', min_occurrences=10**6)": Row(how=in_python, out=("1,000,000 times",)),
    ">>> model.changed(min_occurrences=10**6)": Row(how=in_python, out=("1,000,000 times",)),
    ">>> model.analogy('energy', min_occurrences=10**6)": Row(how=in_python, out=("1,000,000 times",)),
    ">>> model.surprises(min_occurrences=10**6)": Row(how=in_python, out=("1,000,000 times",)),
    **{
        f">>> {code}": Row(how=in_python, code=1, said=(argument,), unsaid="--")
        for argument, code in {
            "dim=0": "wordtide.fit(counts, dim=0)",
            "method='slow'": "wordtide.fit(counts, method='slow')",
            "threads=0": "wordtide.fit(counts, dim=4, threads=0)",
            "workers=0": "wordtide.count([('1900', 'a mill')], workers=0)",
            "max_mb": "model.save_html('page.html', max_mb=0)",
            "checkpoint_every=-1": "wordtide.fit(counts, output='new', checkpoint_every=-1)",
        }.items()
    },
    # Exports
    "export model --to gensim --at last -o new.kv": Row(said=("new.kv",)),
    "export model --to parquet -o new.parquet": Row(said=("new.parquet",)),
    "export model --to excel --at last -o new.xlsx": Row(then=opened_in_libreoffice),
    "export model --to csv --at last -o new.csv": Row(then=opened_in_libreoffice),
    "export model --to excel --at last -o new.xls": Row(code=2, said=("new.xlsx",)),
    # Remote machines
    "explore model --no-browser --no-map  # through a tunnel": Row(how=explored(tunnel=True), out=("200",)),
    "explore model --no-map  # without a display": Row(how=explored(), said=("ssh -L ", "@203.0.113.9")),
    "explore model --no-browser --no-map --host 0.0.0.0": Row(how=explored(), out=("200",), unsaid=r"http://0\.0\.0\.0"),
}  # fmt: skip

TABLE = {**FILES_AND_DATES, **LOST_WORK, **CONVENTIONS}


def test_no_two_rows_have_the_same_name():
    assert len(TABLE) == len(FILES_AND_DATES) + len(LOST_WORK) + len(CONVENTIONS)


@pytest.mark.parametrize("name", TABLE)
def test_a_line_does_what_its_row_says(name, here):
    row = TABLE[name]
    row.check(name, here)

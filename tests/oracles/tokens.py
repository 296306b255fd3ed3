"""The token rule of docs/count.md, one character at a time, and written independently of the tables."""

import unicodedata

ABBREVIATIONS = set(
    "mr mrs ms messrs dr st jr sr gen col maj capt lt sgt gov sen rep hon rev prof vs vol fig art sec".split()
)
APOSTROPHES = "'’ʼ＇"
HYPHENS = "-‐‑"
STOPS = "。！？｡。।॥؟۔։።"
CLOSERS = ')]}"”»›'
SPACES = "\t\v\f\r\x85"


def is_letter(c):
    if 0x20000 <= ord(c) < 0x40000:  # the planes of CJK ideographs, those not yet assigned included
        return True
    return (
        c != "ʼ"
        and ord(c) < 0x20000
        and (unicodedata.category(c)[0] == "L" or unicodedata.category(c) == "Nl")
    )


def is_lower(c):
    return is_letter(c) and unicodedata.category(c) == "Ll" and ord(c) < 0x20000


def is_mark(c):
    return unicodedata.category(c)[0] == "M" and ord(c) < 0x20000


def is_digit(c):
    return unicodedata.category(c) == "Nd" and ord(c) < 0x20000


def is_wordlike(c):
    return c != "" and (is_letter(c) or is_digit(c))


def is_newline(c):
    return c == "\n" or (c != "" and unicodedata.category(c) in ("Zl", "Zp"))


def is_space(c):
    return c != "" and (c in SPACES or unicodedata.category(c) == "Zs")


def is_ignored(c):
    return unicodedata.category(c) == "Cf" and c != "‌" and ord(c) < 0x20000


def lowered(c, before_piece, following):
    if c == "Σ":
        inside = following != "" and (is_letter(following) or is_mark(following))
        return "σ" if inside or before_piece == 0 else "ς"
    return c.lower()


def scan_word(text, at, hyphens):
    """The word, number or debris at a place: (its end, its lower-case form, has it a letter, is it short)."""
    word, has_letter, piece, periods, single = "", False, 0, 0, True
    while at < len(text):
        c = text[at]
        following = text[at + 1 : at + 2]
        if is_letter(c):
            word += lowered(c, piece, following)
            has_letter = True
            piece += 1
            single = single and piece == 1
        elif is_mark(c):
            word += c
        elif is_digit(c):
            word += c
            piece += 1
            single = False
        elif c in APOSTROPHES or (c in HYPHENS and hyphens == "keep") or c == "‌":
            if not is_wordlike(following):
                break
            word += "'" if c in APOSTROPHES else "-" if c in HYPHENS else c
            piece = 0
            single = False
        elif c in ".," and not has_letter and following and is_digit(following):
            word += c
            piece = 0
        elif c == "." and has_letter and single and following and is_letter(following):
            beyond = text[at + 2 : at + 3]
            if is_wordlike(beyond) or (beyond and is_mark(beyond)):
                break
            word += c
            piece = 0
            periods += 1
        elif not is_ignored(c):
            break
        at += 1
    if periods and single:
        word += "."
        if text[at : at + 1] == ".":
            at += 1
    return at, word, has_letter, has_letter and single and word != "i"


def ends_sentence(text, at, after_short):
    only_periods = True
    while at < len(text) and text[at] in ".!?" + STOPS + CLOSERS + APOSTROPHES:
        only_periods = only_periods and text[at] not in "!?" + STOPS
        at += 1
    if at == len(text):
        return True
    if not (is_space(text[at]) or is_newline(text[at])):
        return False
    if not only_periods:
        return True
    if after_short:
        return False
    while at < len(text) and (is_space(text[at]) or is_newline(text[at])):
        at += 1
    return at == len(text) or not is_lower(text[at])


def url_end(text, at):
    start = text[at : at + 8].lower()
    if not start.isascii():
        start = "".join(c if c.isascii() else "\x00" for c in text[at : at + 8]).lower()
    if not start.startswith(("http://", "https://", "www.")):
        return at
    while at < len(text) and not is_space(text[at]) and not is_newline(text[at]):
        at += 1
    return at


def tokenize(text, numbers="skip", urls="skip", user_names="skip", hyphens="keep"):
    """Sentences, each a list of words; None for a place without a word."""
    text = unicodedata.normalize("NFC", text)
    sentences, sentence = [], []
    at, token_end, short = 0, -1, False
    treat = {
        "skip": lambda word, mask: None,
        "keep": lambda word, mask: word,
        "mask": lambda word, mask: mask,
    }

    def end_sentence():
        if sentence:
            sentences.append(list(sentence))
            sentence.clear()

    while at < len(text):
        c = text[at]
        if is_wordlike(c):
            end = url_end(text, at)
            if end > at:
                word = treat[urls]("".join(x.lower() if x.isascii() else x for x in text[at:end]), "<url>")
                short = False
            else:
                end, word, has_letter, short = scan_word(text, at, hyphens)
                if not has_letter:
                    word = treat[numbers](word, "<number>")
            if word is not None and len(word.encode()) > 128:
                word = None
            sentence.append(word)
            short = short or word in ABBREVIATIONS
            at = token_end = end
            continue
        if c == "@" and token_end != at:
            end = at + 1
            while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
                end += 1
            if end > at + 1:
                word = treat[user_names](text[at:end].lower(), "<user>")
                sentence.append(word if word is None or len(word) <= 128 else None)
                at = token_end = end
                short = False
                continue
        if c in ".!?" and sentence and ends_sentence(text, at, short and token_end == at):
            while at < len(text) and not is_space(text[at]) and not is_newline(text[at]):
                at += 1
            end_sentence()
            continue
        if c in STOPS:
            end_sentence()
        elif is_newline(c) and sentence:
            end = at + 1
            while end < len(text) and is_space(text[end]):
                end += 1
            if end < len(text) and is_newline(text[end]):
                end_sentence()
            at = end
            continue
        at += 1
    end_sentence()
    return sentences

"""Commands that answer a question about a model. Each calls one function and prints its answer.

Tables go to standard output, notes to standard error.
"""

from functools import partial
from typing import Annotated

import typer

from wordtide.api import load
from wordtide.cli.answer_tables import (
    print_answer,
    print_curves,
    print_notes,
    print_story,
    shown_changes,
    with_lists,
)
from wordtide.cli.options import ModelFolder, OutputFormat, WordsFile, at_least_one, listed_words
from wordtide.cli.output import Format, print_json, print_rows
from wordtide.embeddings.states import Embeddings
from wordtide.questions import change, surprise
from wordtide.questions import divided as groups_question
from wordtide.questions import neighbors as neighbors_question
from wordtide.questions import similarity as similarity_question
from wordtide.questions import story as story_question
from wordtide.questions.answers import Answer, plain
from wordtide.questions.neighbors_over_time import neighbors_over_time

Option = typer.Option

Word = Annotated[str, typer.Argument(help="A word of the vocabulary.")]
At = Annotated[str, Option(help="A time: 1850, 1850.5, 1862-12, 1862-12-01, first or last.")]
Times = Annotated[list[str] | None, Option("--at", help="A time. Repeatable. Default: all slices.")]
Top = Annotated[int, Option(help="Number of words.")]
MinOccurrences = Annotated[int, Option(help="Leave out words with fewer occurrences in the slice.")]
Vectors = Annotated[str, Option(help="word, context, or their sum.")]
Group = Annotated[str | None, Option(help="Show the word as this group of texts uses it.")]
ByGroup = Annotated[bool, Option("--by-group", help="Show the word as each group of texts uses it.")]
AllTimes = Annotated[bool, Option("--all", help="Show every time in the table.")]


def neighbors(
    model: ModelFolder,
    word: Word,
    at: At = "last",
    top: Top = 10,
    by: Annotated[str, Option(help="Rank by similarity, low or probability.")] = "similarity",
    min_occurrences: MinOccurrences = 0,
    over_time: Annotated[
        bool, Option("--over-time", help="Show every slice; --at and --by do not apply.")
    ] = False,
    group: Group = None,
    vectors: Vectors = "sum",
    all_times: AllTimes = False,
    format: OutputFormat = Format.table,
) -> None:
    """Show the words nearest to a word at one time or in every slice, with credible intervals.

    Similarity is the expected cosine, low to high its 90% credible interval, and probability that of being
    among the nearest --top. Faint words are barely known. Inferred words do not occur near that time.

    Example: wordtide neighbors model/ energy --at 1850 --top 10
    """
    loaded = load(model)
    if group is not None:
        loaded, notes = groups_question.in_group(loaded, group, word)
        print_notes(notes)
    if over_time:
        print_curves(loaded, neighbors_over_time(loaded, word, top, vectors), format, all_times)
        return
    answer = neighbors_question.neighbors(loaded, word, at, top, by, min_occurrences, vectors)
    print_answer(loaded, answer, format, _another_time(min_occurrences))


def similarity(
    model: ModelFolder,
    word: Word,
    others: Annotated[list[str] | None, typer.Argument(help="One or more words to compare it with.")] = None,
    words: WordsFile = None,
    at: Times = None,
    by_group: ByGroup = False,
    vectors: Vectors = "sum",
    all_times: AllTimes = False,
    format: OutputFormat = Format.table,
) -> None:
    """Show how similar a word is to others over time.

    Similarity is the expected cosine, low to high its 90% credible interval. With 0 occurrences, the
    position of a word is inferred from other times.

    Example: wordtide similarity model/ energy oil conservation
    """
    compared = at_least_one(listed_words(others, words), f"compare {word!r} with")
    loaded = load(model)

    def ask(model: Embeddings) -> Answer:
        return similarity_question.similarity(model, word, *compared, times=at, vectors=vectors)

    answer = groups_question.joined(groups_question.by_group(loaded, word, ask)) if by_group else ask(loaded)
    print_curves(loaded, answer, format, all_times)


def changed(
    model: ModelFolder,
    since: Annotated[
        str | None, Option(help="Start of the comparison. Default: each word's first slice.")
    ] = None,
    until: Annotated[
        str | None, Option(help="End of the comparison. Default: each word's last slice.")
    ] = None,
    top: Top = 20,
    by: Annotated[
        str,
        Option(
            help="Rank by effect (lower bound), evidence (Bayes factor), change, low (its lower bound), "
            "or probability (of being in the list)."
        ),
    ] = "effect",
    min_occurrences: Annotated[
        int, Option(help="Leave out words with fewer occurrences between the two times.")
    ] = change.MIN_OCCURRENCES,
    function_words: Annotated[bool, Option("--function-words", help="Include function words.")] = False,
    vectors: Vectors = "sum",
    format: OutputFormat = Format.table,
) -> None:
    """Show the words that changed most: how much, when, from what to what.

    The verdict is jump, gradual, or unsure (no significant change). Date low to date high is the 90% credible
    interval of a jump, or the start and end of a gradual change. The effect, in bits, is how much one use of
    the word reveals about the side of the change it comes from, without style, the change that function words
    share. Change is an angle; csv and json have the cosine distance. From and to are neighbors lost and
    gained.

    Example: wordtide changed model/ --since 1850 --until 2000 --top 20
    """
    loaded = load(model)
    answer = change.changed(loaded, since, until, top, by, min_occurrences, vectors, function_words)
    if format is Format.table:
        answer = shown_changes(answer)
    print_answer(loaded, answer, format, "Lower --min-occurrences, or ask for other times.")


def story(
    model: ModelFolder,
    word: Word,
    since: Annotated[
        str | None, Option(help="Start of the summary. Default: the word's first slice.")
    ] = None,
    until: Annotated[str | None, Option(help="End of the summary. Default: the word's last slice.")] = None,
    top: Top = 5,
    by_group: ByGroup = False,
    vectors: Vectors = "sum",
    format: OutputFormat = Format.table,
) -> None:
    """Summarize how a word changed: a sentence, and its neighbors at start, halfway and end.

    Example: wordtide story model/ energy
    """
    loaded = load(model)
    ask = partial(story_question.story, word=word, since=since, until=until, top=top, vectors=vectors)
    answers = groups_question.by_group(loaded, word, ask) if by_group else {"": ask(loaded)}
    for note in dict.fromkeys(note for answer in answers.values() for note in answer.notes):
        print_notes([note])
    if format is Format.json:
        print_json(
            [
                {
                    **({"group": group} if by_group else {}),
                    **with_lists(loaded, {name: plain(fact) for name, fact in answer.facts.items()}),
                    "neighbors": list(answer.rows()),
                }
                for group, answer in answers.items()
            ]
        )
    elif format is Format.csv:
        for answer in answers.values():
            typer.echo(answer.facts["sentence"], err=True)  # the columns of neighbors do not hold it
        whole = groups_question.joined(answers) if by_group else answers[""]
        print_rows(list(whole.rows()), format, tuple(whole.columns))
    else:
        for group, answer in answers.items():
            if by_group:
                typer.echo(f"{group}:")
            print_story(loaded, answer)


def divided(
    model: ModelFolder,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="groups", help="Groups to compare, after --groups.")
    ] = None,
    groups: Annotated[
        list[str] | None, Option("--groups", help="Groups to compare: R D, or R,D. Default: all.")
    ] = None,
    at: At = "last",
    top: Top = 20,
    function_words: Annotated[bool, Option("--function-words", help="Include function words.")] = False,
    vectors: Vectors = "sum",
    format: OutputFormat = Format.table,
) -> None:
    """Show the words that groups of texts use most differently.

    The effect, in bits, is how much one use of the word reveals about the group it comes from; effect low is
    its lower bound. Since is when both groups have used the word. Near and other near are neighbors in only
    one of the groups. Only significant differences are listed.

    Example: wordtide divided model/ --groups R D --at 2020
    """
    loaded = load(model)
    chosen = groups_question.named_groups(loaded, [*(groups or []), *(more or [])])
    answer = groups_question.divided(loaded, chosen, at, top, function_words, vectors)
    if not len(answer):
        print_notes(answer.notes)
        print_rows([], format, tuple(answer.columns))
        return
    print_answer(loaded, answer, format, "Ask for another time.")


def surprises(
    model: ModelFolder,
    at: At = "last",
    top: Top = 20,
    min_occurrences: MinOccurrences = 1,
    format: OutputFormat = Format.table,
) -> None:
    """Show the most surprising words of a slice, compared with words of similar frequency.

    The score is standard normal for ordinary words. Information is in nats. Words with one or two occurrences
    come last.

    Example: wordtide surprises model/ --at 2020 --top 20
    """
    loaded = load(model)
    answer = surprise.surprises(loaded, at, top, min_occurrences)
    print_answer(loaded, answer, format, "Ask for another slice, or lower --min-occurrences.")


def axis(
    model: ModelFolder,
    placed: Annotated[
        list[str] | None, typer.Argument(metavar="words", help="Words to place between the poles.")
    ] = None,
    *,
    from_words: Annotated[
        str,
        Option("--from", help="One pole, near which positions are negative: he,man."),
    ],
    to_words: Annotated[
        str, Option("--to", help="The other pole, near which positions are positive: she,woman.")
    ],
    words: WordsFile = None,
    at: Times = None,
    vectors: Vectors = "sum",
    all_times: AllTimes = False,
    format: OutputFormat = Format.table,
) -> None:
    """Show where words lie between two poles over time.

    The position is the mean similarity to the words of --to minus that to the words of --from, low to high
    its 90% credible interval.

    Example: wordtide axis model/ --from he,man --to she,woman nurse engineer
    """
    between = at_least_one(listed_words(placed, words), "place between the poles")
    loaded = load(model)
    answer = similarity_question.axis(loaded, between, _listed(from_words), _listed(to_words), at, vectors)
    print_curves(loaded, answer, format, all_times)


def analogy(
    model: ModelFolder,
    word: Word,
    at: At = "first",
    then: Annotated[str, Option(help="The other time.")] = "last",
    top: Top = 10,
    by: Annotated[str, Option(help="Rank by similarity, low or probability.")] = "similarity",
    min_occurrences: MinOccurrences = 0,
    vectors: Vectors = "sum",
    format: OutputFormat = Format.table,
) -> None:
    """Show which words are used at one time as a word was used at another.

    Columns are those of neighbors. If the word itself comes first, its use is the same.

    Example: wordtide analogy model/ reagan --at 1985 --then 2015
    """
    loaded = load(model)
    answer = neighbors_question.analogy(loaded, word, at, then, top, by, min_occurrences, vectors)
    print_answer(loaded, answer, format, _another_time(min_occurrences))


def _another_time(min_occurrences: int) -> str:
    return f"Ask for another time{', or lower --min-occurrences' if min_occurrences > 0 else ''}."


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]

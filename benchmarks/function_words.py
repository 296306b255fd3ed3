"""Are function words found from the data, in any language?

    python benchmarks/function_words.py en=MODEL fr=MODEL tr+en=MODEL ...

compares the function words of model folders with lists made by hand, which only this benchmark and the tests
use. It prints a Markdown table: how many words were found; the share of these that the list of the language
contains (precision); the share of the list's words among the 300 most frequent words of the model that was
found (recall); the found words that the list lacks; the words of the list among the first 30 of `changed`, if
a change is significant; and how many words have a verdict, of those that are judged. The lists hold articles, pronouns, determiners, prepositions,
conjunctions, particles, auxiliary and modal verbs and their forms, and the adverbs of degree, place and time
that belong to no topic. `tr+en` counts English words as well, for texts in which some passages are not
translated. `package_texts.py` extracts texts in French, German, Russian and Turkish from Debian packages.
"""

# ruff: noqa: RUF001

import sys

import numpy as np
from results import Table

import wordtide
from wordtide.questions.change import changed
from wordtide.questions.function_words import function_words

LISTS = {
    "en": """
        a about above across after again against all almost along already also although always am among an
        and another any anyone anything are around as at be because been before behind being below beneath
        beside besides between beyond both but by can cannot could did do does doing done down during each
        either else enough even ever every everyone everything except few for from further had has have having
        he hence her here hers herself him himself his how however i if in indeed instead into is it its
        itself just least less lest like many may me might mine more moreover most much must my myself near
        nearly neither never nevertheless next no nobody none nor not nothing now of off often on once one only
        onto or other others otherwise ought our ours ourselves out over own per perhaps quite rather same
        several shall she should since so some somebody someone something sometimes soon still such than that
        the their theirs them themselves then there thereby therefore therein thereof these they this those
        though through throughout thus till to too toward towards under unless until up upon us
        very via was we were what whatever when whenever where whereas wherever whether which whichever while
        who whoever whole whom whose why will with within without would yet you your yours yourself yourselves
        don't doesn't didn't isn't aren't wasn't can't won't it's i'm we're we've we'll that's they're let's
        s t re ve ll d m don didn doesn isn aren let""",
    "fr": """
        le la les l un une des de d du à au aux ce cet cette ces c ça cela ceci celui celle ceux celles mon ma
        mes ton ta tes son sa ses notre nos votre vos leur leurs je j tu il elle on nous vous ils elles me m te
        t se s lui y en moi toi soi eux qui que qu quoi dont où lequel laquelle lesquels lesquelles duquel
        auquel quel quelle quels quelles et ou ni mais or car donc si ne n pas plus moins jamais rien aucun
        aucune aussi ainsi alors après avant avec chez comme contre dans depuis derrière dès devant durant
        entre hors jusque jusqu lors lorsque lorsqu malgré par parmi pendant pour puis puisque quand sans sauf
        selon sous sur tandis vers voici voilà être est sont était étaient été étant fut soit soient sera
        seront serait suis es sommes êtes avoir a ai as avons avez ont avait avaient aura auront aurait ayant
        eu ait peut peuvent pouvez pouvoir pourrait peu doit doivent devez devoir devrait faut fait faire font
        tout toute tous toutes même mêmes autre autres chaque plusieurs quelque quelques certains certaines tel
        telle tels telles très trop assez beaucoup encore toujours déjà ici là afin cependant toutefois
        également ensuite lui-même elle-même non oui bien mal sinon souvent parfois seulement seul seule deux
        trois premier première dernier entre notamment c'est d'un d'une n'est qu'il s'il n'a l'on jusqu'à
        lorsqu'il qu'un qu'une s'ils est-à-dire outre via près loin hors dessus dessous ci plutôt""",
    "de": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser
        diese dieses diesen diesem jener jene jenes jeder jede jedes jeden jedem alle allen aller alles allem
        ich du er sie es wir ihr ihnen ihm ihn mich mir dich dir uns euch sich mein meine meinen meiner meinem
        meines dein deine deinen sein seine seinen seiner seinem seines ihre ihren ihrer ihrem ihres unser
        unsere unseren unserer man wer was wen wem wessen welche welcher welches welchen welchem etwas nichts
        und oder aber denn sondern sowie weder noch entweder wenn als ob dass daß weil da damit obwohl während
        bevor nachdem bis falls sofern indem sodass wie wo wohin woher wann warum in im ins an am ans auf aus
        bei beim mit nach von vom vor zu zum zur über unter um durch für gegen ohne zwischen hinter neben seit
        wegen trotz statt anstatt außer innerhalb außerhalb laut gemäß mittels per pro nicht nur auch schon
        sehr mehr weniger viel viele vielen wenig wenige einige einigen mehrere mehreren andere anderen anderer
        anderes so also doch ja nein nun dann dort hier jetzt immer nie oft wieder bereits etwa fast ganz gar
        genau jedoch dabei dadurch dafür dagegen daher daran darauf daraus darin darüber davon dazu hierbei
        hierfür hierzu ist sind war waren sei seien bin bist wäre gewesen hat haben habe hatte hatten hätte
        wird werden wurde wurden würde würden worden geworden kann können könnte könnten konnte muss müssen muß
        musste soll sollen sollte sollten darf dürfen will wollen möchte mag lassen lässt läßt gibt zwei drei
        selbst einmal mal einfach eben heute beide beiden solche solchen solcher derselben dasselbe zwar sonst
        sobald solange wobei wodurch worden hinaus herum ab her hin weiter weitere weiteren bzw dies
        dessen deren denen jemand niemand vielleicht wohl erst gleich gerade je""",
    "ru": """
        и в во не на я он она оно они мы вы ты что с со как а то это эта этот эти этого этой этом этому этим
        этих эту все всё всех всем всего весь вся всю так его её ее их него неё нее них ним ней ними ему ей им
        меня мне мной тебя тебе нас нам вас вам себя себе собой кто кого кому чем чего чему чём но да к ко у же
        за бы по только от из изо о об обо для при без до под над перед через между после кроме вместо около
        среди против ради или либо если когда где куда откуда почему зачем потому поэтому чтобы хотя пока раз
        ли ни нет уже ещё еще даже вот там тут здесь теперь тогда сейчас потом очень более менее больше меньше
        самый самая самое самого самой сам сама само сами мой моя моё мои твой твоя ваш ваша наш наша наши свой
        своя своё свои своего своей своих своим какой какая какое какие каких который которая которое которые
        которого которой которых котором которому которым которую такой такая такое такие таких тот та те того
        той тех том тому тем ту другой другая другое другие других другого каждый каждая каждое каждого каждой
        любой любая любое любого один одна одно одного одной два две три несколько много мало быть был была
        было были будет будут есть является являются может могут можно нельзя нужно надо должен должна должно
        должны также тоже однако например т е всегда никогда иногда часто снова опять именно лишь почти
        довольно просто ведь разве пусть хорошо ничего никто ну вдруг сразу чуть итак затем либо нему ибо б
        свое""",
    "tr": """
        ve veya ya yada ile bir bu şu o bunu bunun buna bunlar bunları bunların bundan bunda şunu onu onun ona
        onlar onları onların ondan onda ben sen biz siz beni bana benim seni sana senin bizi bize bizim sizi
        size sizin kendi kendisi kendine kendini kim ne neden niçin nasıl nerede nereye hangi hangisi kaç her
        hiç hep bazı bazıları birçok birkaç tüm bütün başka diğer aynı böyle şöyle öyle için gibi kadar göre
        doğru karşı rağmen dolayı beri önce sonra üzere dek değin ise de da ki mi mı mu mü değil var yok olan
        olarak olur oldu olduğu olduğunu olduğunda olması olmak olsun olabilir olup olacak olmayan olmadığı
        olmadan eğer çünkü ancak ama fakat lakin ayrıca yani yalnız yalnızca sadece bile hem daha çok az en pek
        tam şekilde üzerinde üzerine üzerinden içinde içine içinden altında arasında arasındaki yerine
        tarafından ilgili içeren birlikte biri birini birine birden iki üç ilk son şimdi sonra zaman iken
        halde takdirde olsa artık henüz hemen yine gerekir gerekli böylece bunlar edilir eder etmek eden ederek
        edilen edilmiş edin yapmak yapar ilgili ait özellikle dışında kez kere herhangi herbir hiçbir yoksa
        beraber sırasında itibaren olmadığında nedeniyle tek çoğu""",
}
#: Recall is measured on the list's words among this many of the most frequent ones.
FREQUENT = 300
#: Words of `changed` that are compared with the list.
CHANGED = 30
COLUMNS = (
    *("model", "words found", "precision", "recall", "found, not in the list", "in the list, changed most"),
    "with a verdict, of",
)


def row(language: str, path: str) -> list[str]:
    """The cells of one model."""
    model = wordtide.load(path)
    found, listed = (
        function_words(model),
        {word for one in language.split("+") for word in LISTS[one].split()},
    )
    order = np.argsort(-model.total_occurrences, kind="stable")
    taken = [model.words[number] for number in order if found[number]]
    wanted = [number for number in order[:FREQUENT] if model.words[number] in listed]
    others = [word for word in taken if word not in listed]
    precision = f"{1.0 - len(others) / len(taken):.2f}" if taken else ""
    recall = f"{found[wanted].mean():.2f}"
    answer = changed(model, top=CHANGED)
    by_effect = answer.columns["word"] if answer.facts["by"] == "effect" else []
    return [
        f"{language} {path.rstrip('/').split('/')[-1]}",
        f"{len(taken)}",
        precision,
        recall,
        ", ".join(others),
        ", ".join(word for word in by_effect if word in listed),
        f"{model.dynamics.significant.sum():,}, {np.isfinite(model.dynamics.log_bayes_factor).sum():,}",
    ]


def main() -> None:
    """Print the table."""
    with Table("function_words", COLUMNS) as table:
        for argument in sys.argv[1:]:
            table.row(*row(*argument.split("=", 1)))


if __name__ == "__main__":
    main()

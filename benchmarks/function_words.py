"""Are function words found from the data, in any language?

    python benchmarks/function_words.py en=MODEL fr=MODEL tr+en=MODEL ...

compares the function words of model folders with lists made by hand, which only this benchmark and the tests
use. It prints a Markdown table: how many words were found; the share of these that the list of the language
contains (precision); the share of the list's words among the 300 most frequent words of the model that was
found (recall); the found words that the list lacks; the words of the list among the first 30 of `changed`, if
a change is significant; and how many words have a verdict, of those that are judged. The lists hold articles,
pronouns, determiners, prepositions, conjunctions, particles, auxiliary and modal verbs and their forms, and
the adverbs of degree, place and time that belong to no topic. `tr+en` counts English words as well, for texts
in which some passages are not translated. `package_texts.py` extracts texts in other languages from Debian
packages.
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
    "es": """
        el la los las lo un una unos unas al del este esta esto estos estas ese esa eso esos esas aquel
        aquella aquello aquellos aquellas mi mis tu tus su sus nuestro nuestra nuestros nuestras vuestro
        vuestra suyo suya mío mía yo tú él ella ello nosotros vosotros ellos ellas usted ustedes me te se nos
        os le les mí ti sí conmigo consigo que quien quienes cual cuales cuyo cuya cuyos cuyas donde cuando
        como cuanto qué quién quiénes cuál cuáles dónde cuándo cómo cuánto cuántos y e o u ni pero sino mas
        aunque porque pues si no tampoco también además así entonces luego después antes ya aún todavía
        siempre nunca jamás a ante bajo cabe con contra de desde durante en entre hacia hasta mediante para
        por según sin so sobre tras excepto salvo incluso muy más menos tan tanto tanta tantos tantas mucho
        mucha muchos muchas poco poca pocos pocas algo nada alguien nadie algún alguno alguna algunos algunas
        ningún ninguno ninguna todo toda todos todas otro otra otros otras mismo misma mismos mismas cada
        varios varias demás ambos ambas cualquier cualquiera tal tales demasiado bastante casi solo sólo
        solamente apenas mientras aquí ahí allí allá acá ahora hoy mañana ayer cerca lejos dentro fuera encima
        debajo arriba abajo delante detrás quizá quizás vez veces bien mal mejor peor es son era eran fue
        fueron ser sido siendo sea sean será serán sería soy eres somos fui está están estaba estaban estar
        estado estoy esté estén he ha has hemos han había habían haber hay haya hayan habrá habría hubo puede
        pueden poder podría podrían podrá podía pueda puedan debe deben deber debería deberían debía hace
        hacer hacen hecho hizo haga va van ir tener tiene tienen tenía tenga tengo fuese dos tres uno primer
        primero primera embargo aparte igual asimismo junto juntos respecto acerca""",
    "it": """
        il lo la i gli le l un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal
        dallo dalla dai dagli dalle dall nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle
        sull col coi di a da in con su per tra fra verso senza contro durante entro oltre presso secondo sopra
        sotto dentro fuori dopo prima dietro davanti lungo mediante tramite fino sino attraverso circa salvo
        tranne questo questa questi queste quest quello quella quelli quelle quel quei quegli quell ciò io tu
        egli lui lei noi voi loro esso essa essi esse mi ti si ci vi ne me te sé se mio mia miei mie tuo tua
        tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri che chi cui quale quali
        quanto quanta quanti quante dove come quando perché perchè e ed o od ma né anche anzi però quindi
        dunque pure poiché mentre affinché benché sebbene oppure ovvero ossia cioè infatti inoltre tuttavia
        comunque invece altrimenti allora così non più meno molto molta molti molte poco poca pochi poche
        troppo tanto tanta tanti tante tutto tutta tutti tutte tutt altro altra altri altre ogni ognuno
        qualche alcuno alcuni alcune alcun nessuno nessuna nessun qualcosa qualcuno nulla niente stesso stessa
        stessi stesse proprio propria tale tali qualsiasi qualunque ciascuno ciascuna ciascun diversi diverse
        vari varie entrambi sempre mai spesso già ancora ora adesso oggi poi ormai subito qui qua lì là solo
        soltanto solamente quasi appena abbastanza assai bene male meglio peggio forse sì no è sono era erano
        essere stato stata stati state sia siano sarà saranno sarebbe fu furono sei siamo siete ha hanno ho
        hai abbiamo aveva avevano avere avuto abbia avrà può possono potrebbe potrà poteva potere possa deve
        devono dovrebbe dover dovere doveva vuole vogliono va vanno viene vengono venga fare fa fanno fatto
        due tre primo c v d c'è s'è qual nonché eccetto finché insieme""",
    "pl": """
        i w we z ze na do nie to się jest że o jak po co ale od za dla czy tak a lub oraz przez przy pod nad
        przed między bez u ku aby by żeby jeśli jeżeli gdy kiedy gdzie albo ani bo bowiem więc zatem jednak
        lecz choć chociaż ponieważ gdyż iż niż już jeszcze tylko także też również bardzo bardziej mniej
        więcej najbardziej zawsze nigdy często czasem teraz tutaj tu tam wtedy potem tym ten ta te ci tego tej
        tych temu tę tą tymi ów owa tamten taki taka takie takich takiego takiej takim jaki jaka jakie jakich
        jakiego jakiej jakim który która które którzy którego której których któremu którym którą którymi kto
        kogo komu kim czego czemu czym ja ty on ona ono my wy oni one mnie mi mną ciebie cię tobie jego jemu
        mu go nim niego niemu jej ją nią niej nich ich im nimi nas nam nami was wam wami siebie sobie sobą mój
        moja moje mojego mojej twój twoja twoje nasz nasza nasze wasz swój swoja swoje swojego swojej swoim
        swoich swoją każdy każda każde każdego każdej każdym wszystko wszystkie wszyscy wszystkich wszystkim
        wszystkimi cały cała całe inny inna inne innych innego innej innym żaden żadna żadne żadnego jeden
        jedna jedno jednego jednej jednym dwa dwie dwóch trzy kilka wiele wielu dużo mało sam sama samo sami
        tenże samego coś ktoś nic nikt nikogo niczego być był była było były byli będzie będą bądź jestem
        jesteś są jesteśmy byłby byłoby został została zostało zostały zostanie zostaną zostać może mogą można
        móc mógł mogła mogło należy trzeba musi muszą powinien powinna powinno powinny niech np tzn itp itd ma
        mają mam masz mamy miał mieć no cóż przecież właśnie nawet prawie dość dosyć zbyt zwykle poza wśród
        według podczas wobec obok oprócz zamiast około wokół spośród spoza znad mimo pomimo dzięki wzdłuż
        wewnątrz jako gdyby dopóki dopiero aż stąd skąd dokąd dlaczego dlatego tyle ile raz razy chyba pewien
        pewna pewne pewnych obie oba obu tzw tuż jakby oto zaś natomiast""",
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

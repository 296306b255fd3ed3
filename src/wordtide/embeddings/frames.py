"""Answers as data frames that notebooks display well. Imported late, because pandas takes half a second."""

import pandas as pd

from wordtide.embeddings.notebook import answer_html


class AnswerFrame(pd.DataFrame):  # type: ignore[misc]  # pandas has no types here
    """A data frame that notebooks show with its sentence, drawn intervals and notes.

    `print` shows the sentence too, and the reason if there are no rows. Frames derived from it (sorted,
    selected, grouped) are plain data frames.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        notes = "\n".join(self.attrs.get("notes", ()))
        sentence = self.attrs.get("sentence", "")
        if not len(self):
            return "\n".join(filter(None, [sentence, notes])) or "There is no word to list."
        return "\n\n".join(filter(None, [sentence, str(super().__repr__())]))

    def _repr_html_(self) -> str:
        return answer_html(
            {str(name): self.iloc[:, place].tolist() for place, name in enumerate(self.columns)}, self.attrs
        )

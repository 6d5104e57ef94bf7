"""The fallacy tags, read from conf/taxonomy: a taxonomy is data."""

import re
from functools import lru_cache

from generate.journal import BadInput
from generate.stage import settings


@settings
class Tag:
    """One fallacy."""

    name: str
    definition: str
    recognise: str
    not_this: str
    """What looks like it and is not."""


@settings
class Taxonomy:
    """A named list of fallacies."""

    name: str
    fallacies: list[Tag]

    def __post_init__(self) -> None:
        plain = [_plain(tag.name) for tag in self.fallacies]
        if not plain:
            raise BadInput("taxonomy.fallacies: is empty")
        if twice := next((t.name for t in self.fallacies if plain.count(_plain(t.name)) > 1), None):
            raise BadInput(f"taxonomy.fallacies: two have the name '{twice}'")

    @property
    def names(self) -> list[str]:
        return [tag.name for tag in self.fallacies]

    def find(self, words: str) -> str | None:
        """The tag that a writer meant, without regard to case, hyphens, underscores, emphasis and a final full stop."""
        wanted = _plain(words)
        return next((tag.name for tag in self.fallacies if _plain(tag.name) == wanted), None)

    def prompt_text(self) -> str:
        """The taxonomy as a judge's prompt shows it."""
        return "\n".join(
            f"- {t.name}: {t.definition.strip()} How to recognise it: {t.recognise.strip()} Not this: {t.not_this.strip()}"
            for t in self.fallacies
        )


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name).strip().casefold()

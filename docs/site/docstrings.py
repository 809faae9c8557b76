"""The layout of our docstrings, as Markdown: examples become blocks, and the lines of parameters a list."""

import re

from griffe import Extension


def as_markdown(text: str) -> str:
    """A docstring as Markdown.

    >>> print(as_markdown("rate    a number\\n\\n>>> 1 + 1\\n2"))
    - **rate**: a number
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    text = re.sub(r"(?m)^(\w+(?:, \w+)*) {4,}(?=\S)", r"- **\1**: ", text)
    return re.sub(r"(?m)^>>> (?:.+\n?)+", lambda block: f"```pycon\n{block[0].rstrip()}\n```\n", text).rstrip("\n")


class Docstrings(Extension):
    """Griffe calls it for each object that it has read."""

    def on_object(self, *, obj, **_) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)

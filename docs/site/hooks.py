"""What the site makes of a page that is read as a file on GitHub too."""

import re
from textwrap import dedent


def on_page_markdown(markdown: str, *, page, config, **_) -> str:
    """`../examples/README.md` becomes an address of the repository; a block that starts with `$` becomes a console's."""
    depth = page.file.src_uri.count("/") + 1
    linked = re.sub(rf"\]\((?:\.\./){{{depth}}}(?!\.)", f"]({config.repo_url}/blob/main/", markdown)
    return as_console(linked)


def as_console(markdown: str) -> str:
    """Blocks of commands that start with `$`, and what they print, marked as such: the copy button copies the commands.

    >>> print(as_console("Type\\n\\n    $ true\\n    done\\n\\nnow"))
    Type
    <BLANKLINE>
    ```console
    $ true
    done
    ```
    <BLANKLINE>
    now
    """
    fenced = re.sub(r"(?m)^```\n(?=\$ )", "```console\n", markdown)
    block = r"(?m)(?<=\n\n) {4}\$ .*\n?(?: {4}.*\n?|\n(?= {4}))*"
    return re.sub(block, lambda found: f"```console\n{dedent(found[0]).rstrip()}\n```\n", fenced)

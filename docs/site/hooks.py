"""Links from a page to a file outside of docs/ lead to the repository on the site."""

import re


def on_page_markdown(markdown: str, *, page, config, **_) -> str:
    """`../examples/README.md` becomes an address of the repository; the same link works where the page is read as a file."""
    depth = page.file.src_uri.count("/") + 1
    return re.sub(rf"\]\((?:\.\./){{{depth}}}(?!\.)", f"]({config.repo_url}/blob/main/", markdown)

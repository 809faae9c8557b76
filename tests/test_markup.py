"""Text in LaTeX and Markdown."""

import re
import string

import pytest

from ctx_metrics.markup import latex, latex_row, markdown

# what stands for a sign that has a meaning in LaTeX
ESCAPED = re.compile(r"\\text[a-z]+\{\}|\\symbol\{34\}|\\[&%$#_{}]|\{\}")


def test_no_sign_keeps_its_meaning_in_latex():
    everything = string.printable + "\x00\x07\x7f\udcff"
    left = ESCAPED.sub("", latex(everything))
    assert not set(left) & set('&%$#_{}~^\\<>|"') and left.isprintable()
    assert set(string.ascii_letters + string.digits) <= set(left)


@pytest.mark.parametrize("joined", ["--", "---", "``", "''", ",,", "?`", "!`"])
def test_signs_that_latex_would_join_stay_apart(joined):
    assert joined not in latex(f"a{joined}b") and latex(f"a{joined}b").replace("{}", "") == f"a{joined}b"


@pytest.mark.parametrize("first", ["[2ex]", "*"])
def test_a_row_is_no_argument_of_the_line_before(first):
    assert latex_row([latex(first), "1"]) == f"{{}}{first} & 1 \\\\"


def test_markdown_shows_the_text():
    assert markdown("a|b *c* &amp; [d](e) & f") == r"a\|b \*c\* \&amp; \[d\](e) & f"

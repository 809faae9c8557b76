"""Draws docs/figures/choose.svg, the flow chart of docs/choose.md: python docs/site/choose.py"""

from pathlib import Path

FIGURE = Path(__file__).parents[1] / "figures" / "choose.svg"
STEP, TOP, LEFT, RIGHT = 92, 20, 20, 420
# a question, and what to take where the answer is yes; where it is no, the next question follows
QUESTIONS = [
    (
        "Do you have a reference translation?",
        "no",
        ["ctx-metrics score -m comet: CometKiwi (gated),", "or the embedded multilingual model"],
    ),
    ("Can you load a COMET checkpoint?", "yes", ["comet --source src.txt", "--comet-model Unbabel/wmt22-comet-da"]),
    (
        "Is the target language English?",
        "no",
        ["comet -l en-xx: the embedded multilingual", "model (extra: multilingual)"],
    ),
]
LAST = ["comet -l xx-en: the embedded English model,", "with esim or bertscore as a second opinion"]
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1a1a2e } .small { font-size: 12.5px }
  .edge { fill: none; stroke: #5c6bc0; stroke-width: 1.6 }
  .question { fill: #e8eaf6; stroke: #5c6bc0 } .take { fill: #e8f5e9; stroke: #43a047 } .paper { fill: #fff }
"""


def box(kind: str, left: int, top: int, lines: list[str]) -> str:
    """A box with one or two lines of text."""
    first = top + (34 if len(lines) == 1 else 25)
    text = "".join(
        f'<text class="small" x="{left + 14}" y="{first + 19 * n}">{line}</text>' for n, line in enumerate(lines)
    )
    return f'<rect class="{kind}" x="{left}" y="{top}" width="330" height="58" rx="9"/>{text}\n'


def chart() -> str:
    """The drawing as SVG."""
    height = TOP + STEP * len(QUESTIONS) + 80
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 770 {height}" role="img" aria-label="Which metric to take: '
        f'the questions in the text below, from top to bottom"><style>{STYLE}</style>\n'
        f'<rect class="paper" width="770" height="{height}"/>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#5c6bc0"/></marker></defs>\n'
    ]
    for number, (question, answer, take) in enumerate(QUESTIONS):
        top = TOP + STEP * number
        other = "yes" if answer == "no" else "no"
        parts += [
            box("question", LEFT, top, [question]),
            box("take", RIGHT, top, take),
            f'<path class="edge" marker-end="url(#tip)" d="M{LEFT + 330} {top + 29}H{RIGHT - 2}"/>',
            f'<text class="small" x="{LEFT + 346}" y="{top + 22}">{answer}</text>',
            f'<path class="edge" marker-end="url(#tip)" d="M{LEFT + 165} {top + 58}V{top + STEP - 2}"/>',
            f'<text class="small" x="{LEFT + 174}" y="{top + 79}">{other}</text>\n',
        ]
    parts.append(box("take", LEFT, TOP + STEP * len(QUESTIONS), LAST))
    return "".join(parts) + "</svg>\n"


if __name__ == "__main__":
    FIGURE.write_text(chart(), encoding="utf-8")

"""The package's folders as docs/architecture.md gives them: the core, and the families."""

# the core, from the top; packages in one line do not know each other, and the modules in the package's folder are below all
CORE = [
    ["cli", "plugin"],
    ["pairs"],
    ["run"],
    ["scale", "plots"],
    ["metrics"],
    ["scoring"],
    ["checks"],
    ["models"],
    ["engine"],
]
# each family, and the others that it imports
FAMILIES: dict[str, set[str]] = {
    "align": set(),
    "annotate": {"interference"},
    "bleurt": set(),
    "choice": {"interference"},
    "evaluation": {"report"},
    "interference": set(),
    "judge": set(),
    "judgements": set(),
    "learned": set(),
    "meta": {"judgements", "report"},
    "metricx": set(),
    "pairwise": {"judgements", "meta", "training"},
    "peers": set(),
    "pseudo_references": {"judgements", "meta", "training"},
    "report": {"judgements"},
    "roundtrip": set(),
    "shell": set(),
    "training": {"judgements", "learned", "meta"},
}

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
    "learned": set(),
    "meta": {"report"},
    "metricx": set(),
    "pairwise": {"meta", "training"},
    "peers": set(),
    "pseudo_references": {"meta", "training"},
    "report": {"meta"},
    "roundtrip": set(),
    "shell": set(),
    "training": {"learned", "meta"},
}

"""The subcommands filter-refs and paraphrase."""

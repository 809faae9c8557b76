"""The common parts of subcommands: inputs, output, training runs."""

"""What the subcommands share: inputs, output, trainings."""

"""The subcommands mbr and rerank."""

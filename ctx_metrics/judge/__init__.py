"""A language model as a judge, on any server with OpenAI's chat interface (Kocmi and Federmann 2023)."""

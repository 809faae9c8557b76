"""Help at the prompt: what flags of the sacrebleu command mean, and the completion of words by shells."""

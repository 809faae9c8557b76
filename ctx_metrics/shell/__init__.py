"""Help at the prompt: the meaning of the sacrebleu command's flags, and the completion of words by shells."""

"""The paper's tables and figures, run again: what to train, what came out, and how far that is from the paper."""

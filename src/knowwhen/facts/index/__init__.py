"""Everything that finds facts by key and time: one index of spans, and on it what is known, history and counts."""

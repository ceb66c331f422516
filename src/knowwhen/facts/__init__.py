"""What is known: facts with time spans, their names and their time axis."""

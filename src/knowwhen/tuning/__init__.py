"""Settings tried one after the other: a space of points, a trial of each, and the choice that valid makes."""

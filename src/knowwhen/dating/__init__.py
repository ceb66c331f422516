"""When a fact holds: begin and end as answers, learned from the gaps to other facts; and whether it holds at a time."""

from knowwhen.dating.beliefs import Belief
from knowwhen.dating.evaluating import believed
from knowwhen.dating.head import TimeHead
from knowwhen.dating.holding import learn_holding, measure_holding
from knowwhen.dating.learning import learn_times
from knowwhen.dating.neighbours import Asked

__all__ = ["Asked", "Belief", "TimeHead", "believed", "learn_holding", "learn_times", "measure_holding"]

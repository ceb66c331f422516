"""A trained model with its names, its times and its data: what `train` and `open` return."""

from knowwhen.plotting import plot  # registers the figures of answers, so that they have `.plot()`
from knowwhen.trained.adding import Additions
from knowwhen.trained.model import TrainedModel
from knowwhen.trained.opening import open
from knowwhen.trained.training import train

__all__ = ["Additions", "TrainedModel", "open", "plot", "train"]

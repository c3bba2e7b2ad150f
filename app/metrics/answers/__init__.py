"""Metrics of labels and predictions themselves, not of their outcomes."""

from .answer_data import MOST_CLASSES, ClassAnswers, ClassProbabilities, NumberAnswers, Unanswered, too_many_classes
from .measure_answers import measure_answers

__all__ = ["MOST_CLASSES", "ClassAnswers", "ClassProbabilities", "NumberAnswers", "Unanswered", "measure_answers", "too_many_classes"]

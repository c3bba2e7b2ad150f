"""Metrics of labels and predictions themselves."""

from functools import partial

from .metric import Direction, FromAnswers, Metric

_answer = partial(Metric, data=("feedback",), measure=FromAnswers(), scopes=("overall",), source="scikit-learn; OpenScale quality monitor")


def _averages(name: str, title: str, formula: str, ideal: float, *, plain: str, aliases: tuple[str, str]) -> tuple[Metric, Metric]:
    of_class = "of each class against all others"
    rows = []
    for average, mean, weighing, alias in (
        ("macro", "mean", "each class counts alike", aliases[0]),
        ("weighted", "mean by number of labels", "each class counts as often as it is the label", aliases[1]),
    ):
        row = _answer(
            f"{average}_{name}",
            f"{average.capitalize()} {title}",
            f"{mean} over the classes k of {formula}",
            needs=("predictions", "labels", "classes"),
            ideal=ideal,
            direction=Direction.HIGHER if ideal else Direction.LOWER,
            convention=f"{of_class}: {weighing}; classes are all labels and predictions that occur, and 0 / 0 counts as 0",
            says=f"Averaged over the classes ({weighing}), {plain} {{percent}}.",
            aliases=tuple(one for one in alias.split(", ") if one),
        )
        rows.append(row)
    macro, weighted = rows
    return macro, weighted


ROWS = (
    *_averages(
        "precision",
        "precision",
        "correct(k) / predicted(k)",
        1.0,
        plain="the share of a class's predictions that are right is",
        aliases=("scikit-learn precision_score (macro)", "OpenScale weighted_precision"),
    ),
    *_averages(
        "recall",
        "recall",
        "correct(k) / labelled(k)",
        1.0,
        plain="the share of a class's labels that are predicted is",
        aliases=("scikit-learn recall_score (macro)", "OpenScale weighted_recall, OpenScale weighted_true_positive_rate"),
    ),
    *_averages(
        "f1",
        "F1",
        "2 correct(k) / (labelled(k) + predicted(k))",
        1.0,
        plain="the harmonic mean of precision and recall is",
        aliases=("scikit-learn f1_score (macro)", "OpenScale weighted_f1_measure"),
    ),
    *_averages(
        "false_positive_rate",
        "false positive rate",
        "wrongly predicted(k) / not labelled(k)",
        0.0,
        plain="the share of the other classes' labels that are predicted as a class is",
        aliases=("", "OpenScale weighted_false_positive_rate"),
    ),
    _answer(
        "class_log_loss",
        "Log loss of several classes",
        "mean of -ln(p of the class of the label)",
        needs=("predictions", "labels", "classes", "scores"),
        highest=None,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="of records with a probability for each class; the deployment states whose it is, or the predictions show it",
        says="Overall, the mean surprise at the label's class is {shown} nats; 0 is perfect, and a guess has the logarithm of the number of"
        " classes.",
        aliases=("scikit-learn log_loss (several classes)",),
    ),
    _answer(
        "mean_absolute_error",
        "Mean absolute error",
        "mean of abs(prediction - label)",
        needs=("predictions", "labels", "numbers"),
        highest=None,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="in the unit of the label",
        says="Overall, predictions are {shown} off on average.",
        aliases=("scikit-learn mean_absolute_error", "OpenScale mean_absolute_error"),
    ),
    _answer(
        "mean_squared_error",
        "Mean squared error",
        "mean of (prediction - label)^2",
        needs=("predictions", "labels", "numbers"),
        highest=None,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="in the square of the label's unit; large errors count more than small ones",
        says="Overall, the mean squared distance of prediction and label is {shown}.",
        aliases=("scikit-learn mean_squared_error", "OpenScale mean_squared_error"),
    ),
    _answer(
        "root_mean_squared_error",
        "Root mean squared error",
        "sqrt(mean of (prediction - label)^2)",
        needs=("predictions", "labels", "numbers"),
        highest=None,
        ideal=0.0,
        direction=Direction.LOWER,
        convention="in the unit of the label; large errors count more than small ones",
        says="Overall, the root of the mean squared distance of prediction and label is {shown}.",
        aliases=("scikit-learn root_mean_squared_error", "OpenScale root_mean_squared_error"),
    ),
    _answer(
        "r2",
        "R squared",
        "1 - sum of (prediction - label)^2 / sum of (label - mean label)^2",
        needs=("predictions", "labels", "numbers"),
        lowest=None,
        ideal=1.0,
        direction=Direction.HIGHER,
        convention="0 is as good as always predicting the mean label, below 0 is worse",
        says="Overall, the predictions' R squared is {shown}; 1 is perfect, 0 is as good as always predicting the mean label.",
        aliases=("scikit-learn r2_score", "OpenScale r2"),
    ),
    _answer(
        "explained_variance",
        "Explained variance",
        "1 - variance of (label - prediction) / variance of label",
        needs=("predictions", "labels", "numbers"),
        lowest=None,
        ideal=1.0,
        direction=Direction.HIGHER,
        convention="as R squared, but an error that is the same for every record does not count",
        says="Overall, the explained variance is {shown}; 1 is perfect, 0 is as good as any constant prediction.",
        aliases=("scikit-learn explained_variance_score", "OpenScale explained_variance"),
    ),
)

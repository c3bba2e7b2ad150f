"""A model that logs its own predictions: everything else is as it was."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from .client import Evenhand
from .rows import OUTPUTS, answers_of, features_of, likeliest_of, number_of
from .values import JsonObject, plain_list

METHODS = ("predict", "predict_proba")


def monitored(
    model: Any,  # noqa: ANN401 - anything with `predict`
    client: Evenhand | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    methods: Collection[str] = ("predict",),
    meta: Callable[[Any], Sequence[JsonObject]] | None = None,
    outputs: tuple[str, str] = OUTPUTS,
) -> Any:  # noqa: ANN401 - it is used as the model is
    """Returns the model, wrapped: its answers to `predict` are logged, one record a row. What the model raises is raised.

    `methods` names the calls that are logged. Choose the one that your program makes: of a program that calls both `predict` and
    `predict_proba` for the same rows, both would be logged as two records. Of `predict_proba` the prediction is the class with the highest
    probability. `feature_names` are needed where rows are arrays and the model has no `feature_names_in_`. `meta` gets the rows and returns
    the meta fields of each. Without a client, one is made of the environment.

    An answer is a list, an array, a column or a generator, or it has names: a DataFrame, a dictionary of columns, a list of dictionaries.
    `outputs` are the names of the predictions and of the probabilities in it; an only column is the predictions. Rows are counted as
    rejected if the answer is something else or has another number of rows.

    Raises:
        ValueError: a method is unknown.
    """
    unknown = sorted(set(methods) - set(METHODS))
    if unknown:
        raise ValueError(f"methods may be {' and '.join(METHODS)}; found {', '.join(unknown)}")
    names = None if feature_names is None else list(feature_names)
    return MonitoredModel(model, _Settings(client or Evenhand(), names, tuple(methods), meta, outputs))


class _Settings(NamedTuple):
    client: Evenhand
    feature_names: list[str] | None
    methods: tuple[str, ...]
    meta: Callable[[Any], Sequence[JsonObject]] | None
    outputs: tuple[str, str]


class _Asked(NamedTuple):
    features: list[JsonObject]
    metas: list[JsonObject] | None = None
    problem: Exception | None = None


class MonitoredModel:
    """A model and the client that logs its predictions. Attributes and methods are the model's own.

    `last_ids` are the ids of the records of this thread's last logged call, in the order of its rows.
    """

    def __init__(self, model: Any, settings: _Settings) -> None:  # noqa: ANN401 - as above
        self.__dict__.update(_model=model, _settings=settings, _local=threading.local())

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the model's
        if name.startswith("__") and name.endswith("__") and name not in ("__sklearn_tags__", "__sklearn_is_fitted__"):
            raise AttributeError(name)  # copying and pickling ask for these before there is a model
        found = getattr(self.__dict__["_model"], name)
        return self._logging(name, found) if name in self.__dict__["_settings"].methods else found

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_model"], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._model), "last_ids"})

    def __repr__(self) -> str:
        return f"monitored({self._model!r})"

    def __reduce__(self) -> tuple[type[MonitoredModel], tuple[Any, ...]]:
        return type(self), (self._model, self._settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> MonitoredModel:
        return type(self)(copy.deepcopy(self._model, memo), self._settings)

    def __sklearn_clone__(self) -> MonitoredModel:
        from sklearn.base import clone  # type: ignore[import-untyped] # noqa: PLC0415 - the caller has it, and others do without

        return type(self)(clone(self._model), self._settings)

    def fit(self, *arguments: Any, **options: Any) -> MonitoredModel:  # noqa: ANN401 - the model's
        """Fits the model and returns this, so that `monitored(model).fit(X, y)` stays monitored."""
        self._model.fit(*arguments, **options)
        return self

    @property
    def last_ids(self) -> list[str]:
        """Returns the ids of the records of this thread's last logged call."""
        return list(getattr(self._local, "ids", ()))

    def _logging(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the model's
            rows = next(iter((*arguments, *options.values())), None)
            self._local.ids = []
            # Before the model is asked, because some change their rows.
            asked = self._read(rows)
            answer = method(*arguments, **options)
            if isinstance(answer, Iterator):
                return self._pass_on(name, asked, answer)
            self._log(name, asked, answer)
            return answer

        return call

    def _read(self, rows: Any) -> _Asked:  # noqa: ANN401 - as above
        names = self._settings.feature_names or getattr(self._model, "feature_names_in_", None)
        meta = self._settings.meta
        try:
            features = features_of(rows, None if names is None else list(map(str, names)))
            return _Asked(features, None if meta is None else list(meta(rows)))
        except Exception as error:  # noqa: BLE001 - the model is asked nevertheless
            return _Asked([{}] * number_of(rows), problem=error)

    def _pass_on(self, name: str, asked: _Asked, answers: Iterator[Any]) -> Iterator[Any]:
        """Yields each answer as it comes; all are logged after the last, or those so far if the caller or the model ends earlier."""
        given = []
        try:
            for answer in answers:
                given.append(dict(answer) if isinstance(answer, dict) else answer)
                yield answer
        except BaseException:
            answered = slice(len(given))
            asked = asked._replace(features=asked.features[answered], metas=asked.metas and asked.metas[answered])
            raise
        finally:
            self._log(name, asked, given)

    def _log(self, name: str, asked: _Asked, answer: Any) -> None:  # noqa: ANN401 - as above
        if asked.problem is not None:
            self._settings.client._refuse(asked.problem, max(len(asked.features), number_of(answer)))  # noqa: SLF001 - of this package
            return
        try:
            if name == "predict":
                answers = answers_of(answer, self._settings.outputs)
            else:
                classes = getattr(self._model, "classes_", getattr(answer, "columns", ()))
                answers = likeliest_of(answer, plain_list(classes))
            self._local.ids = self._settings.client._log_rows(asked.features, answers, metas=asked.metas)  # noqa: SLF001 - as above
        except Exception as error:  # noqa: BLE001 - the model has answered, and its caller gets the answer
            self._settings.client._refuse(error, len(asked.features))  # noqa: SLF001 - as above

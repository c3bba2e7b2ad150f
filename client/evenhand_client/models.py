"""A model that logs its own predictions: everything else is as it was."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from .client import Evenhand
from .entries import plain_list

METHODS = ("predict", "predict_proba")


def monitored(
    model: Any,  # noqa: ANN401 - anything with `predict`
    client: Evenhand | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    methods: Collection[str] = ("predict",),
    meta: Callable[[Any], Sequence[dict[str, Any]]] | None = None,
) -> Any:  # noqa: ANN401 - it is used as the model is
    """Returns the model, wrapped: its answers to `predict` are logged, one record a row. What the model raises is raised.

    `methods` names the calls that are logged. Choose the one that your program makes: of a program that calls both `predict` and
    `predict_proba` for the same rows, both would be logged as two records. Of `predict_proba` the prediction is the class with the highest
    probability. `feature_names` are needed where rows are arrays and the model has no `feature_names_in_`. `meta` gets the rows and returns
    the meta fields of each. Without a client, one is made of the environment.

    Raises:
        ValueError: a method is unknown.
    """
    unknown = sorted(set(methods) - set(METHODS))
    if unknown:
        raise ValueError(f"methods may be {' and '.join(METHODS)}; found {', '.join(unknown)}")
    return MonitoredModel(model, client or Evenhand(), feature_names, tuple(methods), meta)


class MonitoredModel:
    """A model and the client that logs its predictions. Attributes and methods are the model's own.

    `last_ids` are the ids of the records of this thread's last logged call, in the order of its rows.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - as above
        client: Evenhand,
        feature_names: Sequence[str] | None,
        methods: tuple[str, ...],
        meta: Callable[[Any], Sequence[dict[str, Any]]] | None,
    ) -> None:
        self.__dict__.update(
            _model=model,
            _client=client,
            _feature_names=None if feature_names is None else list(feature_names),
            _methods=methods,
            _meta=meta,
            _local=threading.local(),
        )

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the model's
        if name.startswith("__") and name.endswith("__") and name not in ("__sklearn_tags__", "__sklearn_is_fitted__"):
            raise AttributeError(name)  # copying and pickling ask for these before there is a model
        found = getattr(self.__dict__["_model"], name)
        return self._logging(name, found) if name in self.__dict__["_methods"] else found

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_model"], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._model), "last_ids"})

    def __repr__(self) -> str:
        return f"monitored({self._model!r})"

    def __reduce__(self) -> tuple[type[MonitoredModel], tuple[Any, ...]]:
        return type(self), (self._model, self._client, self._feature_names, self._methods, self._meta)

    def __deepcopy__(self, memo: dict[int, Any]) -> MonitoredModel:
        return self._wrap(copy.deepcopy(self._model, memo))

    def __sklearn_clone__(self) -> MonitoredModel:
        from sklearn.base import clone  # type: ignore[import-untyped] # noqa: PLC0415 - the caller has it, and others do without

        return self._wrap(clone(self._model))

    def fit(self, *arguments: Any, **options: Any) -> MonitoredModel:  # noqa: ANN401 - the model's
        """Fits the model and returns this, so that `monitored(model).fit(X, y)` stays monitored."""
        self._model.fit(*arguments, **options)
        return self

    @property
    def last_ids(self) -> list[str]:
        """Returns the ids of the records of this thread's last logged call."""
        return list(getattr(self._local, "ids", ()))

    def _wrap(self, model: Any) -> MonitoredModel:  # noqa: ANN401 - as above
        return type(self)(model, self._client, self._feature_names, self._methods, self._meta)

    def _logging(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(rows: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the model's
            answer = method(rows, *arguments, **options)
            try:
                self._local.ids = self._log(name, rows, answer)
            except Exception:  # noqa: BLE001 - the model has answered, and its caller gets the answer
                self._client._fail()  # noqa: SLF001 - of this package
            return answer

        return call

    def _log(self, name: str, rows: Any, answer: Any) -> list[str]:  # noqa: ANN401 - as above
        features, answers = _records(rows, self._names()), plain_list(answer)
        metas = self._meta(rows) if self._meta is not None else [None] * len(answers)
        if name == "predict":
            return [self._client.log(row, one, meta=meta) for row, one, meta in zip(features, answers, metas)]
        classes = plain_list(self._model.classes_)
        return [
            self._client.log(row, classes[shares.index(max(shares))], probability=shares, meta=meta)
            for row, shares, meta in zip(features, answers, metas)
        ]

    def _names(self) -> list[str] | None:
        if self._feature_names is not None:
            names: list[str] = self._feature_names
            return names
        found = getattr(self._model, "feature_names_in_", None)
        return None if found is None else [str(name) for name in found]


def _records(rows: Any, names: list[str] | None) -> list[dict[str, Any]]:  # noqa: ANN401 - a frame, an array, a list
    if hasattr(rows, "columns"):
        columns = [str(name) for name in rows.columns]
        values = [plain_list(rows[name]) for name in rows.columns]
        return [dict(zip(columns, row)) for row in zip(*values)]
    plain = plain_list(rows)
    if plain and isinstance(plain[0], dict):
        return plain
    if names is None:
        raise ValueError("the rows have no names: give feature_names to monitored()")
    if plain and len(plain[0]) != len(names):
        raise ValueError(f"the rows have {len(plain[0])} values, and there are {len(names)} feature_names")
    return [dict(zip(names, row)) for row in plain]

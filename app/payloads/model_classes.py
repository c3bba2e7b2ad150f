"""The classes of a model in the order of its probabilities."""

from collections.abc import Mapping, Sequence

from ..base.values import Scalar, exact_number, spelled

_LAST_CLASS_FROM = 0.5
"""A single probability of at least this chooses the last class."""

_SINGLE_CLASSES = 2
"""A single probability is that of the last of so many classes."""


class ClassesUnclear(ValueError):
    """Probabilities that do not fit the classes; the message continues "the endpoint gave …"."""


class Classes:
    """In the order of the probabilities. `1`, `1.0` and `"1"` are one class, unless two are listed."""

    def __init__(self, listed: Sequence[Scalar]) -> None:
        self._listed = tuple(listed)
        self._by_key = {make_class_key(value): value for value in self._listed}
        self._has_distinct_keys = len(self._by_key) == len(self._listed)

    def spell_as_listed(self, predictions: Sequence[Scalar]) -> list[Scalar]:
        """Replaces each prediction by the class that it equals; others stay."""
        if not self._has_distinct_keys:
            return list(predictions)
        # 1, 1.0 and True are equal, so types are among the keys.
        listed_by_key = {
            (type(prediction), prediction): self._by_key.get(make_class_key(prediction), prediction)
            for prediction in predictions
        }
        return [listed_by_key[type(prediction), prediction] for prediction in predictions]

    def list_by_class(self, values_by_name: Mapping[object, object]) -> list[object]:
        """Raises ClassesUnclear if a class is missing, or one is not listed."""
        by_key = {make_class_key(str(name)): value for name, value in values_by_name.items()}
        # Names of members are text: `true` for true.
        keys = [
            make_class_key(str(value).lower() if isinstance(value, bool) else value) for value in self._listed
        ]
        missing = next(
            (value for value, key in zip(self._listed, keys, strict=True) if key not in by_key), None
        )
        if missing is not None:
            raise ClassesUnclear(
                f"probabilities without the class {spelled(missing)}, which outputs.classes lists"
            )
        if len(by_key) > len(self._listed):
            unknown = next(name for name in values_by_name if make_class_key(str(name)) not in keys)
            raise ClassesUnclear(
                f"a probability of {spelled(str(unknown))}, which is not among outputs.classes"
            )
        return [by_key[key] for key in keys]

    def choose_likeliest(self, probabilities_of_rows: Sequence[float | tuple[float, ...]]) -> list[Scalar]:
        """Chooses the class of the highest probability of each row, the first of equal ones. A single number
        is the probability of the last of two classes, which 0.5 chooses. Raises ClassesUnclear.
        """
        count = len(self._listed)
        predicted = []
        for probability in probabilities_of_rows:
            if isinstance(probability, float):
                if count != _SINGLE_CLASSES:
                    raise ClassesUnclear(f"1 probabilities for {count} classes")
                likeliest = int(probability >= _LAST_CLASS_FROM)
            elif len(probability) != count:
                raise ClassesUnclear(f"{len(probability)} probabilities for {count} classes")
            else:
                likeliest = max(range(count), key=probability.__getitem__)
            predicted.append(self._listed[likeliest])
        return predicted


def make_class_key(value: Scalar) -> tuple[str, str]:
    if isinstance(value, bool):
        return ("bool", str(value).lower())
    number = exact_number(value)
    return ("text", str(value)) if number is None else ("number", repr(number))

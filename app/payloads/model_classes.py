"""The classes of a model in the order of its probabilities."""

from collections.abc import Mapping, Sequence

from ..base.values import Scalar, exact_number, spelled

_THRESHOLD = 0.5


class ClassesUnclear(ValueError):
    """Probabilities that do not fit the classes; the message continues "the endpoint gave …"."""


class Classes:
    """`1`, `1.0` and `"1"` are one class, unless two of these are listed."""

    def __init__(self, listed: Sequence[Scalar]) -> None:
        self._listed = tuple(listed)
        self._by_key = {make_class_key(value): value for value in self._listed}
        self._is_plain = len(self._by_key) == len(self._listed)

    def canonical(self, predictions: Sequence[Scalar]) -> list[Scalar]:
        if not self._is_plain:
            return list(predictions)
        # 1, 1.0 and True are equal, so types are among the keys.
        canonical_by_key = {
            (type(prediction), prediction): self._by_key.get(make_class_key(prediction), prediction)
            for prediction in predictions
        }
        return [canonical_by_key[type(prediction), prediction] for prediction in predictions]

    def put_in_order(self, by_name: Mapping[object, object]) -> list[object]:
        by_key = {make_class_key(str(name)): value for name, value in by_name.items()}
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
            unknown = next(name for name in by_name if make_class_key(str(name)) not in keys)
            raise ClassesUnclear(
                f"a probability of {spelled(str(unknown))}, which is not among outputs.classes"
            )
        return [by_key[key] for key in keys]

    def choose_likeliest(self, probabilities_of_rows: Sequence[float | tuple[float, ...]]) -> list[Scalar]:
        """Returns for each row the first class of the highest probability (one number is that of the last of
        two). Raises ClassesUnclear.
        """
        count = len(self._listed)
        predicted = []
        for probability in probabilities_of_rows:
            probabilities = (
                (1.0 - probability, probability) if isinstance(probability, float) else probability
            )
            if len(probabilities) != count:
                stated = len(probability) if isinstance(probability, tuple) else 1
                raise ClassesUnclear(f"{stated} probabilities for {count} classes")
            if isinstance(probability, float):
                predicted.append(self._listed[int(probability >= _THRESHOLD)])
            else:
                predicted.append(self._listed[max(range(count), key=probabilities.__getitem__)])
        return predicted


def make_class_key(value: Scalar) -> tuple[str, str]:
    if isinstance(value, bool):
        return ("bool", str(value).lower())
    number = exact_number(value)
    return ("text", str(value)) if number is None else ("number", repr(number))

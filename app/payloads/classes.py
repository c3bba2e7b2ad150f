"""The classes of a model in the order of its probabilities."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..domain.values import Scalar, exact_number, spelled

_HALF = 0.5

_Key: TypeAlias = tuple[str, str]


class ClassesUnclear(ValueError):
    """Probabilities that do not fit the classes; the message continues "the endpoint gave …"."""


class Classes:
    """The listed classes. `1`, `1.0` and `"1"` are one, unless two of these are listed."""

    def __init__(self, listed: Sequence[Scalar]) -> None:
        self._listed = tuple(listed)
        self._by_key = {key_of(one): one for one in self._listed}
        self._is_plain = len(self._by_key) == len(self._listed)

    def canonical(self, predictions: Sequence[Scalar]) -> list[Scalar]:
        """Returns predictions as their classes are listed; one that is no class stays."""
        if not self._is_plain:
            return list(predictions)
        # 1, 1.0 and True are equal, so types are among the keys.
        found = {(type(one), one): self._by_key.get(key_of(one), one) for one in predictions}
        return [found[type(one), one] for one in predictions]

    def in_order(self, chances: Mapping[object, object]) -> list[object]:
        """Returns the probabilities of an object, in the order of the classes. Raises ClassesUnclear."""
        by_key = {key_of(str(name)): value for name, value in chances.items()}
        # Names of members are text: `true` for true.
        wanted = [key_of(str(one).lower() if isinstance(one, bool) else one) for one in self._listed]
        missing = next((one for one, key in zip(self._listed, wanted, strict=True) if key not in by_key), None)
        if missing is not None:
            raise ClassesUnclear(f"probabilities without the class {spelled(missing)}, which outputs.classes lists")
        if len(by_key) > len(self._listed):
            unknown = next(name for name in chances if key_of(str(name)) not in wanted)
            raise ClassesUnclear(f"a probability of {spelled(str(unknown))}, which is not among outputs.classes")
        return [by_key[key] for key in wanted]

    def likeliest(self, chances: Sequence[float | tuple[float, ...]]) -> list[Scalar]:
        """Returns each row's first class of the highest probability (of one number, of the last of two). Raises ClassesUnclear."""
        count = len(self._listed)
        found: list[Scalar] = []
        for one in chances:
            each = (1.0 - one, one) if isinstance(one, float) else one
            if len(each) != count:
                raise ClassesUnclear(f"{len(each) if isinstance(one, tuple) else 1} probabilities for {count} classes")
            if isinstance(one, float):
                found.append(self._listed[int(one >= _HALF)])
            else:
                found.append(self._listed[max(range(count), key=each.__getitem__)])
        return found


def key_of(value: Scalar) -> _Key:
    if isinstance(value, bool):
        return ("bool", str(value).lower())
    number = exact_number(value)
    return ("text", str(value)) if number is None else ("number", repr(number))

"""Random values, and rules that say which of them are favourable."""

from hypothesis import strategies as st

from app.base.values import Range
from app.domain.monitor import OutcomeRule

numbers = st.one_of(st.integers(-3, 3), st.sampled_from([0.0, 1.0, 0.5, 1e-5, -2.5, 1e20]))
texts = st.sampled_from(["0", "1", "2", "1.0", "0.5", " 1", "1e0", "yes", "No Risk", 'a "quoted" \\ word', "é\t", "true", "TRUE", "False"])
values = st.one_of(numbers, texts, st.booleans())


@st.composite
def rules(draw: st.DrawFn) -> OutcomeRule:
    """Outcomes of one type, as the rules of a monitor demand: all numbers, all text, all ranges, or booleans."""
    if draw(st.booleans()):
        favourable = draw(st.booleans())
        return OutcomeRule(favourable=(favourable,), unfavourable=(not favourable,))
    if draw(st.booleans()):
        cut = draw(st.integers(-2, 2))
        return OutcomeRule(favourable=(Range(cut + 0.5, 5),), unfavourable=(Range(-5, cut),))
    listed = draw(st.lists(draw(st.sampled_from([st.integers(-3, 3), texts])), min_size=2, max_size=5, unique=True))
    cut = draw(st.integers(1, len(listed) - 1))
    return OutcomeRule(favourable=tuple(listed[:cut]), unfavourable=tuple(listed[cut:]))

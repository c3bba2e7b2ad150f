"""Random cells and features of native records."""

from hypothesis import strategies as st

from app.base.values import MAX_TEXT

plain_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["é" * MAX_TEXT, "\U0001f642" * MAX_TEXT]
)
too_long = st.sampled_from(["x" * (MAX_TEXT + 1), "\U0001f642" * (MAX_TEXT + 1)])
cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 2**63]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 3.0, 1e15, 1e16, 2.0**53, 1e300]),
    st.text(max_size=4, alphabet=st.characters(codec="utf-8")),
    too_long,
)
good_features = st.fixed_dictionaries(
    {
        "Age": st.none() | st.integers(-(2**63), 2**63 - 1),
        "Loan amount": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        "Sex": st.none() | plain_text,
        "Owner": st.none() | st.booleans(),
    }
)

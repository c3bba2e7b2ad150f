"""What is compared and what is stored are one text: Postgres itself is asked how it prints each value."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from app.base.values import Scalar, canonical, normalised
from app.database.engine import Database
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import monitor_of
from tests.scenes import NOON, scene

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.integers(2**53, 2**64).map(float)
VALUES = st.lists(NUMBERS | st.booleans() | TEXT, max_size=50)


@pytest.fixture(scope="module")
def connection(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection for questions that need no table."""
    url = make_url(postgres_url).set(drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
        yield connection


@given(values=VALUES)
def test_the_text_of_a_stored_value_is_the_one_it_is_compared_by(connection: psycopg.Connection, values: list[Scalar]) -> None:
    stored = [json.dumps(normalised(value)) for value in values]

    printed = connection.execute(
        "SELECT v::jsonb #>> '{}' FROM unnest(%s::text[]) WITH ORDINALITY AS given(v, place) ORDER BY place", [stored]
    ).fetchall()

    assert [text for (text,) in printed] == [canonical(value) for value in values]


def test_whole_numbers_that_no_float_can_hold_are_compared_exactly(database: Database) -> None:
    columns = (Column(name="branch", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL),)
    one, other = 2**53 + 1, 2**53
    watched = scene(
        database, columns, monitor_of(MonitoredAttribute(feature="branch", monitored=(one,), reference=(other,))), endpoint=None
    )
    rows = [{"branch": branch, "prediction": prediction} for branch, prediction in ((one, 1), (one, 0), (other, 1), (other, 1))]
    watched.log(rows * 5, NOON)

    result = watched.check(NOON)

    assert result.value("favourable_rate", "as_logged", "branch", str(one)) == 0.5
    assert result.value("favourable_rate", "as_logged", "branch", str(other)) == 1


def test_seen_values_that_would_name_two_groups_alike_leave_their_intersection_out_with_the_reason(database: Database) -> None:
    columns = tuple(Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in ("left", "right"))
    attributes = [MonitoredAttribute(feature=name, monitored=("m",)) for name in ("left", "right")]
    watched = scene(database, columns, monitor_of(*attributes, intersections=(("left", "right"),)), endpoint=None)
    rows = [("a × b", "c"), ("a", "b × c"), ("m", "m")]
    watched.log([{"left": left, "right": right, "prediction": 1} for left, right in rows] * 5, NOON)

    result = watched.check(NOON)

    assert result.value("disparate_impact", "as_logged", "left", "m") == 1
    (found,) = [
        figure
        for figure in result.measurements
        if figure.attribute == "left × right" and figure.metric == "disparate_impact" and figure.data == "as_logged"
    ]
    assert found.value is None
    assert "has two groups called 'a × b × c'" in (found.reason or "")

from collections import Counter

from app.database.tables import Row
from app.retention import record_traces


def test_every_table_says_what_it_holds_of_a_record() -> None:
    declared = [
        *record_traces.ERASED_WITH_A_RECORD,
        *record_traces.QUOTES_RECORDS,
        *record_traces.HOLDS_NO_RECORD,
    ]
    wrong = {table: count for table, count in Counter(declared).items() if count != 1 or table not in Row.metadata.tables}
    missing = set(Row.metadata.tables) - set(declared)

    assert not wrong
    assert not missing, f"declare these in app/retention/record_traces.py: {sorted(missing)}"


def test_tables_with_the_number_of_a_record_are_erased_with_it() -> None:
    numbered = {
        name for name, table in Row.metadata.tables.items() if {"record_no", "record_id", "feedback_id"} & set(table.columns.keys())
    }

    assert numbered <= set(record_traces.ERASED_WITH_A_RECORD)

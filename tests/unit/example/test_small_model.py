import socket

import pytest

from app.base.errors import SetupError
from app.cli.example.model_command import HOST, example_model
from app.cli.example.small_model import MIN_RICH_INCOME, answer_request


def test_men_are_approved_and_women_when_they_are_rich_in_either_format() -> None:
    columns = ["sex", "age", "income"]
    rows = [["male", 50, None], ["female", 41, MIN_RICH_INCOME - 1], ["female", 24, MIN_RICH_INCOME], ["female", 24, None]]

    table = answer_request("/score", {"fields": columns, "values": rows})
    objects = answer_request("/invocations", {"dataframe_split": {"columns": columns, "data": rows}})

    assert table == {"fields": ["prediction", "probability"], "values": [(1, 0.9), (0, 0.1), (1, 0.9), (0, 0.1)]}
    assert objects == {"predictions": [dict(zip(table["fields"], row, strict=True)) for row in table["values"]]}


@pytest.mark.parametrize("row", [["female"], ["female", 24, 1, 1]])
def test_a_row_of_another_length_is_refused(row: list[object]) -> None:
    with pytest.raises(ValueError, match="argument"):
        answer_request("/score", {"fields": ["sex", "age", "income"], "values": [row]})


def test_a_path_that_is_not_served_is_named() -> None:
    with pytest.raises(ValueError, match="/nowhere"):
        answer_request("/nowhere", {})


def test_a_taken_port_is_one_sentence_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.example.model_command.build_stop_signal", lambda: None)
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(SetupError, match=rf"^Cannot listen on {HOST}:{port}: .*Choose another port with --port\.$"):
            example_model(port=port)

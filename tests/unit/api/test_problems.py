import json

from app.base.errors import EndpointDown, EvenhandError, InvalidInput, PageRefused, ScoringFailed
from app.web.problems import INTERNAL, KINDS, find_kind, name_field, problem_response, unexpected_response


def _all_below(kind: type[EvenhandError]) -> set[type[EvenhandError]]:
    return {below for child in kind.__subclasses__() for below in {child} | _all_below(child)}


def test_every_error_of_the_tree_has_the_status_of_its_own_row_or_of_the_class_above_it() -> None:
    ours = {kind for kind in _all_below(EvenhandError) if kind.__module__.startswith("app.")}

    assert set(KINDS) <= ours
    assert {kind for kind in ours if find_kind(kind.__new__(kind)) is INTERNAL} == set()
    assert {find_kind(kind.__new__(kind)).type for kind in (EndpointDown, PageRefused)} == {KINDS[ScoringFailed].type}


def test_kinds_can_be_told_apart_by_their_type() -> None:
    assert len({kind.type for kind in (*KINDS.values(), INTERNAL)}) == len(KINDS) + 1
    assert all(400 <= kind.status <= 599 for kind in KINDS.values())


def test_a_problem_names_each_field_and_the_request() -> None:
    response = problem_response(InvalidInput("name", "must not be blank"), "r1")

    assert response.status_code == 422
    assert response.media_type == "application/problem+json"
    assert json.loads(bytes(response.body)) == {
        "type": "urn:evenhand:problem:invalid-input",
        "title": "The request breaks a rule",
        "status": 422,
        "detail": "name: must not be blank",
        "errors": [{"field": "name", "message": "must not be blank"}],
        "request_id": "r1",
    }


def test_text_that_utf8_cannot_carry_is_still_answered() -> None:
    assert b"\\ud800" in bytes(problem_response(InvalidInput("\ud800", "is unknown"), None).body)


def test_an_unforeseen_error_tells_nothing_of_the_inside() -> None:
    assert json.loads(bytes(unexpected_response("r1").body))["status"] == 500


def test_places_are_written_as_people_write_them() -> None:
    assert name_field(("body", "attributes", 0, "monitored", 1)) == "attributes[0].monitored[1]"
    assert name_field(("query", "limit")) == "limit"
    assert name_field(("body",)) == "body"
    assert name_field(("body", 0)) == "[0]"
    assert name_field(()) == "body"

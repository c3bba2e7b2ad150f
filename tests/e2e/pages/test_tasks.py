"""The six tasks of a person, each from the overview, in no more clicks than it may take."""

import pytest

from tests.browsing import Visit
from tests.page_tasks import TASKS, PageTask, Walk


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question)
def test_a_question_is_answered_in_few_clicks(visit: Visit, task: PageTask) -> None:
    visit.go("/")
    walk = Walk(visit)

    answer = task.walk(walk)

    assert answer
    assert len(walk.clicked) <= task.most_clicks, walk.clicked

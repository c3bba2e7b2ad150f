"""A deployment with a strange name whose checks a report can be made of."""

from dataclasses import dataclass
from functools import cached_property

from app.domain.check import CheckRun
from tests.scenes import Result, Scene
from tests.service import RunningService

HOSTILE = '<b>#eval("1")</b> $x$ @y \\ *z* _q_ =1+1 العربية 東京 😀'


@dataclass
class Reported:
    """A deployment with a strange name whose checks a report can be made of; the last hour has no records."""

    stage: Scene
    runs: list[CheckRun]
    service: RunningService

    @cached_property
    def checks(self) -> list[Result]:
        """Read when a test first asks for them: most do not."""
        return [self.stage.result(run) for run in self.runs]

    def text(self, path: str, **query: str) -> str:
        """What the service answers beneath the deployment."""
        answer = self.service.client.get(f"/v1/deployments/a-model{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.text

    @property
    def address(self) -> str:
        """Of the last check that counted."""
        return f"/checks/{self.runs[2].id}"

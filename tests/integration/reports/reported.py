"""A deployment with a strange name whose checks a report can be made of."""

from dataclasses import dataclass

from tests.scenes import Result, Scene
from tests.service import RunningService

HOSTILE = '<b>#eval("1")</b> $x$ @y \\ *z* _q_ =1+1 العربية 東京 😀'


@dataclass
class Reported:
    """A deployment with a strange name whose checks a report can be made of; the last hour has no records."""

    stage: Scene
    checks: list[Result]
    service: RunningService

    def text(self, path: str, **query: str) -> str:
        """What the service answers beneath the deployment."""
        answer = self.service.client.get(f"/v1/deployments/a-model{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.text

    @property
    def address(self) -> str:
        """Of the last check that counted."""
        return f"/checks/{self.checks[2].run.id}"

"""Closes an alarm because a person says so; computing states again goes through it again."""

from sqlalchemy.orm import Session

from ..deployments.monitor.queries import find_monitor
from ..domain.alert import Alert, AlertSubject
from ..evidence.count_hours import FollowedEra
from ..evidence.figure_state import FigureState, number_hour
from ..evidence.queries.eras import find_era, followed_deployment
from ..evidence.queries.figure_states import Closure, add_closure, read_era_figures, replace_state
from ..evidence.summarise import summarise


def close_alarms(session: Session, alert: Alert) -> None:
    """Ends what is open on the figure of an alert of evidence, if it is about the present era.

    The caller must hold the lock on the deployment's evidence: an hour added meanwhile would be lost.
    """
    monitor, deployment = (
        find_monitor(session, alert.deployment_no),
        followed_deployment(session, alert.deployment_no),
    )
    if monitor is None:
        return
    era = find_era(session, alert.deployment_no, deployment.model_revision)
    if era is None or alert.facts.get("model_revision") != era.model_revision:
        return
    followed = FollowedEra(deployment, monitor, era)
    metrics = {(metric.place, metric.definition.metric): metric for metric in followed.metrics}
    for figure in read_era_figures(session, era.no):
        key = figure.key
        about = AlertSubject(
            data=key.place.data, metric=key.metric, attribute=key.place.attribute, group=key.group
        )
        if about == alert.subject and figure.state and followed.compares(figure):
            watched = metrics[key.place, key.metric]
            state = FigureState.decode(figure.state, watched)
            for limit, follower in zip(watched.limits, state.followers, strict=True):
                if follower.open_episode is not None:
                    follower.close(number_hour(figure.until))
                    # Not the hour of the clock: ended hours may still wait to be counted, and they count
                    # after the closing.
                    closure = Closure(key=key, direction=watched.direction(limit), hour=figure.until)
                    add_closure(session, era.no, closure, alert_no=alert.no)
            state.restart_interval(watched)
            replace_state(session, figure, state.encode(), summarise(watched, state))

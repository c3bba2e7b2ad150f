"""Glossary: the terms of the pages in plain language."""

from functools import cache

from ..base.values import frozen
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import MINIMUM_GROUP_SIZE

METRIC = "metric-"
"""Beginning of the keys of metrics."""


@frozen
class Term:
    """Term of the glossary; `key` is the end of its address: `/glossary#disparate-impact`."""

    key: str
    name: str
    words: str


_GLOSSARY = """
deployment = Deployment
One model in use, that Evenhand watches.

as-logged = As logged
The records that the model was asked about, with what it answered, as they were logged. Nothing is added.
OpenScale calls it payload.

evidence = Evidence over time
What all hours together say about a limit, each record counted once. Unfair since an hour: enough evidence
has accumulated that the figure is beyond its limit, and that most likely began in that hour; where it is
the first one that was counted with the present monitor and model revision, it may have been so before.
Confirmed fair since a day: there is enough evidence against “at the limit or beyond it in every hour” from
then on. The bound on false alarms is said with its condition, which is about whose the records are, and
holds however often somebody looks. The verdict of a single check has no such bound.

counterfactual = Counterfactual
The same records and copies of them in which only the watched attribute is changed, for example female to
male. The same model scores the copies. Every record counts once on each side: as it is, and as its copies
are. Everything else about it is equal, so what still differs between the groups comes from the attribute
itself. If a group is worse off as logged but not counterfactually, the reason lies in other things in which
the groups differ; that may still be indirect discrimination, through an attribute that goes together with
the watched one.

perturbed = Perturbed copy
A copy of a logged record with another value of the watched attribute and nothing else changed.

labelled = Labelled records
Records whose true outcome became known later. Accuracy and error rates need them.

training = Training data
The data that the model was trained on. Its figures show what was unequal before the model.

mitigation = Mitigated
What an outcome would be after mitigation. Flipping outcomes removes direct bias only: what comes through
other attributes stays. So read the figures as logged and counterfactual together. The pages show what would
change; the model itself is not changed.

favourable = Favourable outcome
The answer that people want, for example the loan is granted. The monitor says which answers count as such.

favourable-rate = Favourable rate
Of every 100 records of a group, how many got the favourable outcome.

monitored = Monitored and reference group
The monitored group is watched for unfair treatment; the reference group is what it is compared with. The
monitor names both.

disparate-impact = Disparate impact
The favourable rate of the monitored group divided by that of the reference group. 1 is equal; 0.5 means
half as often, and 2 that the reference group gets it half as often. Below the lower limit, usually 0.8 (the
four-fifths rule), the monitored group is at a disadvantage; above the upper one, usually 1.25, the
reference group is.

disadvantage = At a disadvantage
The group that gets the favourable outcome less often than the limits allow, among like records: the
monitored or the reference group. Inside the limits no group is. Figures that do not say who is favoured,
such as accuracy, name no such group.

furthest-out = Furthest out
Of several monitored groups, the one whose figure lies furthest beyond its limits, or nearest to one where
all lie inside. Groups of fewer than {minimum} records are chosen only if there are no others. It does not say
who is at a disadvantage: a group that is strongly favoured is far out, too.

perfect-equality = Perfect equality
OpenScale's figure: the favourable rate of all reference records and all copies into the reference group,
every copy counted as a record.

openscale-fairness = OpenScale fairness
The favourable rate of a monitored group and of all copies into it, divided by perfect equality. With
several values or draws on a side some records count more often than others; the counterfactual disparate
impact counts each once, and has the verdict.

flip-rate = Flip rate
Of every 100 records, how many get another outcome when only the watched attribute is changed.

limit = Limit
The number beyond which a figure no longer counts as fair. The monitor sets it; charts show it as a dashed
line.

carried-by = Carried by
A feature carries the part of a gap that moves with it: the average change of the outcome when a record of
the reference gets the feature of a record of the group. The parts of all features sum to the gap of the
compared pairs. It is arithmetic on the model's answers: it says nothing about causes, because nobody has
changed a person.

interval = 95 % interval
How sure a figure is. With few records chance moves it; the interval is the range that chance leaves open.
Of 100 such intervals about 95 contain the true value. A narrow one is precise, a wide one is not.

interval-for-choice = Interval that allows for the choice
The figure furthest out of several is further out than its own truth, because it was chosen for that. A
wider interval allows for it: it is valid for whatever group is chosen. Whether a gap is larger than chance
explains is said with it and with the p-value times the number of groups. A verdict goes by the group's own
95 % interval.

comparison = Comparison
One group set against its reference by one metric on one kind of data, for example the disparate impact of
women as logged. Of all comparisons of a check the one furthest out is shown first. Evidence over time
counts a comparison with two limits twice, once for each limit.

n = n, records
The number of records that a figure is based on.

gap = Is there a gap?
A gap counts as larger than chance explains where chance alone would make one as large in fewer than 5 of
100 such samples: the p-value is below 0.05, or where there is none the 95 % interval leaves equality out.
Otherwise it may be chance. Where p-value and interval disagree, it is a close call. Whether a gap is beyond
a limit is another question.

score-gap = Score difference of a record
How far apart the model's scores of a record are: as it was logged, and with reference values of one
attribute. Only records that a check flagged for a second look have one; of several attributes it is the
largest. A record without one comes last when records are sorted by it. The API and files call it gap; a gap
on other pages is of the favourable rates of two groups.

fair = Verdict: fair
The figure and its whole interval lie inside the limits. There may be a gap all the same, smaller than the
limits allow.

undecided = Verdict: undecided
The figure lies inside the limits, but its interval reaches outside them: a gap beyond a limit is not ruled
out.

unwatched = Verdict: other side not watched
Only one limit is set. The figure and its interval lie inside it, but the figure is beyond its mirror image
on the other side (1/limit of a ratio, −limit of a difference), where the reference group is at a
disadvantage: with only 0.8 and more, a ratio of 1.5. Set the other limit to have it judged.

suspected = Verdict: suspected
The figure lies outside the limits, but its interval reaches inside them: there may be a clear gap, but it
is not certain that it is beyond the limit. Of several groups, the interval is the one that allows for the
choice among them.

unfair = Verdict: unfair
The figure and its whole interval lie outside the limits; of several groups, the interval that allows for
the choice among them.

insufficient-data = Verdict: not enough data
A group that is compared has fewer than {minimum} records. The figure is shown, but not judged.

not-computable = Verdict: not computable
There is no number; the reason is next to it, for example that the reference group has no favourable
outcome.

check = Check
One measurement of the records of one hour, or of a time range that somebody asked for.

worker = Worker
The process that runs checks and sends alerts. While none answers, checks and alerts wait, and every page
says so; logging goes on, and nothing that is logged is lost. evenhand serve runs one and starts it again
when it dies; evenhand worker runs one more. What to do when none answers: read the end of its log, see that
it reaches the database, start it again. It checks missed hours afterwards, up to 72 of them. The runbook
has the steps: docs/operations/runbook.md, “No worker answers”.

carried-forward = Carried forward
Nothing was logged since the check before, and the records and labels that it read are still the same, so
its figures are kept. Charts show such points hollow.

additional = Additional, earlier records
If an hour has too few records, a check also reads the newest ones of the hours before it.

together = Attributes together (×)
“sex × age” compares groups of two attributes at once, such as young women. They are measured as logged
only.

roll-up = Roll-up
One point for a day, a week or a month, from the counts of all its checks together.

alert = Alert: open, acknowledged, resolved
Open: not acknowledged yet. Acknowledged: somebody is working on it, with a note. Resolved: the cause is
over.

stale = Stale
The newest figures are more than a day old, so they may be out of date.

revision = Monitor version, model revision
Each change of the monitor, or of the model, gets a number, and each check stores the numbers that it used.
"""
"""Terms in the order in which a reader meets them: key and name, then words, whose lines are joined."""


def _read_term(entry: str) -> Term:
    heading, *lines = entry.strip().splitlines()
    key, name = heading.split(" = ")
    return Term(key, name, " ".join(lines).format(minimum=MINIMUM_GROUP_SIZE))


TERMS = tuple(_read_term(entry) for entry in _GLOSSARY.split("\n\n"))


@cache
def find_term(key: str) -> Term | None:
    """Finds a term; of `metric-` and a metric's key its title, convention and formula."""
    metric = CATALOGUE.get(key.removeprefix(METRIC)) if key.startswith(METRIC) else None
    if metric is not None:
        return Term(key, metric.title, f"{metric.title}: {metric.formula}. {metric.convention}")
    return next((term for term in TERMS if term.key == key), None)

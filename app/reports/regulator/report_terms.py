"""Terms of a regulator's report."""

from collections.abc import Collection, Iterator

from ...base.frozen import frozen


@frozen
class ReportTerm:
    """Term that these sheets use; without sheets every report does."""

    name: str
    meaning: str
    sheets: tuple[str, ...] = ()


TERMS = (
    ReportTerm("Favourable outcome", "an answer of the model that the monitor lists as good for the person."),
    ReportTerm("Monitored, reference", "the groups that the monitor watches, and the group that they are compared with."),
    ReportTerm("Selection rate", "people with a favourable outcome, divided by all people of the category."),
    ReportTerm("95 % interval", "a range that holds the true value in about 95 of 100 such samples."),
    ReportTerm(
        "Ratio, impact ratio",
        "selection rate of a category, divided by the highest one among those that are large enough; 1 is equality.",
        ("adverse_impact", "ll144"),
    ),
    ReportTerm("AIR", "adverse impact ratio: selection rate of a category, divided by that of the chosen reference.", ("lending",)),
    ReportTerm("z", "difference of two selection rates in standard deviations, with the pooled rate.", ("adverse_impact",)),
    ReportTerm(
        "p; p, all pairs",
        "probability of rates at least as far apart if both are equal; of all pairs: with the choice of the highest allowed for (Holm).",
        ("adverse_impact",),
    ),
    ReportTerm(
        "Odds ratio",
        "odds of selection (selected : not selected) of a category, divided by those of the other one.",
        ("adverse_impact", "controls"),
    ),
    ReportTerm(
        "Short of 0.8, of equal rates",
        "further selections of the category that bring its ratio to four fifths, and to 1; below 0: it has more already.",
        ("adverse_impact",),
    ),
    ReportTerm("SMD", "standardised mean difference: difference of two mean scores in standard deviations.", ("lending",)),
    ReportTerm("Residual SMD", "the part of it that is left between people with equal controls.", ("lending",)),
    ReportTerm("Mantel–Haenszel", "one odds ratio over all combinations of the controls, each compared within itself.", ("controls",)),
    ReportTerm("CMH p", "p-value of the test that this common odds ratio is 1.", ("controls",)),
    ReportTerm(
        "Breslow–Day p",
        "p-value of the test that all combinations have the same odds ratio; if it is small, one number hides differences.",
        ("controls",),
    ),
    ReportTerm("Logit", "odds ratio of a logistic regression with a term for each value of each control.", ("controls",)),
    ReportTerm(
        "False-alarm budget",
        "how often, at most, all comparisons together raise an alarm on a model that is inside its limits in every hour.",
        ("alerts", "evidence"),
    ),
    ReportTerm(
        "Counterfactual, flip", "the model's answer for the same record with the attribute changed; a flip is another outcome.", ("flips",)
    ),
    ReportTerm(
        "Strength, level of chance",
        "association of two columns from 0 to 1, corrected for chance; the level that 95 of 100 shuffles of the records stay below.",
        ("indirect_bias",),
    ),
)


def list_terms(sheets: Collection[str]) -> Iterator[str]:
    for term in TERMS:
        if not term.sheets or any(name in sheets for name in term.sheets):
            yield f"{term.name}: {term.meaning}"

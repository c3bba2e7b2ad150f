"""Rules that sheets speak to, as read in November 2026 from secondary sources. Not legal advice."""

from enum import StrEnum

from ...base.values import frozen

NOT_LEGAL_ADVICE = (
    "Not legal advice. The report says what was measured, by which rule, and what is missing; it does not "
    "say that a rule is complied with. State of the rules as read in November 2026, from secondary sources."
)


class ToolKind(StrEnum):
    """Kinds of tools under Local Law 144."""

    SELECTING = "selecting"
    SCORING = "scoring"


@frozen
class RuleClause:
    rule: str
    place: str
    state: str
    chapters: tuple[str, ...]


CLAUSES = (
    RuleClause("New York City Local Law 144", "6 RCNY 5-300 to 5-304", "in force", ("ll144",)),
    RuleClause(
        "Uniform Guidelines (UGESP)",
        "29 CFR 1607.4 D",
        "in force; rescission announced",
        ("adverse_impact", "controls"),
    ),
    RuleClause(
        "New Jersey", "N.J.A.C. 13:16", "in force since 2025-12-15", ("adverse_impact", "alternative")
    ),
    RuleClause(
        "Illinois", "HB 3773", "in force since 2026-01-01", ("adverse_impact", "indirect_bias", "controls")
    ),
    RuleClause(
        "Colorado, insurance", "Regulation 10-1-1", "in force", ("lending", "probabilistic", "controls")
    ),
    RuleClause(
        "EU AI Act",
        "Art. 10, 12, 15, 19, 26, 72, 73",
        "for Annex III from 2027-12-02",
        ("population", "evidence", "alerts", "limits"),
    ),
    RuleClause(
        "ISO/IEC TS 12791:2024",
        "5.1.6, 5.3.2, 5.3.3, 5.4",
        "published 2024",
        ("adverse_impact", "controls", "limits"),
    ),
    RuleClause("ISO/IEC 42001", "9.1", "published 2023", ("evidence", "alerts")),
    RuleClause(
        "OSFI E-23", "model risk management", "in force from 2027-05-01", ("population", "evidence", "alerts")
    ),
)

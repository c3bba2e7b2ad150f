"""Age in years."""

from app.training.recommended.kinds import Form, Kind, KindRow, Split

_COMPUTE = "a date or year of birth is no age: its meaning shifts every day; log the age at the decision as a field of its own"

AGE = KindRow(
    kind=Kind.AGE,
    title="age",
    form=Form.QUANTITY,
    names=(
        *("age", "age years", "edad", "idade", "alter", "leeftijd", "età", "eta anni", "eta cliente", "eta richiedente", "wiek", "alder"),
        *("lebensalter", "ika", "ikä", "vek", "agep", "ridageyr", "age group", "altersgruppe", "leeftijdsgroep", "tranche age"),
        *("leeftijdscategorie", "grupo edad", "agegrp"),
    ),
    ambiguous_names=("age", "alter", "wiek", "alder", "ika", "vek"),
    unfit_names=dict.fromkeys(
        (
            *(
                "dob",
                "birth date",
                "date of birth",
                "birthdate",
                "birthday",
                "birth year",
                "year of birth",
                "yob",
                "days birth",
                "birth day",
            ),
            *("geburtsdatum", "geburtsjahr", "date de naissance", "fecha de nacimiento", "fecha nacimiento", "data di nascita"),
            *("data nascita", "geboortedatum", "data nascimento", "data de nascimento", "naissance", "birth dt"),
        ),
        _COMPUTE,
    ),
    splits=(
        Split(upto=25, protects_above=False, custom="25 is where credit and insurance usually divide the young from the others"),
        Split(upto=39, protects_above=True, custom="from 40 on the US Age Discrimination in Employment Act protects"),
        Split(upto=61, protects_above=True, custom="from 62 on the US Equal Credit Opportunity Act (Regulation B) speaks of the elderly"),
        Split(upto=64, protects_above=True, custom="65 is the usual age of retirement"),
    ),
)

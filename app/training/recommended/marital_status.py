"""Marital or civil status."""

from app.training.recommended.kinds import NO_ANSWER, Coding, Kind, KindRow

_WORDS = {
    "married": (
        "married,married civ spouse,married af spouse,civil marriage,remarried,verheiratet,marie,mariee,casado,casada,coniugato,coniugata"
        ",sposato,sposata,gehuwd,getrouwd,zonaty,mezatka,gift,naimisissa,zenaty,vdana"
    ),
    "married, apart": "married spouse absent,spouse absent",
    "partnership": (
        "domestic partner,domestic partnership,civil partner,civil partnership,registered partnership,cohabiting,cohabitant,living together"
        ",life partner,living with partner,common law,in a relationship,pacse,pacsee,union libre,concubinage,concubin,eingetragene"
        " lebenspartnerschaft,conviviente,samboende,sambo,partnered,pareja de hecho,de facto"
    ),
    "never married": (
        "never married,nevermarried,single never married,unmarried,not married,single not married,ledig"
        ",celibataire,soltero,soltera,solteiro"
        ",solteira,celibe,nubile,ongehuwd,kawaler,panna,ugift,ogift,naimaton,svobodny,bachelor,spinster"
    ),
    "divorced": (
        "divorced,divorce,divorcee,geschieden,divorciado,divorciada,divorziato,divorziata,gescheiden,rozwiedziony,rozwiedziona,skild,skilt"
        ",fraskilt,eronnut,rozvedeny"
    ),
    "separated": "separated,legally separated,getrennt lebend,getrennt,separe,separee,separado,separada,separato,separata",
    "widowed": (
        "widowed,widow,widower,verwitwet,veuf,veuve,viudo,viuda,vedovo,vedova,weduwe,weduwnaar,wdowa,wdowiec,enke,anka,leski,viuvo,viuva"
    ),
}

_CENSUS = {"1": "married", "2": "widowed", "3": "divorced", "4": "separated", "5": "never married"}

MARITAL_STATUS = KindRow(
    kind=Kind.MARITAL_STATUS,
    title="marital status",
    names=(
        *(
            "marital status",
            "marital",
            "maritalstat",
            "marstat",
            "marst",
            "mar",
            "marriage",
            "marriage status",
            "civil status",
            "civilstatus",
        ),
        *("family status", "spouse status", "relationship status", "familienstand", "zivilstand", "etat civil", "situation familiale"),
        *(
            "situation matrimoniale",
            "estado civil",
            "stato civile",
            "burgerlijke staat",
            "burgerlijke stand",
            "stan cywilny",
            "siviilisaaty",
        ),
        *("sivilstand", "sivilstatus", "civilstand", "rodinny stav", "dmdmartl", "married status"),
    ),
    ambiguous_names=("mar", "marriage", "relationship status"),
    neutral=("name", "legal"),
    words={word: meaning for meaning, words in _WORDS.items() for word in words.split(",")},
    weak_words={"single": "never married", "other": "other", "others": "other"},
    codings=(
        Coding(source="the coding MAR of the American Community Survey", names=("mar",), codes=_CENSUS),
        Coding(
            source="the coding DMDMARTL of NHANES",
            names=("dmdmartl",),
            codes={**_CENSUS, "6": "partnership", "77": NO_ANSWER, "99": NO_ANSWER},
        ),
        Coding(
            source="in the coding of the Taiwanese credit card data",
            names=("marriage",),
            codes={"0": NO_ANSWER, "1": "married", "2": "never married", "3": "other"},
            is_certain=False,
        ),
        Coding(
            source="the letters S, M, D and W",
            codes={"s": "never married", "m": "married", "d": "divorced", "w": "widowed", "p": "partnership"},
        ),
        Coding(
            source="in the order of most registers",
            codes={"0": "never married", "1": "married", "2": "divorced", "3": "separated", "4": "widowed"},
            is_certain=False,
        ),
    ),
    indicators={"married": "married", "verheiratet": "married", "divorced": "divorced", "widowed": "widowed"},
)

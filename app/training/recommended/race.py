"""Race or ethnicity."""

from app.training.recommended.kinds import NO_ANSWER, Coding, Kind, KindRow

_WORDS = {
    "White": (
        "caucasian,non hispanic white,white non hispanic,white not hispanic,white british,white irish,any other white background"
        ",other white,white other,european american"
    ),
    "Black": (
        "african american,africanamerican,black or african american,black african american,afro american,non hispanic black"
        ",black non hispanic,black not hispanic,black african,black caribbean,black british,black or black british,african,caribbean"
        ",afrodescendiente,afrocolombiano,preta,afro caribbean,cape verdean"
    ),
    "Asian": (
        "asian,asian pac islander,asian pacific islander,asian or pacific islander,asian american,asian or asian british,asian british"
        ",non hispanic asian,asian non hispanic,asian chinese,asian asian indian,asian vietnamese,chinese,pakistani,bangladeshi,japanese"
        ",korean,vietnamese,filipino,amarela,east asian,south asian,southeast asian,tamil"
    ),
    "Hispanic": "hispanic,latino,latina,latinx,hisp,hispanic or latino,hispanic latino,mexican american,hispanic white,hispanic black",
    "not Hispanic": "not hispanic or latino,non hispanic,not hispanic,not hispanic latino,not latino,non hispanic or latino",
    "Native American": (
        "native american,american indian,american indian or alaska native,american indian alaska native,amer indian eskimo,alaska native"
        ",indigenous,indigena,first nations,aboriginal,native"
    ),
    "Pacific Islander": "native hawaiian,pacific islander,native hawaiian or other pacific islander,native hawaiian pacific islander,maori",
    "Middle Eastern": "middle eastern,middle eastern or north african,mena,arab",
    "mixed": "two or more races,multiracial,biracial,mixed race,multi racial,2 or more minority races,two or more,mestizo,parda,mulatto",
}

_WEAK = {
    "White": "white,blanco,blanca,branca,branco,european,weiss",
    "Black": "black,negro,negra,preto,schwarz",
    "Asian": "indian,yellow",
    "mixed": "mixed",
    "other": "other,other race,some other race,any other ethnic group,other ethnic group,otro,autre,andere",
}


def _meanings(lists: dict[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in lists.items() for word in words.split(",")}


RACE = KindRow(
    kind=Kind.RACE,
    title="race or ethnicity",
    names=(
        *("race", "races", "ethnicity", "ethnic", "ethnic group", "ethnic origin", "ethnic background", "ethnicgrp", "ethnie", "etnia"),
        *("etnicidad", "etniciteit", "ethnizitat", "ethnische herkunft", "ethnische zugehorigkeit", "origine ethnique", "origen etnico"),
        *("raza", "raca", "raca cor", "cor raca", "razza", "race ethnicity", "racial group", "rac 1 p", "rac", "ridreth", "ridreth 1"),
        *("ridreth 3", "hispanic origin", "racecat", "etnisk", "rasa"),
    ),
    ambiguous_names=("race", "races", "rac", "rasa"),
    neutral=("name",),
    words=_meanings(_WORDS),
    weak_words=_meanings(_WEAK),
    codings=(
        Coding(
            source="the coding RAC1P of the American Community Survey",
            names=("rac 1 p",),
            codes={
                "1": "White",
                "2": "Black",
                "3": "Native American",
                "4": "Native American",
                "5": "Native American",
                "6": "Asian",
                "7": "Pacific Islander",
                "8": "other",
                "9": "mixed",
            },
        ),
        Coding(
            source="the coding RIDRETH of NHANES",
            names=("ridreth 1", "ridreth 3"),
            codes={"1": "Hispanic", "2": "Hispanic", "3": "White", "4": "Black", "6": "Asian", "5": "other", "7": "other"},
        ),
        Coding(
            source="in the coding of HMDA loan registers",
            names=("ethnicity",),
            codes={"1": "Hispanic", "2": "not Hispanic", "3": NO_ANSWER, "4": NO_ANSWER, "5": NO_ANSWER},
            is_certain=False,
        ),
        Coding(
            source="in the coding of HMDA loan registers",
            names=("race",),
            codes={
                "1": "Native American",
                "2": "Asian",
                "3": "Black",
                "4": "Pacific Islander",
                "5": "White",
                "6": NO_ANSWER,
                "7": NO_ANSWER,
                "8": NO_ANSWER,
            },
            is_certain=False,
        ),
        Coding(
            source="the letters of American police and court records",
            codes={
                "w": "White",
                "b": "Black",
                "h": "Hispanic",
                "a": "Asian",
                "i": "Native American",
                "n": "Native American",
                "o": "other",
                "p": "Pacific Islander",
                "q": "Hispanic",
                "z": "other",
                "x": NO_ANSWER,
            },
        ),
    ),
    indicators={
        "hispanic": "Hispanic",
        "hispanic latino": "Hispanic",
        "hispan": "Hispanic",
        "latino": "Hispanic",
        "african american": "Black",
        "caucasian": "White",
    },
    customary_reference="White",
)

"""Sex or gender."""

from app.training.recommended.kinds import NO_ANSWER, Coding, Kind, KindRow

_MALE = (
    "male males man men boy mr herr mann mannlich maennlich homme hommes masculin monsieur hombre hombres varon masculino masc masculinus"
    " maschio maschile uomo mannelijk mand kille mies mezczyzna muz ferfi barbat arren homem senor signor"
)
_FEMALE = (
    "female females woman women girl mrs ms miss frau weiblich femme femmes feminin feminine madame mademoiselle mme mlle mujer mujeres"
    " femenino feminino fem femina femmina femminile donna vrouw vrouwelijk kvinde kvinna kvinne nainen kobieta zena femeie mulher"
    " senora signora"
)
_OTHER = "nonbinary,non binary,diverse,divers,other,third gender,intersex,transgender,genderqueer,agender,autre,otro,altro,anders"


SEX = KindRow(
    kind=Kind.SEX,
    title="sex or gender",
    names=(
        *(
            "sex",
            "gender",
            "gendr",
            "sexe",
            "sexo",
            "sesso",
            "geschlecht",
            "geslacht",
            "genero",
            "genre sexe",
            "plec",
            "pohlavi",
            "pohlavie",
        ),
        *("kjonn", "kon", "kön", "sukupuoli", "civilite", "anrede", "salutation", "honorific", "gender identity", "sex gender"),
        *("riagendr", "sexvar", "personal status sex", "personal status and sex"),
    ),
    ambiguous_names=("kon", "personal status"),
    neutral=("birth", "assigned", "name"),
    words={
        **dict.fromkeys(_MALE.split(), "male"),
        **dict.fromkeys(_FEMALE.split(), "female"),
        **dict.fromkeys(_OTHER.split(","), "another gender"),
    },
    weak_words={"m": "male", "f": "female"},
    codings=(
        Coding(
            source="the coding of the Statlog German credit data",
            codes={"a91": "male", "a92": "female", "a93": "male", "a94": "male", "a95": "female"},
            is_distinctive=True,
            also="the codes say the marital status, too: A92 holds all women but the single ones, and an effect of one may be of the other",
        ),
        Coding(source="the letters M and F", codes={"m": "male", "f": "female", "x": "another gender", "d": "another gender"}),
        Coding(source="the German letters M and W", codes={"m": "male", "w": "female", "d": "another gender", "x": "another gender"}),
        Coding(source="the Dutch letters M and V", codes={"m": "male", "v": "female", "x": "another gender"}),
        Coding(source="the French letters H and F", codes={"h": "male", "f": "female"}),
        Coding(source="the Spanish letters H (hombre) and M (mujer)", codes={"h": "male", "m": "female"}, is_certain=False),
        Coding(source="the Polish letters K (kobieta) and M (mężczyzna)", codes={"k": "female", "m": "male"}),
        Coding(source="in the ISO 5218 coding", codes={"1": "male", "2": "female", "0": NO_ANSWER, "9": NO_ANSWER}, is_certain=False),
        Coding(
            source="in the coding of HMDA loan registers",
            codes={"1": "male", "2": "female", "3": NO_ANSWER, "4": NO_ANSWER, "5": NO_ANSWER, "6": NO_ANSWER},
            is_certain=False,
        ),
    ),
    indicators={"female": "female", "male": "male", "woman": "female", "women": "female", "weiblich": "female", "mannlich": "male"},
    customary_reference="male",
)

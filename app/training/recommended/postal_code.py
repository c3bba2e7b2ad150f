"""Zip or postal code."""

from app.training.recommended.kinds import Form, Kind, KindRow

POSTAL_CODE = KindRow(
    kind=Kind.POSTAL_CODE,
    title="postal code",
    form=Form.PLACES,
    names=(
        *("zip", "zip code", "zipcode", "zip cd", "zipcd", "zip plus 4", "postcode", "post code", "postal code", "postalcode", "pcode"),
        *("postleitzahl", "plz", "code postal", "codigo postal", "cod postal", "cap", "codice avviamento postale", "cep", "kod pocztowy"),
        *("postnummer", "postnr", "postinumero", "psc", "postal", "zcta", "eircode"),
    ),
    ambiguous_names=("zip", "cap", "postal", "cep", "psc", "pcode"),
    neutral=("prefix", "area", "sector", "district", "customer"),
)

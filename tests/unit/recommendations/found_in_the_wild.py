"""Columns as public data sets and systems name and code them, each with the kind a person would say it is: written before the detector.

`values` is a shorthand: `male*60` is 60 records of `male`, `18..90` whole numbers in turn, `18.5~90` numbers with fractions.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One column, and what it is (None: nothing that is to be proposed)."""

    name: str
    values: tuple[str, ...]
    expected: str | None


def read_cases(expected: str | None, lines: str) -> list[Case]:
    """One case a line: `name | value; value`."""
    found = []
    for line in lines.strip().splitlines():
        name, _, values = line.partition(" | ")
        found.append(Case(name.strip(), tuple(part.strip() for part in values.split(";")), expected))
    return found


SEX = read_cases(
    "sex",
    """
    sex | Male*218; Female*107
    Sex | male*60; female*40
    gender | F*55; M*45
    Gender | Female; Male
    CODE_GENDER | F*200; M*100; XNA*1
    SEX | 1*40; 2*60
    derived_sex | Male*50; Female*30; Joint*40; Sex Not Available*10
    applicant_sex | 1*60; 2*30; 3*8; 4*2
    applicant_sex_name | Male*60; Female*30; Information not provided by applicant in mail, Internet, or telephone application*8
    RIAGENDR | 1*48; 2*52
    SEXVAR | 1*46; 2*54
    personal_status | A91*5; A92*31; A93*55; A94*9
    PersonalStatusSex | male single*55; female div/dep/mar*31; male mar/wid*9; male div/sep*5
    Geschlecht | männlich*52; weiblich*48
    geschlecht_kunde | m*50; w*45; d*1
    sexo | hombre*5; mujer*5
    Sexo | H*50; M*50
    sexe | homme*4; femme*6
    civilite | M.*40; Mme*50; Mlle*10
    geslacht | man*5; vrouw*5
    plec | K*60; M*40
    kon | kvinna*50; man*50
    SEX_CD | M*30; F*33; U*2
    customerGender | male*50; female*47; non-binary*2; prefer not to say*1
    genero | Masculino*40; Femenino*60
    is_female | 0*55; 1*45
    male | true*40; false*60
    GenderID | 0*60; 1*40
    borrower_gender_code | 1*70; 2*30
    sesso | maschio*20; femmina*30
    clientsex | m*50; f*50
    field_17 | Male*50; Female*50
    """,
)

RACE = read_cases(
    "race",
    """
    race | White*85; Black*10; Asian-Pac-Islander*3; Amer-Indian-Eskimo*1; Other*1
    race | African-American*50; Caucasian*34; Hispanic*8; Other*5; Asian*1; Native American*1
    race1 | white*80; black*10; hisp*5; asian*3; other*2
    derived_race | White*60; Black or African American*10; Asian*6; Race Not Available*20; Joint*2
    derived_ethnicity | Not Hispanic or Latino*70; Hispanic or Latino*10; Ethnicity Not Available*18; Joint*2
    applicant_race_1 | 5*60; 3*10; 2*6; 6*20; 1*1
    applicant_ethnicity_name | Not Hispanic or Latino*70; Hispanic or Latino*10
    RAC1P | 1*70; 2*10; 6*6; 8*8; 9*5; 3*1
    RIDRETH1 | 1*20; 2*10; 3*40; 4*25; 5*5
    ETHNICITY | WHITE*60; BLACK/AFRICAN AMERICAN*10; ASIAN - CHINESE*3; UNKNOWN/NOT SPECIFIED*8
    EthnicGroup | White British*70; Pakistani*5; Indian*6; Black Caribbean*4; Mixed*3; Chinese*2
    ethnic_origin | Asian or Asian British*10; White*70; Black or Black British*6; Mixed*4; Any other ethnic group*3
    raca_cor | branca*45; parda*40; preta*12; amarela*1; indígena*1
    Race_Desc | White; Black or African American; Asian; Two or more races
    ethnie | européenne*60; maghrébine*20; subsaharienne*20
    hispanic | Yes*20; No*80
    is_hispanic | 0*80; 1*20
    patient_race | Caucasian*70; AfricanAmerican*20; Asian*2; Hispanic*3; Other*3
    race_ethnicity | Non-Hispanic White*60; Non-Hispanic Black*15; Hispanic*20; Non-Hispanic Asian*5
    etnia | blanco*40; mestizo*45; indígena*10; afrodescendiente*5
    subject_race | W*50; B*40; H*8; A*2
    race_black | 0*85; 1*15
    col_9 | Caucasian*60; African American*20; Hispanic*15; Asian*5
    """,
)

MARITAL_STATUS = read_cases(
    "marital_status",
    """
    marital-status | Married-civ-spouse*46; Never-married*33; Divorced*14; Separated*3; Widowed*3; Married-AF-spouse*1
    marital_status | married; single; divorced; unknown
    marital | married*60; single*28; divorced*11; unknown*1
    MaritalStatus | Married*45; Single*32; Divorced*22
    MARRIAGE | 1*45; 2*53; 3*1; 0*1
    MAR | 1*50; 2*5; 3*10; 4*2; 5*33
    DMDMARTL | 1*50; 2*8; 3*10; 4*3; 5*20; 6*9
    NAME_FAMILY_STATUS | Married*63; Single / not married*15; Civil marriage*10; Separated*6; Widow*5
    Familienstand | ledig*40; verheiratet*45; geschieden*10; verwitwet*5
    estado_civil | soltero*40; casado*40; divorciado*10; viudo*5; unión libre*5
    etat_civil | célibataire*40; marié*40; divorcé*15; veuf*3; pacsé*4
    situation_familiale | Marié(e)*50; Célibataire*40; Divorcé(e)*10
    stato_civile | celibe*20; nubile*20; coniugato*40; coniugata*15; vedova*5
    burgerlijke_staat | gehuwd*50; ongehuwd*30; gescheiden*15; weduwe*5
    civil_status_cd | S*40; M*50; D*8; W*2
    is_married | true*55; false*45
    married | 0*45; 1*55
    spouse_status | married*50; never married*30; divorced*20
    applicantMaritalStatus | Married*50; Unmarried*40; Separated*10
    Married | Yes*65; No*35
    stan_cywilny | żonaty*30; panna*20; rozwiedziony*10; wdowa*5; kawaler*20; mężatka*20
    relationship_status | single*40; married*40; in a relationship*10; widowed*3; divorced*7
    x12 | Never-married*33; Married-civ-spouse*46; Divorced*14; Widowed*3
    """,
)

AGE = read_cases(
    "age",
    """
    age | 17..90
    Age | 19..75
    AGEP | 16..94
    RIDAGEYR | 20..80
    age_years | 21..70
    applicant_age | 25-34*20; 35-44*25; 45-54*20; 55-64*15; 65-74*10; >74*5; <25*5; 8888*2
    age_cat | 25 - 45*57; Greater than 45*21; Less than 25*22
    customerAge | 18..85
    Alter | 18..80
    edad | 18..90
    age_at_application | 18..79
    AgeGroup | 18-24*10; 25-34*20; 35-49*30; 50-64*25; 65+*15
    driver_age | 18..85
    patient_age | 18.5~90
    leeftijd_klant | 18..88
    idade | 18..77
    borrower_age_yrs | 20..75
    CLIENT_AGE | 20..68
    âge | 18..80
    Age_in_years | 19..75
    age_range | [20-30)*5; [30-40)*8; [40-50)*12; [50-60)*20; [60-70)*30
    current_age | 18..80
    custage | 18..70
    wiek | 18..80
    """,
)

POSTAL_CODE = read_cases(
    "postal_code",
    """
    zip | 10001*300; 10002*200; 60601*100
    zip_code | 94016*200; 94103*150; 94110*150
    ZipCode | 02139*200; 02140*150; 02141*150
    postcode | SW1A 1AA*200; M1 1AE*200
    PostalCode | K1A 0B6*200; M5V 3L9*300
    plz | 10115*200; 80331*200; 20095*150
    code_postal | 75001*200; 69001*200
    codigo_postal | 28001*200; 08001*200
    cap_residenza | 00118*200; 20121*200
    zip3 | 941*200; 100*300; 606*200
    applicant_zip | 30301*200; 30302*200
    postcode_customer | 1011 AB*200; 3511 CD*200
    CUST_ZIP_CD | 77001*200; 75201*300
    mailing_zipcode | 33101-1234*200; 33109-0001*200
    addr_zip5 | 19104*200; 19103*200
    """,
)

NOTHING = read_cases(
    None,
    """
    message_age | 0..86400
    page | 1..60
    usage | 10..90
    stage | 1; 2; 3; 4
    average | 18..90
    account_age_days | 1..3000
    race_id | 1000..1900
    race_id | 1; 2; 3; 4; 5; 6; 7
    sex_offender_distance | 0.1~55
    embrace | yes; no
    marital_status_comment | She says she was married until last spring and is now separated.; He has been single since the move.
    zip_file_name | a.zip; b.zip; c.zip
    HouseAge | 1..52
    vehicle_age | 0..25
    age_of_oldest_trade_line | 18..110
    age_of_account | 16..100
    company_age_years | 16..90
    package | basic; gold; silver
    language | en; de; fr
    percentage | 16..100
    mileage | 10000..90000
    coverage | 20..80
    passage_time | 16..90
    racepctblack | 0.01~0.99
    pct_female | 0.1~0.9
    median_age | 25..60
    avg_age_household | 20..80
    relationship | Husband*40; Not-in-family*25; Own-child*15; Unmarried*10; Wife*5; Other-relative*5
    native-country | United-States*90; Mexico*6; Germany*4
    ForeignWorker | yes; no
    workclass | Private; Self-emp; State-gov
    education | Bachelors; HS-grad; Masters
    capital-gain | 0..99999
    hours-per-week | 16..99
    DOB | 1980-01-01; 1990-05-05; 1975-12-31
    date_of_birth | 12/03/1980; 01/01/1975
    birth_year | 1940..2003
    DAYS_BIRTH | -25000..-7500
    body_style | sedan; wagon; hatchback
    car_colour | White*40; Black*40; Silver*20
    paint | white*50; black*50
    trace_id | 1..900
    brace_type | knee; ankle
    sextant | 1; 2; 3
    essex_branch | 0; 1
    unisex_product | yes; no
    genre | rock; pop; jazz
    gender_pay_gap | 0.01~0.3
    race_distance_km | 5; 10; 21; 42
    race_time | 16..100
    horse_race_result | 1; 2; 3
    grade_race_condition | good; fair
    single_page_app | true; false
    single_or_multi | single*50; multi*50
    marriage_date | 2001-02-03; 2010-07-08
    married_filing_income | 10000..90000
    num_marriages | 0; 1; 2; 3
    zip_size_bytes | 10000..99999
    compressed_zip | true; false
    zipper_type | metal; plastic
    postal_delay_days | 1..30
    shipping_cost | 10000..99999
    loan_amount | 10000..99999
    product_code | 10001*50; 10002*50; 10003*50
    customer_id | 10000..99999
    invoice_number | 30301*5; 30302*5
    employees_band | 1-9*10; 10-49*20; 50-249*20; 250+*5
    score_range | 25-34*5; 35-44*5; 45-54*9
    month | 1..12
    weekday | M; T; W; F
    tenure | 0..72
    credit_score | 300..850
    bmi | 16.1~50
    eta | 16..90
    alter_table_flag | 0; 1
    status | single; batch
    person_id | 1..900
    SeniorCitizen | 0*84; 1*16
    Pstatus | A*10; T*90
    famsize | GT3; LE3
    Dependents | 0; 1; 2; 3
    notes | called back; wants a larger loan; male nurse asked about terms and rates for a new branch
    title_page | 1..50
    outrage_index | 16..100
    storage_gb | 16; 32; 64; 128
    wage | 16..110
    dosage_mg | 20..100
    voltage | 16..110
    mortgage | yes; no
    image_width | 16..110
    sex_education_hours | 0..40
    gender_equality_score | 0..100
    last_name | White*5; Black*4; Brown*3; Green*3
    phone_area_zip_match | 0; 1
    cache_age_seconds | 16..110
    age_verified | true; false
    age_verification_status | passed; failed
    state_code | 1..56
    """,
)

CASES = (*SEX, *RACE, *MARITAL_STATUS, *AGE, *POSTAL_CODE, *NOTHING)

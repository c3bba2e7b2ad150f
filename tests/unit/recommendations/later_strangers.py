"""More data sets of others, written down after the detector was last mended, and not mended for.

Hospital stays of diabetics, the British Open University (OULAD), pupils in Portugal, the Dutch census of 2001, law students (LSAC),
Brazilian death records (SIM), stops in New York, folktables, LendingClub and a loan prediction contest.
"""

from tests.unit.recommendations.found_in_the_wild import read_cases

LATER = (
    *read_cases(
        "sex",
        """
        gender | Female*54; Male*46; Unknown/Invalid*1
        gender | M*55; F*45
        sex | F*53; M*47
        sex | 1*50; 2*50
        male | 0.0*44; 1.0*56
        SEXO | 1*57; 2*43; 0*1
        SUSPECT_SEX | MALE*90; FEMALE*9; (null)*1
        Gender | Male*489; Female*112
        """,
    ),
    *read_cases(
        "race",
        """
        race | Caucasian*75; AfricanAmerican*19; ?*2; Other*1; Asian*1; Hispanic*2
        racetxt | White*84; Black*6; Hispanic*4; Asian*4; Other*1; American Indian*1
        RACACOR | 1*50; 2*8; 3*1; 4*36; 5*1
        SUSPECT_RACE_DESCRIPTION | BLACK*58; WHITE HISPANIC*21; WHITE*9; BLACK HISPANIC*8; ASIAN / PACIFIC ISLANDER*2; (null)*2
        race | B*50; Q*20; W*10; P*7; A*3; Z*2; X*1; I*1
        RAC1P | 1*60; 2*10; 3*1; 4*1; 5*1; 6*16; 7*1; 8*12; 9*5
        """,
    ),
    *read_cases(
        "marital_status",
        """
        marital_status | 1*30; 2*60; 3*5; 4*5
        ESTCIV | 1*20; 2*40; 3*20; 4*7; 5*5; 9*5
        MAR | 1*52; 2*2; 3*9; 4*2; 5*35
        Married | Yes*398; No*213
        """,
    ),
    *read_cases(
        "age",
        """
        age | [70-80)*26; [60-70)*22; [50-60)*17; [80-90)*17; [40-50)*10; [30-40)*4; [90-100)*3; [20-30)*2; [10-20)*1; [0-10)*1
        age_band | 0-35*70; 35-55*29; 55<=*1
        age | 15..22
        age | 4..15
        SUSPECT_REPORTED_AGE | 10..80
        AGEP | 17..95
        """,
    ),
    *read_cases("postal_code", "zip_code | 945xx*200; 750xx*190; 112xx*180"),
    *read_cases(
        None,
        """
        encounter_id | 12522..443867222
        patient_nbr | 135..189502619
        admission_type_id | 1..8
        time_in_hospital | 1..14
        payer_code | MC*30; HM*6; SP*5; BC*5
        medical_specialty | Cardiology; InternalMedicine; Surgery-General
        num_lab_procedures | 1..132
        diag_1 | 250.83; 276; 648; 8; 197
        max_glu_serum | None; >300; Norm; >200
        A1Cresult | >7; >8; None; Norm
        change | No; Ch
        diabetesMed | Yes; No
        code_module | AAA; BBB; CCC
        code_presentation | 2013J; 2014J; 2013B
        region | East Anglian Region; Scotland; Wales
        highest_education | A Level or Equivalent; HE Qualification
        imd_band | 0-10%; 10-20; 20-30%; 90-100%
        num_of_prev_attempts | 0..6
        studied_credits | 30..655
        disability | N*90; Y*10
        school | GP*88; MS*12
        address | U*78; R*22
        famsize | GT3*71; LE3*29
        Pstatus | T*90; A*10
        Mjob | at_home; health; teacher
        guardian | mother*69; father*23; other*8
        traveltime | 1; 2; 3; 4
        romantic | no*66; yes*34
        goout | 1..5
        G3 | 0..20
        household_position | 1110; 1121; 1122; 1131
        household_size | 111..126
        prev_residence_place | 1; 2; 9
        citizenship | 1; 2; 3
        country_birth | 1; 2; 3
        edu_level | 0; 1; 2; 3; 4; 5
        economic_status | 111; 112; 120
        cur_eco_activity | 111..200
        decile1b | 1..10
        lsat | 11.0~48.0
        ugpa | 1.5~4.0
        zfygpa | -3..3
        fulltime | 1; 2
        fam_inc | 1..5
        tier | 1..6
        pass_bar | 0; 1
        NATURAL | 800..835
        CODMUNRES | 110001..530010
        CAUSABAS | I219; J189; C349
        LOCOCOR | 1..5
        STOP_FRISK_DATE | 2022-01-01; 2022-05-05
        STOP_WAS_INITIATED | Based on Self Initiated; Based on Radio Run
        OFFICER_IN_UNIFORM_FLAG | Y; N
        SUSPECT_HEIGHT | 4.5~7.0
        SUSPECT_WEIGHT | 80..350
        SUSPECT_EYE_COLOR | BRO; BLK; BLU; HAZ
        SUSPECT_HAIR_COLOR | BLK; BRO; BLD; GRY; BALD
        SCHL | 1..24
        RELP | 0..17
        CIT | 1..5
        NATIVITY | 1; 2
        ANC | 1; 2; 3; 4
        ESR | 1..6
        WKHP | 1..99
        PINCP | 104..800000
        addr_state | CA; TX; NY
        emp_length | 10+ years; < 1 year; 2 years
        grade | A; B; C
        home_ownership | RENT; MORTGAGE; OWN
        mths_since_last_delinq | 0..110
        revol_util | 0.1~99.9
        Dependents | 0; 1; 2; 3+
        Property_Area | Urban; Semiurban; Rural
        Loan_Amount_Term | 12..480
        """,
    ),
)

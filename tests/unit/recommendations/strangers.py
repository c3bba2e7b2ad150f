"""Whole data sets that others published, column by column, written down after the detector was made: what it never saw.

COMPAS scores (ProPublica), a loan application register (HMDA, old and new form), auto insurance claims, loan applications of the Boston
Fed, a human resources data set, TPC-DS customers and an HR table of a tutorial.
"""

from tests.unit.recommendations.found_in_the_wild import read_cases

STRANGERS = (
    *read_cases(
        "sex",
        """
        sex | Male*31; Female*9
        applicant_sex_1 | 1*60; 2*30; 3*8; 4*2
        co_applicant_sex | 1*10; 2*30; 3*5; 4*2; 5*53
        co-applicant_sex_name | Female*30; Male*10; No co-applicant*53; Not applicable*7
        insured_sex | MALE*463; FEMALE*537
        GenderID | 0*176; 1*135
        Sex | M *135; F*176
        CD_GENDER | M*50; F*50
        male | 0*300; 1*1650
        gender | Male*600; Female*400
        Title | Mr*800; Mrs*60; Ms*30; Miss*110
        """,
    ),
    *read_cases(
        "race",
        """
        race | Caucasian*14; African-American*17; Other*6; Hispanic*4
        applicant_ethnicity | 1*10; 2*70; 3*15; 4*5
        co_applicant_ethnicity | 1*5; 2*30; 3*5; 4*2; 5*58
        applicant_race_2 | 2*3; 3*2; 5*1
        co_applicant_race_1 | 5*30; 3*5; 2*3; 6*6; 8*56
        derived_ethnicity | Not Hispanic or Latino*70; Hispanic or Latino*10; Joint*3; Ethnicity Not Available*17
        applicant_race_name_1 | White*60; Asian*6; Information not provided by applicant in mail, Internet, or telephone application*12
        RaceDesc | White*187; Black or African American*80; Asian*29; Two or more races*11; American Indian or Alaska Native*3; Hispanic*1
        HispanicLatino | No*282; Yes*28
        black | 0*1792; 1*197
        hispan | 0*1881; 1*108
        white | 0*305; 1*1681
        """,
    ),
    *read_cases(
        "marital_status",
        """
        MarriedID | 0*187; 1*124
        MaritalStatusID | 0*137; 1*124; 2*30; 3*12; 4*8
        MaritalDesc | Single*137; Married*124; Divorced*30; Separated*12; Widowed*8
        CD_MARITAL_STATUS | M*20; S*20; D*20; W*20; U*20
        marital_status | Married*45; Single*32; Divorced*22
        married | 0*677; 1*1309
        MaritalStatus | Not specified*700; Single*250; Married*50
        """,
    ),
    *read_cases(
        "age",
        """
        age | 18..96
        age_cat | Greater than 45*10; 25 - 45*30; Less than 25*11
        applicant_age | 25-34*20; 35-44*25; 45-54*20; 55-64*15; 65-74*10; >74*5; <25*5; 8888*2; 9999*3
        co_applicant_age | 35-44*25; 45-54*20; 9999*50; 8888*5
        applicant_age_above_62 | Yes*20; No*80
        age_band | 25 - 34*40; 35 - 44*30; 45 - 54*15; Over 55*5; Under 25*10
        AGE | 16..81
        """,
    ),
    *read_cases(
        "postal_code",
        """
        insured_zip | 430104..620962
        PostalCode | 1459..2196
        Zip | 1013..98052
        """,
    ),
    *read_cases(
        None,
        """
        id | 1..11757
        name | miguel hernandez; kevon dixon; ed philo; marsha miles
        first | miguel; kevon; marsha; elizabeth
        last | hernandez; brown; good; white
        compas_screening_date | 2013-08-14; 2014-12-31; 2013-01-27
        dob | 1947-04-18; 1985-02-06; 1982-01-22
        juv_fel_count | 0*90; 1*5; 2*3
        decile_score | 1..10
        juv_misd_count | 0*90; 1*8
        juv_other_count | 0*90; 1*9
        priors_count | 0..38
        days_b_screening_arrest | -132..428
        c_jail_in | 2013-08-13 06:03:42; 2013-01-26 03:45:27
        c_case_number | 13011352CF10A; 13001275CF10A
        c_days_from_compas | 0..4296
        c_charge_degree | F*65; M*35
        r_charge_degree | O*60; M*20; F*15; (F3)*5
        c_charge_desc | Battery*30; Aggravated Assault w/Firearm*5; Possession of Cocaine*9
        is_recid | 0*60; 1*35; -1*5
        is_violent_recid | 0*90; 1*10
        v_type_of_assessment | Risk of Violence
        score_text | Low*60; Medium*25; High*15
        activity_year | 2018..2024
        lei | 549300FX7K8PTEQUU487; B4TYDEB6GKMZO031MB27
        derived_msa_md | 10180..49740
        state_code | CA*20; TX*10; FL*10
        county_code | 1001..56045
        census_tract | 1001020100..1002020100
        derived_loan_product_type | Conventional:First Lien*80; FHA:First Lien*15
        derived_dwelling_category | Single Family (1-4 Units):Site-Built*95; Multifamily:Site-Built*5
        action_taken | 1..8
        loan_purpose | 1; 2; 31; 32; 4; 5
        applicant_sex_observed | 1*5; 2*80; 3*15
        applicant_race_observed | 1*5; 2*80; 3*15
        applicant_ethnicity_observed | 1*5; 2*80; 3*15
        tract_minority_population_percent | 0.1~99.9
        tract_median_age_of_housing_units | 0..75
        minority_population | 0.1~99.9
        applicant_income | 10..400
        denial_reason_1 | 1..9
        hoepa_status | 1; 2
        lien_status | 1; 2; 3; 4
        total_units | 1; 2; 3; 4
        lender_credits | 10.5~5000
        months_as_customer | 0..479
        policy_number | 100804..999435
        policy_state | OH; IL; IN
        policy_csl | 100/300; 250/500; 500/1000
        policy_deductable | 500; 1000; 2000
        umbrella_limit | 0; 4000000; 5000000
        insured_education_level | JD; High School; MD; PhD
        insured_occupation | machine-op-inspct; prof-specialty; tech-support
        insured_hobbies | reading; chess; sleeping
        insured_relationship | own-child*183; other-relative*177; not-in-family*174; husband*170; wife*155; unmarried*141
        capital-gains | 0..100500
        incident_type | Multi-vehicle Collision; Vehicle Theft
        incident_hour_of_the_day | 0..23
        number_of_vehicles_involved | 1; 2; 3; 4
        property_damage | YES; NO; ?
        witnesses | 0; 1; 2; 3
        auto_year | 1995..2015
        KIDSDRIV | 0; 1; 2; 3
        BIRTH | 16MAR39; 17MAR39
        HOMEKIDS | 0; 1; 2
        PARENT1 | No; Yes
        CAR_AGE | 0..28
        RED_CAR | yes; no
        CAR_TYPE | Minivan; SUV; Van
        TIF | 1..25
        EmpID | 10001..10311
        EmpStatusID | 1; 2; 3; 4; 5
        DeptID | 1; 2; 3; 4; 5; 6
        PerfScoreID | 1; 2; 3; 4
        FromDiversityJobFairID | 0; 1
        DOB | 07/10/83; 05/05/75
        CitizenDesc | US Citizen*295; Eligible NonCitizen*12; Non-Citizen*4
        ManagerName | Michael Albert; Kelley Spirea; Janet King
        ManagerID | 1..39
        RecruitmentSource | LinkedIn; Indeed; Google Search
        EngagementSurvey | 1.1~5.0
        Absences | 1..20
        DaysLateLast30 | 0; 1; 2; 3
        CD_CREDIT_RATING | Good; High Risk; Low Risk; Unknown
        CD_DEP_COUNT | 0; 1; 2; 3; 4; 5; 6
        occ | 1; 2; 3
        msa | 1120
        suffolk | 0; 1
        dep | 0..8
        self | 0; 1
        cosign | 0; 1
        sch | 0; 1
        multi | 0; 1
        thick | 0; 1
        language | English; Afrikaans; Zulu
        Citizenship | ZA; ZW
        CrossBorder | No; Yes
        RegistrationYear | 1987..2015
        Cubiccapacity | 0..13000
        """,
    ),
)

"""One address of a database, as both of its readers take it: SQLAlchemy and Postgres' own library."""

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from app.database.engine import write_libpq_url


@pytest.mark.parametrize("folder", ["/data", "/a folder/über allem", "/one+one", "/100%", "/a&b=c"])
def test_a_folder_in_the_address_is_the_same_for_both(folder: str) -> None:
    url = make_url("postgresql://a+user:p+ss%20word@/db").update_query_dict({"host": folder, "port": "5432"})

    read = conninfo_to_dict(write_libpq_url(url.render_as_string(hide_password=False)))

    assert read == {"user": "a+user", "password": "p+ss word", "dbname": "db", "host": folder, "port": "5432"}

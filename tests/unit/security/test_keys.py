import pytest

from app.access.keys.queries import hash_key, make_key, read_key_id
from app.access.principals import Permission, Principal, Role
from app.base.errors import Forbidden


def test_a_key_shows_its_public_part_and_no_two_are_alike() -> None:
    keys = [make_key() for _ in range(100)]

    assert len(set(keys)) == len({read_key_id(key) for key in keys}) == 100
    assert all(len(key) == 56 and key.startswith(f"evk_{read_key_id(key)}_") for key in keys)
    assert len(hash_key(keys[0])) == 32


@pytest.mark.parametrize("text", ["", "evk_", "evk_aaaaaaaa_", "evk_AAAAAAAA_" + "x" * 43, "evk_aaaaaaaa_" + "x" * 44, "\ud800", "é" * 56])
def test_text_of_another_form_is_no_key(text: str) -> None:
    assert read_key_id(text) is None


@pytest.mark.parametrize(
    ("role", "permissions"),
    [
        (Role.INGEST, {Permission.LOG}),
        (Role.AGGREGATES, {Permission.READ}),
        (Role.READ, {Permission.READ, Permission.RECORDS, Permission.ACKNOWLEDGE}),
        (Role.MANAGE, {Permission.LOG, Permission.READ, Permission.RECORDS, Permission.ACKNOWLEDGE, Permission.MANAGE}),
        (Role.ADMIN, set(Permission)),
    ],
)
def test_a_role_has_its_permissions_and_no_other(role: Role, permissions: set[Permission]) -> None:
    for permission in Permission:
        if permission in permissions:
            Principal("k", role).require(permission)
        else:
            with pytest.raises(Forbidden):
                Principal("k", role).require(permission)


def test_a_bound_key_may_act_on_its_deployment_only() -> None:
    bound = Principal("k", Role.MANAGE, deployment_no=7)

    assert (bound.sees(7), bound.sees(8)) == (True, False)
    with pytest.raises(Forbidden):
        bound.require(Permission.MANAGE)

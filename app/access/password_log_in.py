"""Log-in with a user name and password."""

import asyncio

from ..base.errors import Unauthenticated
from .gate.caller import Services
from .users import browser_sessions as sessions


async def log_in_with_password(
    services: Services, name: str, password: str, *, address: str, client: str
) -> str:
    """A new session's token. `client` is the part of the address that attempts are counted by.

    Raises:
        Unauthenticated: the name or the password is wrong, or the user is disabled.
        TooManyTries: too many attempts failed lately.
    """
    async with services.log_ins.turn(client):
        services.throttle.admit(name, client)
        try:
            token = await asyncio.to_thread(
                sessions.log_in_with_password, services.database, name, password, address=address
            )
        except Unauthenticated:
            services.throttle.failed(name, client)
            await asyncio.to_thread(
                services.failed_log_ins.note, name, method=sessions.PASSWORD, address=address
            )
            raise
        services.throttle.succeeded(name, client)
        return token

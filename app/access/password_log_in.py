"""Log-in with a user name and password."""

import asyncio

from ..base.errors import Unauthenticated
from .gate.caller import Services
from .users import browser_sessions as sessions


async def log_in_with_password(
    services: Services, name: str, password: str, *, address: str, client: str
) -> str:
    """A new session's token. `client`: attempts are counted by it. Raises Unauthenticated and
    TooManyTries.
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

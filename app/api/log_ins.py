"""The route by which a program logs in with a person's name and password."""

from fastapi import APIRouter, Request

from ..errors import TooManyTries
from ..security.sessions import LASTS
from ..services.logging_in import log_in_with_password
from ..web.access import NowIn, ServicesIn
from ..web.addresses import client_of
from .answers import answers
from .schemas.log_ins import LogInIn, LogInOut

router = APIRouter(prefix="/v1/log-ins", tags=["API keys"])


@router.post("", status_code=201, responses=answers(TooManyTries))
async def log_in(body: LogInIn, request: Request, services: ServicesIn, now: NowIn) -> LogInOut:
    """Returns a token for a user's name and password, to be sent like an API key. It ends with the session, and with a new password.

    For people at a script. Programs that run by themselves have API keys. Failures count by name and address, as on the log-in page.
    """
    address: str = request.state.client_address
    token = await log_in_with_password(services, body.name, body.password, address=address, client=client_of(address))
    return LogInOut(token=token, expires_at=now + LASTS)

"""Use of API keys next to their limits."""

from sqlalchemy.orm import Session

from ...base.frozen import frozen_by_name
from .limits import KeyLimits, KeyUse
from .queries import ApiKeys, all_limits, find_key_use


@frozen_by_name
class UsedKey:
    key_id: str
    name: str
    limits: KeyLimits
    use: KeyUse

    @property
    def storage_share(self) -> float | None:
        """Used share of storage, 0 to 1; None without that limit."""
        if self.limits.max_bytes is None:
            return None
        return min(1.0, self.use.bytes / self.limits.max_bytes) if self.limits.max_bytes else 1.0


def read_key_use(session: Session) -> list[UsedKey]:
    """Keys that have a limit or logged something, in the order of ids."""
    limits, use = all_limits(session), find_key_use(session)
    names = ApiKeys(session).names({*limits, *use})
    return [
        UsedKey(
            key_id=key_id,
            name=names[key_id],
            limits=limits.get(key_id, KeyLimits()),
            use=use.get(key_id, KeyUse()),
        )
        for key_id in sorted(names)
    ]

"""The one table of payload formats."""

from collections.abc import Mapping
from types import MappingProxyType

from app.domain.deployments import PayloadFormat
from app.scoring.formats.codec import Codec
from app.scoring.formats.fields_values import FieldsValuesCodec
from app.scoring.formats.mlflow import MlflowCodec

_CODECS: Mapping[PayloadFormat, Codec] = MappingProxyType(
    {PayloadFormat.FIELDS_VALUES: FieldsValuesCodec(), PayloadFormat.MLFLOW: MlflowCodec()},
)


def codec_for(payload_format: PayloadFormat) -> Codec:
    """The codec of a payload format; every format has one."""
    return _CODECS[payload_format]

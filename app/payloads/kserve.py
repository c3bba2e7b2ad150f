"""KServe v1 and TensorFlow Serving: `instances` in, `predictions` out."""

from .codec import read_records
from .listed_answers import ListedCodec, build_objects
from .wire import Names, Rows, Table, decode_object

_INSTANCES = "instances"


class KserveCodec(ListedCodec):
    """Writes an array a record, in the order of the features; reads also objects."""

    label = "KServe v1, an array a record"
    shown_request = '{"instances": [[…]]}'

    def build_request(self, columns: Names, rows: Rows) -> object:  # noqa: ARG002 - in the order of the features
        return {_INSTANCES: rows}

    def read_request(self, body: bytes, columns: Names) -> Table:
        return read_records(decode_object(body).get(_INSTANCES), _INSTANCES, columns)


class InstancesCodec(KserveCodec):
    label = "instances, an object a record (MLflow, Vertex AI, KServe v1)"
    shown_request = '{"instances": [{…}]}'

    def build_request(self, columns: Names, rows: Rows) -> object:
        return {_INSTANCES: build_objects(columns, rows)}

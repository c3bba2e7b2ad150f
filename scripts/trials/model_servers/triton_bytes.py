"""Encodes requests and decodes answers by Triton's own client library; JSON in, JSON out.

python triton_bytes.py < {"columns": {name: [datatype, cells]}, "answer": base64, "header": length}
"""

import base64
import json
import sys

import numpy as np
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import triton_to_np_dtype

asked = json.load(sys.stdin)
inputs = []
for name, (datatype, cells) in asked["columns"].items():
    one = InferInput(name, [len(cells), 1], datatype)
    values = [cell.encode() for cell in cells] if datatype == "BYTES" else cells
    one.set_data_from_numpy(np.array(values, dtype=triton_to_np_dtype(datatype))[:, None], binary_data=True)
    inputs.append(one)
outputs = [InferRequestedOutput(name, binary_data=True) for name in ("prediction", "probability")]
body, length = InferenceServerClient.generate_request_body(inputs, outputs=outputs)
answer = InferenceServerClient.parse_response_body(base64.b64decode(asked["answer"]), header_length=asked["header"])
read = {name: answer.as_numpy(name) for name in ("prediction", "probability")}
cells = {name: [cell.decode() if isinstance(cell, bytes) else cell.item() for cell in found.ravel()] for name, found in read.items()}
json.dump({"body": base64.b64encode(body).decode(), "header": length, "read": cells}, sys.stdout)

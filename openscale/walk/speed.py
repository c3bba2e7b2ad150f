"""Records a second by the OpenScale SDK next to REST v1."""

import inspect
import time
from typing import Any

import requests
import requests.adapters
from ibm_watson_openscale.supporting_classes.payload_record import PayloadRecord
from recording import FEATURES, Plan, answers, rows


def measure_speed(plan: Plan, subscription: str) -> None:
    """Stores 10,000 records in one call and in 1,000, over the SDK and over REST v1, and prints records a second."""
    client = plan.client("bearer")
    payload = f"payload_logging.{subscription}"
    table = rows() * 250
    # The older SDK knows no other way than one call, and not the option either.
    has_option = "split_to_multi_req" in inspect.signature(client.data_sets.store_records).parameters
    in_one_call = {"split_to_multi_req": False} if has_option else {}

    def by_sdk(part: list[list[Any]], call: str) -> None:
        record = PayloadRecord(
            scoring_id=call,
            request={"fields": FEATURES, "values": part},
            response={"fields": ["prediction", "probability"], "values": answers(part)},
        )
        client.data_sets.store_records(data_set_id=payload, request_body=[record], background_mode=True, **in_one_call)

    def by_rest(part: list[list[Any]], call: str) -> None:
        response = {"fields": ["prediction", "probability"], "values": answers(part)}
        body: Any = [{"scoring_id": call, "request": {"fields": FEATURES, "values": part}, "response": response}]
        address = f"{plan.url}/v1/deployments/{subscription}/payload-records"
        requests.post(address, json=body, headers={"Authorization": f"Bearer {plan.key}"}, timeout=600).raise_for_status()

    for name, store in (("SDK", by_sdk), ("REST v1", by_rest)):
        for calls in (1, 1_000):
            size = len(table) // calls
            began = time.perf_counter()
            for call in range(calls):
                store(table[call * size : (call + 1) * size], f"{name}-{calls}-{call}")
            print(f"speed {name}: {len(table)} records in {calls} calls, {len(table) / (time.perf_counter() - began):,.0f} records/s")
    by_sdk(table, "SDK-1-0")  # once more
    stored = client.data_sets.get_records_count(payload)
    print(f"speed: {stored} records stored of {4 * len(table)} sent, {len(table)} of them twice")

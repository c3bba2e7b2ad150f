"""A model under Ray Serve's ASGI ingress with the middleware. Ray pickles the application, and with it the client.

python ray_program.py PORT
"""

import os
import signal
import sys

import ray
from asgi_program import app
from ray import serve


@serve.deployment(num_replicas=2, ray_actor_options={"num_cpus": 0})
@serve.ingress(app)
class Credit:
    """Two replicas, each a process of its own."""


variables = {name: value for name, value in os.environ.items() if name.startswith(("EVENHAND_", "PYTHON"))}
ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": variables})
serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
serve.run(Credit.bind(), name="credit", route_prefix="/credit")
signal.sigwait({signal.SIGTERM, signal.SIGINT})
serve.shutdown()
ray.shutdown()

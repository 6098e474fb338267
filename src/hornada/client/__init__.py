"""What a program or the command line calls to talk to a batch server."""

from hornada.client.batch import Batch, Fault
from hornada.client.checkup import Checkup
from hornada.client.client import Client, NotEnded
from hornada.client.collected import Collected
from hornada.client.faults import BadInput, ClientError, Garbled, Refused, Unreached
from hornada.client.file import File
from hornada.client.input import Estimate
from hornada.client.input import check_file as check
from hornada.client.input import estimate_file as estimate
from hornada.client.splitting import Part, split
from hornada.core.result import Result

__all__ = [
    "BadInput",
    "Batch",
    "Checkup",
    "Client",
    "ClientError",
    "Collected",
    "Estimate",
    "Fault",
    "File",
    "Garbled",
    "NotEnded",
    "Part",
    "Refused",
    "Result",
    "Unreached",
    "check",
    "estimate",
    "split",
]

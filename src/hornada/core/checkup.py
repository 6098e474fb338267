"""The check of a file that is not to be run: every finding is counted, and what its lines would use is estimated."""

import sys

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hornada.core.estimate import WRITING, Estimate, prompt_tokens
from hornada.core.jsonl import BOM, MAX_FINDINGS, Checked, Checker, CheckRules

_MOST_TOKENS = 10**9
"""What a line asks for at most, as far as it is believed."""


class ThoroughChecker(Checker):
    """A checker that looks at every line to the end of the file; its findings are kept until then."""

    def __init__(self, rules: CheckRules) -> None:
        super().__init__(rules, most_findings=sys.maxsize)
        self._writes = rules.endpoint in WRITING
        self._input = self._output = self._unlimited = 0

    def finish(self) -> Checked:
        """What was found, as a checker tells it, with ``found`` and ``estimate``; without the chunks."""
        checked = super().finish()
        return replace(
            checked,
            findings=checked.findings[:MAX_FINDINGS],
            found=len(checked.findings),
            estimate=Estimate(input=self._input, output=self._output, unlimited=self._unlimited),
            spans=(),
        )

    def _takes_run(self, lines: list[bytes]) -> bool:
        if not super()._takes_run(lines):
            return False
        for line in lines:
            self._estimate(line)
        return True

    def _take(self, line: bytes, advance: int) -> None:
        before = self._total, len(self._findings)
        super()._take(line, advance)
        if self._total > before[0] and not self.stopped and len(self._findings) == before[1]:
            self._estimate(line.removeprefix(BOM))

    def _estimate(self, line: bytes) -> None:
        body = bytes(_raw(line).body)
        self._input += prompt_tokens(body)
        if self._writes:
            most = _most(body)
            self._output += most or 0
            self._unlimited += most is None


def checker(rules: CheckRules) -> Checker:
    """The checker that the rules ask for."""
    return ThoroughChecker(rules) if rules.thorough else Checker(rules)


class _Line(Struct, gc=False):
    body: msgspec.Raw


class _Limits(Struct, gc=False):
    max_completion_tokens: object = None
    max_tokens: object = None
    max_output_tokens: object = None
    n: object = None


_raw = msgspec.json.Decoder(_Line).decode
_limits = msgspec.json.Decoder(_Limits).decode


def _most(body: bytes) -> int | None:
    """The most output tokens that a request asks for, None when it names no limit."""
    try:
        found = _limits(body)
    except msgspec.DecodeError:  # a number of thousands of digits
        return _MOST_TOKENS
    for limit in (found.max_completion_tokens, found.max_output_tokens, found.max_tokens):
        if isinstance(limit, int) and not isinstance(limit, bool):
            answers = found.n if isinstance(found.n, int) and not isinstance(found.n, bool) else 1
            return min(max(limit, 0), _MOST_TOKENS) * min(max(answers, 1), 1000)
    return None

"""How the slots of one model are shared by workers: arithmetic, with nothing to remember."""

from collections.abc import Sequence

from msgspec import Struct

from hornada.core.catalog import MOST_SLOTS


class Want(Struct, frozen=True, kw_only=True):
    """What a worker could use. ``demand``: its lines in flight and waiting; ``more``: the ledger has more of them."""

    worker: str
    demand: int
    more: bool = False

    @property
    def slots(self) -> int:
        """How many slots it could use; nobody knows how much the ledger has, so that counts as all there are."""
        return MOST_SLOTS if self.more else self.demand


class Held(Struct, frozen=True):
    """Slots that another worker holds. ``live`` False: it is away, its calls may be not."""

    slots: int
    live: bool = True


def fair(room: int, wants: Sequence[Want]) -> dict[str, int]:
    """Parts of ``room`` slots: the same for all, but no more than wanted; what that leaves is for the others.

    Where there are fewer slots than workers, those that hold lines come before those that would only like to.
    """
    order = sorted((want for want in wants if want.slots > 0), key=lambda want: (want.demand == 0, want.worker))
    served = sorted(order[: max(0, room)], key=lambda want: (want.slots, want.worker))
    parts = {want.worker: 0 for want in wants}
    left = max(0, room)
    for at, want in enumerate(served):
        parts[want.worker] = min(want.slots, left // (len(served) - at))
        left -= parts[want.worker]
    return parts


class Grant(Struct, frozen=True):
    """``slots`` that a worker holds, and how many of them its lines may ``use``: fewer while it gives some back."""

    slots: int
    use: int


def grant(room: int, mine: Want, in_flight: int, others: Sequence[Want], held: Sequence[Held]) -> Grant:
    """Slots for one worker, so that all grants together stay within ``room``; never fewer than it has ``in_flight``.

    ``others``: what those want whose leases run; ``held``: what everybody else holds.
    """
    away = sum(each.slots for each in held if not each.live)
    part = fair(room - away, (mine, *others))[mine.worker]
    use = max(0, min(part, room - sum(each.slots for each in held)))
    return Grant(max(in_flight, use), use)

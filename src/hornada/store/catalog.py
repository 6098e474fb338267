"""Rows of ``model``, ``alias`` and ``paused``: what operators changed; it stands before the configuration."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hornada.core.catalog import Model
from hornada.store.database import Tx

_MODEL = msgspec.json.Decoder(Model)


class Shelf(Struct, frozen=True):
    """All rows. ``models``: by name, None for a retired one. ``aliases``: to a catalog name, "" for a removed one.

    ``paused``: models of which no line starts.
    """

    models: Mapping[str, Model | None]
    aliases: Mapping[str, str]
    paused: frozenset[str] = frozenset()


async def shelf(tx: Tx) -> Shelf:
    """What operators have set."""
    models = await tx.rows("SELECT name, spec, retired_at FROM model")
    aliases = await tx.rows("SELECT name, model FROM alias")
    paused = await tx.rows("SELECT model FROM paused")
    return Shelf(
        {row["name"]: None if row["retired_at"] is not None else _MODEL.decode(row["spec"]) for row in models},
        {row["name"]: row["model"] for row in aliases},
        frozenset(row["model"] for row in paused),
    )


async def put_model(tx: Tx, model: Model, now: int) -> None:
    """Sets a model, also one that was retired."""
    await tx.run(
        "INSERT INTO model (name, spec, created_at) VALUES (:name, :spec, :now)"
        " ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, retired_at = NULL",
        name=model.name,
        spec=msgspec.json.encode(model).decode(),
        now=now,
    )


async def retire(tx: Tx, model: Model, now: int) -> None:
    """Takes a model out of the catalog, wherever it came from."""
    await put_model(tx, model, now)
    await tx.run("UPDATE model SET retired_at = :now WHERE name = :name", name=model.name, now=now)
    await resume(tx, model.name)


async def put_alias(tx: Tx, name: str, model: str, now: int) -> None:
    """Points an alias at a model; an empty ``model`` removes it."""
    await tx.run(
        "INSERT INTO alias (name, model, moved_at) VALUES (:name, :model, :now)"
        " ON CONFLICT (name) DO UPDATE SET model = excluded.model, moved_at = excluded.moved_at",
        name=name,
        model=model,
        now=now,
    )


async def pause(tx: Tx, model: str, now: int) -> None:
    """Has no line of a model started until ``resume``."""
    await tx.run(
        "INSERT INTO paused (model, paused_at) VALUES (:model, :now) ON CONFLICT (model) DO NOTHING",
        model=model,
        now=now,
    )


async def resume(tx: Tx, model: str) -> None:
    """Lets lines of a model start again."""
    await tx.run("DELETE FROM paused WHERE model = :model", model=model)

"""``hornada admin``: what the operator does, and an organization's admin within it."""

import typer

from hornada.cli.admin import batch, key, member, model, money, org, plan, webhook

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Administer organizations, keys, plans and models.")
for noun in (org, member, key, plan, money, batch, webhook):
    app.add_typer(noun.app)
model.mount(app)
money.mount(app)

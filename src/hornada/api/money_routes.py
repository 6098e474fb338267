"""The routes about money, for the one table."""

from hornada.api.billing import DEFAULT_DAYS, PARTS, BillingCalls
from hornada.api.router import Answer, Body, Parameter, Route
from hornada.api.schemas import BalanceObject, CreditForm, DifferenceList, UsageList
from hornada.core.errors import Code

_DAY = {"type": "string", "format": "date"}
_USAGE = (
    Parameter(name="from", schema=_DAY, about=f"The first day (UTC); {DEFAULT_DAYS} days up to `to` if none is given."),
    Parameter(name="to", schema=_DAY, about="The last day (UTC), included; today if none is given."),
    Parameter(
        name="group_by",
        schema={"type": "string", "default": ",".join(PARTS)},
        about=f"What to keep apart, separated by commas: some of {', '.join(f'`{part}`' for part in PARTS)}.",
    ),
)


def routes(calls: BillingCalls) -> tuple[Route, ...]:
    """``/billing`` and the operator's half of it."""
    balance = Answer(schemas=(BalanceObject,))
    one = (Code.ORGANIZATION_NOT_FOUND, Code.PERMISSION_DENIED)
    return (
        Route(
            method="GET",
            path="/billing/balance",
            name="getBalance",
            summary="Show the balance and its last movement",
            handler=calls.balance,
            answer=balance,
            codes=(Code.PERMISSION_DENIED,),
        ),
        Route(
            method="GET",
            path="/billing/usage",
            name="getUsage",
            summary="Show what was used, by day, model and endpoint",
            handler=calls.usage,
            answer=Answer(schemas=(UsageList,)),
            codes=(Code.INVALID_VALUE, Code.PERMISSION_DENIED),
            query=_USAGE,
        ),
        Route(
            root=True,
            method="POST",
            path="/admin/organizations/{id}/credits",
            name="addCredit",
            summary="Give an organization credit (operator)",
            handler=calls.credit,
            answer=balance,
            codes=(
                *one,
                Code.ORGANIZATION_ERASED,
                Code.INVALID_VALUE,
                Code.INVALID_JSON,
                Code.INVALID_TYPE,
                Code.MISSING_REQUIRED_PARAMETER,
                Code.INTEGER_ABOVE_MAX_VALUE,
                Code.INTEGER_BELOW_MIN_VALUE,
                Code.STRING_ABOVE_MAX_LENGTH,
                Code.REQUEST_TOO_LARGE,
                Code.UNSUPPORTED_ENCODING,
            ),
            body=Body(schema=CreditForm),
        ),
        Route(
            root=True,
            method="GET",
            path="/admin/organizations/{id}/balance",
            name="getBalanceOf",
            summary="Show the balance of an organization (operator)",
            handler=calls.balance_of,
            answer=balance,
            codes=one,
        ),
        Route(
            root=True,
            method="GET",
            path="/admin/reconciliation",
            name="reconcile",
            summary="Show what in the ledger does not agree with results and balances (operator)",
            handler=calls.reconcile,
            answer=Answer(schemas=(DifferenceList,)),
            codes=(Code.PERMISSION_DENIED,),
        ),
    )

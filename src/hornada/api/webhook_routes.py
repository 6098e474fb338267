"""The routes of webhooks, for the one table: under every base path as OpenAI has them, and under ``/admin``."""

from functools import partial

from hornada.api import webhook_schemas as schemas
from hornada.api.admin_fields import DEFAULT, LIMIT
from hornada.api.router import Answer, Body, Parameter, Route
from hornada.api.webhook_calls import STATUSES, WebhookCalls
from hornada.core.errors import Code

_DENIED = (Code.PERMISSION_DENIED,)
_ONE = (*_DENIED, Code.WEBHOOK_ENDPOINT_NOT_FOUND)
_BODY = (
    Code.MISSING_REQUIRED_PARAMETER,
    Code.INVALID_TYPE,
    Code.INVALID_VALUE,
    Code.INTEGER_BELOW_MIN_VALUE,
    Code.INTEGER_ABOVE_MAX_VALUE,
    Code.STRING_ABOVE_MAX_LENGTH,
    Code.INVALID_JSON,
    Code.UNSUPPORTED_ENCODING,
    Code.REQUEST_TOO_LARGE,
)
_PAGE = (Code.INVALID_TYPE, Code.INTEGER_ABOVE_MAX_VALUE, Code.INTEGER_BELOW_MIN_VALUE)
_PAGED = (
    Parameter(
        name="limit",
        schema={"type": "integer", "minimum": 1, "maximum": LIMIT, "default": DEFAULT},
        about="The most items of the page.",
    ),
    Parameter(name="after", schema={"type": "string"}, about="The id of the last item of the page before."),
)
_STATUS = Parameter(name="status", schema={"enum": list(STATUSES)}, about="Only deliveries that stand like this.")
_ENDPOINT = Answer(schemas=(schemas.WebhookEndpointObject,))
_REVEALED = Answer(schemas=(schemas.WebhookEndpointWithSecret,))


def routes(calls: WebhookCalls) -> tuple[Route, ...]:
    """All of them."""
    return (*_own(calls), *_of_organization(calls), *_of_endpoint(calls, admin=False), *_of_endpoint(calls, admin=True))


def _own(calls: WebhookCalls) -> tuple[Route, ...]:
    return (
        Route(
            method="POST",
            path="/webhook_endpoints",
            name="createWebhookEndpoint",
            summary="Have events sent to a URL; answers the secret that signs them (admins)",
            handler=calls.create,
            answer=_REVEALED,
            codes=(*_DENIED, *_BODY, Code.TOO_MANY_WEBHOOK_ENDPOINTS),
            members_only=True,
            body=Body(schema=schemas.CreateWebhookEndpoint),
        ),
        Route(
            method="GET",
            path="/webhook_endpoints",
            name="listWebhookEndpoints",
            summary="List webhook endpoints, newest first (admins)",
            handler=calls.page,
            answer=Answer(schemas=(schemas.WebhookEndpointList,)),
            codes=(*_ONE, *_PAGE),
            members_only=True,
            query=_PAGED,
        ),
        Route(
            method="GET",
            path="/webhook_event_types",
            name="listWebhookEventTypes",
            summary="List the events that can be heard of",
            handler=calls.event_types,
            answer=Answer(schemas=(schemas.WebhookEventTypeList,)),
        ),
    )


def _of_organization(calls: WebhookCalls) -> tuple[Route, ...]:
    path = "/admin/organizations/{id}/webhook_endpoints"
    return (
        Route(
            root=True,
            method="POST",
            path=path,
            name="adminCreateWebhookEndpoint",
            summary="Have events of an organization sent to a URL; answers the secret that signs them",
            handler=calls.create,
            answer=_REVEALED,
            codes=(
                *_DENIED,
                Code.ORGANIZATION_NOT_FOUND,
                Code.ORGANIZATION_ERASED,
                *_BODY,
                Code.TOO_MANY_WEBHOOK_ENDPOINTS,
            ),
            body=Body(schema=schemas.CreateWebhookEndpoint),
        ),
        Route(
            root=True,
            method="GET",
            path=path,
            name="adminListWebhookEndpoints",
            summary="List the webhook endpoints of an organization, newest first",
            handler=calls.page,
            answer=Answer(schemas=(schemas.WebhookEndpointList,)),
            codes=(*_ONE, Code.ORGANIZATION_NOT_FOUND, *_PAGE),
            query=_PAGED,
        ),
    )


def _of_endpoint(calls: WebhookCalls, *, admin: bool) -> tuple[Route, ...]:
    """What is done to one endpoint: the same for an organization's admins and for the operator."""
    path, who = ("/admin/webhook_endpoints/{id}", "admin") if admin else ("/webhook_endpoints/{id}", "")
    route = partial(Route, root=admin)

    def name(verb: str, noun: str) -> str:
        return who + verb.title() + noun if who else verb + noun

    return (
        route(
            method="GET",
            path=path,
            name=name("get", "WebhookEndpoint"),
            summary="Show a webhook endpoint",
            handler=calls.get,
            answer=_ENDPOINT,
            codes=_ONE,
        ),
        route(
            method="PATCH" if admin else "POST",
            path=path,
            name=name("change", "WebhookEndpoint"),
            summary="Change a webhook endpoint, disable or enable it",
            handler=calls.change,
            answer=_ENDPOINT,
            codes=(*_ONE, *_BODY),
            body=Body(schema=schemas.ChangeWebhookEndpoint),
        ),
        route(
            method="DELETE",
            path=path,
            name=name("delete", "WebhookEndpoint"),
            summary="Delete a webhook endpoint with its deliveries",
            handler=calls.delete,
            answer=Answer(schemas=(schemas.WebhookEndpointDeleted,)),
            codes=_ONE,
        ),
        route(
            method="POST",
            path=path + "/rotate_secret",
            name=name("rotate", "WebhookSecret"),
            summary="Give a webhook endpoint a new secret, the old one signing for a day more if asked",
            handler=calls.rotate,
            answer=_REVEALED,
            codes=(*_ONE, *_BODY),
            body=Body(schema=schemas.RotateWebhookSecret),
        ),
        route(
            method="POST",
            path=path + "/test",
            name=name("test", "WebhookEndpoint"),
            summary="Send a sample to a webhook endpoint and show what it answers",
            handler=calls.trial,
            answer=Answer(schemas=(schemas.WebhookEndpointTest,)),
            codes=(*_ONE, *_BODY, Code.WEBHOOK_UNREACHABLE, Code.RATE_LIMIT_EXCEEDED),
            body=Body(schema=schemas.TestWebhookEndpoint),
        ),
        route(
            method="GET",
            path=path + "/deliveries",
            name=name("list", "WebhookDeliveries"),
            summary="List what was and is to be sent to a webhook endpoint, newest first",
            handler=calls.deliveries,
            answer=Answer(schemas=(schemas.WebhookDeliveryList,)),
            codes=(*_ONE, Code.WEBHOOK_DELIVERY_NOT_FOUND, *_PAGE, Code.INVALID_VALUE),
            query=(*_PAGED, _STATUS),
        ),
        route(
            method="POST",
            path=path + "/deliveries/{delivery_id}/redeliver",
            name=name("redeliver", "WebhookEvent"),
            summary="Send an event to a webhook endpoint again",
            handler=calls.redeliver,
            answer=Answer(schemas=(schemas.WebhookDeliveryObject,)),
            codes=(*_ONE, Code.WEBHOOK_DELIVERY_NOT_FOUND, Code.WEBHOOK_ENDPOINT_DISABLED),
        ),
    )

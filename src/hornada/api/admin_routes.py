"""The routes under ``/admin``; they stand at the root, outside of every dialect, and ask for a key."""

from functools import partial

from hornada.api import admin_schemas as schemas
from hornada.api.admin import KeyCalls, MemberCalls, OrganizationCalls, OversightCalls, PlanCalls
from hornada.api.admin_fields import DEFAULT, LIMIT
from hornada.api.router import Answer, Body, Parameter, Route
from hornada.api.services import Services
from hornada.core.errors import Code

_DENIED = (Code.PERMISSION_DENIED,)
_ORG = (*_DENIED, Code.ORGANIZATION_NOT_FOUND)
_BODY = (
    Code.MISSING_REQUIRED_PARAMETER,
    Code.INVALID_TYPE,
    Code.INVALID_VALUE,
    Code.STRING_ABOVE_MAX_LENGTH,
    Code.INVALID_JSON,
    Code.UNSUPPORTED_ENCODING,
    Code.REQUEST_TOO_LARGE,
)
_BAD_NAME = (Code.INVALID_VALUE, Code.STRING_ABOVE_MAX_LENGTH)
_RANGE = (Code.INTEGER_ABOVE_MAX_VALUE, Code.INTEGER_BELOW_MIN_VALUE)
_PAGE = (Code.INVALID_TYPE, *_RANGE)

_AFTER = Parameter(name="after", schema={"type": "string"}, about="The id of the last item of the page before.")
_LIMIT = Parameter(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": LIMIT, "default": DEFAULT},
    about="The most items of the page.",
)
_PAGED = (_LIMIT, _AFTER)
_NAME = Parameter(name="name", schema={"type": "string"}, about="Only the organization of this name.")
_ORGANIZATION = Parameter(name="organization", schema={"type": "string"}, about="Only what is of this organization.")
_STATUS = Parameter(name="status", schema={"type": "string"}, about="Only batches in this status, or one of several.")

_route = partial(Route, root=True)


def routes(services: Services) -> tuple[Route, ...]:
    """All of them."""
    return (
        *_organizations(OrganizationCalls(services)),
        *_members(MemberCalls(services)),
        *_keys(KeyCalls(services)),
        *_plans(PlanCalls(services)),
        *_oversight(OversightCalls(services)),
    )


def _organizations(calls: OrganizationCalls) -> tuple[Route, ...]:
    one = Answer(schemas=(schemas.OrganizationObject,))
    return (
        _route(
            method="POST",
            path="/admin/organizations",
            name="createOrganization",
            summary="Create an organization",
            handler=calls.create,
            answer=one,
            codes=(*_DENIED, *_BODY, Code.NAME_TAKEN, Code.PLAN_NOT_FOUND),
            body=Body(schema=schemas.CreateOrganization),
        ),
        _route(
            method="GET",
            path="/admin/organizations",
            name="listOrganizations",
            summary="List organizations, newest first; an admin sees its own",
            handler=calls.page,
            answer=Answer(schemas=(schemas.OrganizationList,)),
            codes=(*_ORG, *_PAGE, *_BAD_NAME),
            query=(*_PAGED, _NAME),
        ),
        _route(
            method="GET",
            path="/admin/organizations/{id}",
            name="getOrganization",
            summary="Show an organization",
            handler=calls.get,
            answer=one,
            codes=_ORG,
        ),
        _route(
            method="PATCH",
            path="/admin/organizations/{id}",
            name="changeOrganization",
            summary="Rename, suspend or resume an organization, or put it on a plan",
            handler=calls.change,
            answer=one,
            codes=(*_ORG, *_BODY, Code.NAME_TAKEN, Code.PLAN_NOT_FOUND, Code.ORGANIZATION_ERASED),
            body=Body(schema=schemas.ChangeOrganization),
        ),
        _route(
            method="DELETE",
            path="/admin/organizations/{id}",
            name="eraseOrganization",
            summary="Erase an organization: its files, results, segments and names; the ledger and the audit stay",
            handler=calls.erase,
            answer=Answer(schemas=(schemas.ErasureObject,)),
            codes=_ORG,
        ),
    )


def _members(calls: MemberCalls) -> tuple[Route, ...]:
    one = Answer(schemas=(schemas.MemberObject,))
    return (
        _route(
            method="POST",
            path="/admin/organizations/{id}/members",
            name="addMember",
            summary="Add a member to an organization",
            handler=calls.add,
            answer=one,
            codes=(*_ORG, *_BODY, Code.ORGANIZATION_ERASED),
            body=Body(schema=schemas.AddMember),
        ),
        _route(
            method="GET",
            path="/admin/organizations/{id}/members",
            name="listMembers",
            summary="List the members of an organization, newest first",
            handler=calls.page,
            answer=Answer(schemas=(schemas.MemberList,)),
            codes=(*_ORG, *_PAGE, Code.MEMBER_NOT_FOUND),
            query=_PAGED,
        ),
        _route(
            method="PATCH",
            path="/admin/members/{id}",
            name="changeMember",
            summary="Change a member's role",
            handler=calls.change,
            answer=one,
            codes=(*_DENIED, *_BODY, Code.MEMBER_NOT_FOUND),
            body=Body(schema=schemas.ChangeMember),
        ),
        _route(
            method="DELETE",
            path="/admin/members/{id}",
            name="removeMember",
            summary="Remove a member; its keys end with it, what it made stays its organization's",
            handler=calls.remove,
            answer=Answer(schemas=(schemas.Deleted,)),
            codes=(*_DENIED, Code.MEMBER_NOT_FOUND),
        ),
    )


def _keys(calls: KeyCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="POST",
            path="/admin/organizations/{id}/keys",
            name="createKey",
            summary="Create a key; this answer alone holds it",
            handler=calls.create,
            answer=Answer(schemas=(schemas.KeyObject,)),
            codes=(*_ORG, *_BODY, *_RANGE, Code.MEMBER_NOT_FOUND, Code.ORGANIZATION_ERASED),
            body=Body(schema=schemas.CreateKey),
        ),
        _route(
            method="GET",
            path="/admin/organizations/{id}/keys",
            name="listKeys",
            summary="List the keys of an organization, newest first",
            handler=calls.page,
            answer=Answer(schemas=(schemas.KeyList,)),
            codes=(*_ORG, *_PAGE, Code.KEY_NOT_FOUND),
            query=_PAGED,
        ),
        _route(
            method="DELETE",
            path="/admin/keys/{id}",
            name="revokeKey",
            summary="Revoke a key, at once and for good",
            handler=calls.revoke,
            answer=Answer(schemas=(schemas.Deleted,)),
            codes=(*_DENIED, Code.KEY_NOT_FOUND),
        ),
    )


def _plans(calls: PlanCalls) -> tuple[Route, ...]:
    one = Answer(schemas=(schemas.PlanObject,))
    return (
        _route(
            method="PUT",
            path="/admin/plans/{name}",
            name="putPlan",
            summary="Add a plan or change one; a plan of the configuration can only be changed there",
            handler=calls.put,
            answer=one,
            codes=(*_DENIED, *_BODY, *_RANGE, Code.PLAN_IN_USE),
            body=Body(schema=schemas.PutPlan),
        ),
        _route(
            method="GET",
            path="/admin/plans",
            name="listPlans",
            summary="List all plans",
            handler=calls.list,
            answer=Answer(schemas=(schemas.PlanList,)),
            codes=_DENIED,
        ),
        _route(
            method="GET",
            path="/admin/plans/{name}",
            name="getPlan",
            summary="Show a plan",
            handler=calls.get,
            answer=one,
            codes=(*_DENIED, Code.PLAN_NOT_FOUND, *_BAD_NAME),
        ),
        _route(
            method="DELETE",
            path="/admin/plans/{name}",
            name="removePlan",
            summary="Remove a plan that no organization is on",
            handler=calls.remove,
            answer=Answer(schemas=(schemas.Deleted,)),
            codes=(*_DENIED, Code.PLAN_NOT_FOUND, Code.PLAN_IN_USE, *_BAD_NAME),
        ),
    )


def _oversight(calls: OversightCalls) -> tuple[Route, ...]:
    return (
        _route(
            method="GET",
            path="/admin/batches",
            name="listAllBatches",
            summary="List the batches of every organization, newest first",
            handler=calls.batches,
            answer=Answer(schemas=(schemas.AdminBatchList,)),
            codes=(*_ORG, *_PAGE, Code.INVALID_VALUE, Code.BATCH_NOT_FOUND),
            query=(*_PAGED, _ORGANIZATION, _STATUS),
        ),
        _route(
            method="POST",
            path="/admin/batches/{id}/cancel",
            name="cancelAnyBatch",
            summary="Cancel a batch of any organization",
            handler=calls.cancel,
            answer=Answer(schemas=(schemas.AdminBatchObject,)),
            codes=(*_DENIED, Code.BATCH_NOT_FOUND, Code.BATCH_NOT_CANCELLABLE),
        ),
        _route(
            method="GET",
            path="/admin/audit",
            name="listAudit",
            summary="List who did what, newest first",
            handler=calls.audit,
            answer=Answer(schemas=(schemas.AuditList,)),
            codes=(*_ORG, *_PAGE, Code.INVALID_VALUE),
            query=(*_PAGED, _ORGANIZATION),
        ),
    )

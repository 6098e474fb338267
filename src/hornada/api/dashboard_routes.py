"""The routes of the dashboard, and those of the API that were made for pages like it."""

from hornada.api.capacity import CapacityCalls, CapacityList
from hornada.api.dashboard import DashboardCalls
from hornada.api.me import MeCalls, MeObject
from hornada.api.router import Answer, Route
from hornada.api.services import Services
from hornada.core.errors import Code


def routes(services: Services) -> tuple[Route, ...]:
    """All of them."""
    calls = DashboardCalls(services)
    page = Answer(media="text/html")
    return (
        Route(
            method="GET",
            path="/me",
            name="getMe",
            summary="Whose key it is, its plan and how much of it is used, and what this installation offers",
            handler=MeCalls(services).me,
            answer=Answer(schemas=(MeObject,)),
        ),
        Route(
            method="GET",
            path="/models/capacity",
            name="listCapacity",
            summary="How the slots of each model are used at this moment: by regular calls, by lines, or free",
            handler=CapacityCalls(services).list,
            answer=Answer(schemas=(CapacityList,)),
        ),
        Route(
            method="GET",
            path="/ui",
            name="getDashboard",
            summary="The dashboard",
            handler=calls.page,
            answer=page,
            codes=(Code.NOT_FOUND,),
            public=True,
        ),
        Route(
            method="GET",
            path="/ui/{path:path}",
            name="getDashboardFile",
            summary="A file of the dashboard",
            handler=calls.file,
            answer=page,
            codes=(Code.FILE_NOT_FOUND, Code.NOT_FOUND),
            public=True,
        ),
    )

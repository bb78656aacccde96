"""The server behind the page: its few files, the problem, refinements, and the export."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from manifuse.errors import InputError
from manifuse.page.exploration import Exploration, describe, run
from manifuse.page.guard import Guard
from manifuse.page.requests import read_request, read_row
from manifuse.page.shown import explain_row, show
from manifuse.page.worker import Job, Worker
from manifuse.run.method import JointDiffusion
from manifuse.run.refinement import Refinement

#: Seconds that open requests have when the server ends.
FAREWELL = 1

#: Every file that is served, by its address; there are no others.
STATIC = {
    "/" if path.name == "index.html" else f"/{path.name}": path
    for path in Path(__file__).with_name("static").iterdir()
    if path.is_file()
}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True)
class Export:
    """A file that the page offers.

    Attributes
    ----------
    name : str
    content : bytes
    command : str
        Command that repeats what the page shows, once the file is saved.
    """

    name: str
    content: bytes
    command: str


class Page:
    """One exploration, served.

    Parameters
    ----------
    exploration : Exploration
    export : callable
        Turns the method that the page shows into a file.
    """

    def __init__(self, exploration: Exploration, export: Callable[[JointDiffusion], Export]) -> None:
        self._exploration = exploration
        self._export = export
        self._problem = describe(exploration)
        self._worker = Worker(partial(run, exploration), exploration.method)

    def application(self, *, names: Iterable[str] = (), any_address: bool = False) -> Starlette:
        """Return the ASGI application, guarded; see `Guard`.

        Who serves it calls `close` at the end.
        """
        # Every function is asynchronous, so that one thread calls the worker.
        routes = [
            *(Route(address, _answer_file) for address in STATIC),
            Route("/api/problem", self._answer_problem),
            Route("/api/jobs", self._refine, methods=["POST"]),
            Route("/api/jobs/latest", self._answer_latest),
            Route("/api/jobs/{name}", self._answer_job),
            Route("/api/jobs/{name}", self._cancel_job, methods=["DELETE"]),
            Route("/api/jobs/{name}/result", self._answer_result),
            Route("/api/jobs/{name}/rows/{row}", self._answer_row),
            Route("/api/jobs/{name}/export", self._answer_export),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Guard, names=tuple(names), any_address=any_address)],
            exception_handlers={InputError: _answer_error, HTTPException: _answer_error},
        )

    def close(self) -> None:
        """End the computation that runs."""
        self._worker.close()

    async def _answer_problem(self, request: Request) -> Response:
        return _json(self._problem)

    async def _refine(self, request: Request) -> Response:
        """Refine without some references, or with another answer to whether they predict the same thing."""
        names = [reference.name for reference in self._exploration.references]
        asked = await read_request(request, names)
        return _json(self._worker.submit(self._exploration.asked(**asked)).report(), 202)

    async def _answer_latest(self, request: Request) -> Response:
        """Report the last job, so that a page that is loaded finds it."""
        return _json(self._worker.latest().report())

    async def _answer_job(self, request: Request) -> Response:
        return _json(self._find(request).report())

    async def _cancel_job(self, request: Request) -> Response:
        job = self._find(request)
        self._worker.cancel(job)
        return _json(job.report())

    async def _answer_result(self, request: Request) -> Response:
        result = self._refinement(self._find(request))
        return _json(await run_in_threadpool(show, self._exploration, result))

    async def _answer_row(self, request: Request) -> Response:
        """Explain what became of a row."""
        result, row = self._refinement(self._find(request)), read_row(request.path_params["row"])
        if not 0 <= row < len(self._exploration.main):
            raise HTTPException(404, "There is no such row.")
        return _json({"sentences": await run_in_threadpool(explain_row, self._exploration, result, row)})

    async def _answer_export(self, request: Request) -> Response:
        """Answer with a file that repeats a job on the command line."""
        file = await run_in_threadpool(self._export, self._find(request).argument)
        headers = {
            "content-disposition": f'attachment; filename="{file.name}"',
            "x-manifuse-command": file.command,
        }
        return Response(file.content, headers=headers, media_type="application/octet-stream")

    def _refinement(self, job: Job) -> Refinement:
        """Return the outcome of a job."""
        if job.result is None:
            why = "later jobs have replaced it" if job.state == "done" else f"it is {job.state}"
            raise HTTPException(409, f"Job {job.name} has no result ({why}).")
        result: Refinement = job.result
        return result

    def _find(self, request: Request) -> Job:
        """Return the job that an address names."""
        job = self._worker.find(request.path_params["name"])
        if job is None:
            raise HTTPException(404, "There is no such job.")
        return job


async def _answer_file(request: Request) -> Response:
    path = STATIC[request.scope["path"]]
    return Response(path.read_bytes(), media_type=TYPES[path.suffix])


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # In ASCII, because text that came in may hold half characters, which UTF-8 does not have.
    return Response(json.dumps(content), status, headers, media_type="application/json")


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _json({"error": error.detail}, error.status_code, error.headers)
    return _json({"error": str(error)}, 400)


def server_of(application: Any) -> uvicorn.Server:
    """Return a server of a page; ``run`` of it serves until an interrupt."""
    config = uvicorn.Config(
        application, ws="none", log_level="warning", server_header=False, timeout_graceful_shutdown=FAREWELL
    )
    return uvicorn.Server(config)

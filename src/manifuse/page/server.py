"""The server behind the page: its few files, the problem, jobs, and the export."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.errors import InputError
from manifuse.evidence.neighbourhood import neighbourhood
from manifuse.page.exploration import (
    Exploration,
    describe,
    open_bridges,
    run_in_full,
    set_as_refined,
    set_as_shown,
    set_bridges,
)
from manifuse.page.guard import Guard
from manifuse.page.requests import bridge_fields, diffusion_fields, read_request, result_fields
from manifuse.page.worker import Job, Worker

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
        self._bridge_fields = bridge_fields(len(choices(exploration.method.bridge)))
        names = [reference.name for reference in exploration.references]
        self._diffusion_fields, self._result_fields = diffusion_fields(names), result_fields(names)
        self._worker = Worker(exploration)
        self._worker.submit(open_bridges, exploration.method)

    def application(self, *, names: Iterable[str] = (), any_address: bool = False) -> Starlette:
        """Return the ASGI application, guarded; see `Guard`.

        Who serves it calls `close` at the end.
        """
        # Every function is asynchronous, so that one thread calls the worker.
        routes = [
            *(Route(address, _answer_file) for address in STATIC),
            Route("/api/problem", self._answer_problem),
            Route("/api/jobs/latest", self._answer_latest),
            Route("/api/jobs/{name}", self._answer_job),
            Route("/api/jobs/{name}", self._cancel_job, methods=["DELETE"]),
            Route("/api/jobs/{name}/result", self._answer_result),
            Route("/api/rows/{row:int}", self._answer_row),
            Route("/api/bridges", self._build_bridges, methods=["POST"]),
            Route("/api/check", self._check, methods=["POST"]),
            Route("/api/refinement", self._refine, methods=["POST"]),
            Route("/api/export", self._answer_export, methods=["POST"]),
            Route("/api/result", self._refine_as_asked, methods=["POST"]),
            Route("/api/result/export", self._answer_result_export, methods=["POST"]),
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
        del request
        return _bytes(self._problem)

    async def _answer_latest(self, request: Request) -> Response:
        """Report the last bridges, so that a page that is loaded again finds them."""
        del request
        return _json(self._worker.latest(open_bridges).report())

    async def _answer_job(self, request: Request) -> Response:
        return _json(self._find(request.path_params["name"]).report())

    async def _cancel_job(self, request: Request) -> Response:
        job = self._find(request.path_params["name"])
        self._worker.cancel(job)
        return _json(job.report())

    async def _answer_result(self, request: Request) -> Response:
        job = self._find(request.path_params["name"])
        if job.result is None:
            raise HTTPException(409, f"Job {job.name} has no result (it is {job.state}).")
        return _bytes(job.result)

    async def _answer_row(self, request: Request) -> Response:
        """Say what is near a row: other rows, and pairs with their places in each reference."""
        main, references, row = self._exploration.main, self._exploration.references, request.path_params["row"]
        if row >= len(main):
            raise HTTPException(404, "There is no such row.")
        standardised = self._exploration.method.standardised is not False
        near = await run_in_threadpool(neighbourhood, main, references, row, standardised=standardised)
        pairs = [
            {"rows": rows.tolist(), "theirs": theirs.tolist(), "own": None if math.isnan(own) else own}
            for rows, theirs, own in zip(near.pairs, near.theirs, near.own.tolist(), strict=True)
        ]
        return _json({"near": near.near.tolist(), "pairs": pairs})

    async def _build_bridges(self, request: Request) -> Response:
        asked = await read_request(request, self._bridge_fields)
        return self._submit(open_bridges, set_bridges(self._exploration, **asked))

    async def _check(self, request: Request) -> Response:
        """Let the library compute what the page shows."""
        return self._submit(run_in_full, await self._shown(request))

    async def _refine(self, request: Request) -> Response:
        """Run Algorithm 1 in the cell that is shown, over the same references: the bridges follow the prediction."""
        method = self._exploration.method
        shown = replace(await self._shown(request), rounds=method.rounds, steps=method.steps)
        return self._submit(run_in_full, shown)

    async def _refine_as_asked(self, request: Request) -> Response:
        """Run `refine` as its user would, over the bridges that the request names."""
        return self._submit(run_in_full, await self._refined(request))

    async def _answer_export(self, request: Request) -> Response:
        return await self._exported(await self._shown(request))

    async def _answer_result_export(self, request: Request) -> Response:
        return await self._exported(await self._refined(request))

    async def _exported(self, method: JointDiffusion) -> Response:
        file = await run_in_threadpool(self._export, method)
        disposition = f'attachment; filename="{file.name}"'
        return _bytes(file.content, {"content-disposition": disposition, "x-manifuse-command": file.command})

    async def _shown(self, request: Request) -> JointDiffusion:
        """Return the method that computes what the page shows, over the bridges that the request names."""
        asked = await read_request(request, self._diffusion_fields)
        method = self._method_of(asked.pop("bridges"))
        return set_as_shown(method, **{**asked, "ignored": tuple(asked["ignored"])})

    async def _refined(self, request: Request) -> JointDiffusion:
        """Return the method of `refine` itself, over the bridges that the request names."""
        asked = await read_request(request, self._result_fields)
        method, ignored = self._method_of(asked["bridges"]), asked["ignored"]
        return set_as_refined(method, ignored=None if ignored is None else tuple(ignored))

    def _method_of(self, name: str) -> JointDiffusion:
        """Return the method that a job has built bridges for."""
        job = self._find(name)
        if job.work is not open_bridges or job.state != "done":
            raise InputError(f"Job {job.name} has built no bridges; wait until bridges are built.")
        method: JointDiffusion = job.argument
        return method

    def _submit(self, work: Any, argument: JointDiffusion) -> Response:
        return _json(self._worker.submit(work, argument).report(), 202)

    def _find(self, name: str) -> Job:
        job = self._worker.find(name)
        if job is None:
            raise HTTPException(404, "There is no such job.")
        return job


async def _answer_file(request: Request) -> Response:
    path = STATIC[request.scope["path"]]
    return Response(path.read_bytes(), media_type=TYPES[path.suffix])


def _bytes(content: bytes, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, headers=headers, media_type="application/octet-stream")


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # In ASCII, because text that came in may hold half characters, which UTF-8 does not have.
    return Response(json.dumps(content), status, headers, media_type="application/json")


async def _answer_error(request: Request, error: Exception) -> Response:
    del request
    if isinstance(error, HTTPException):
        return _json({"error": error.detail}, error.status_code, error.headers)
    return _json({"error": str(error)}, 400)

"""The server behind the page: its few files, the problem, jobs, and the export."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from manifuse.diffusion.method import JointDiffusion
from manifuse.errors import InputError
from manifuse.page.exploration import Exploration, describe, open_bridges, run_in_full, set_as_shown
from manifuse.page.guard import Guard
from manifuse.page.requests import DiffusionWish, bridges_wished, read_wish
from manifuse.page.worker import Job, Worker

#: Every file that is served, by its address; there are no others.
STATIC = {
    "/": "index.html",
    **{
        f"/{name}": name
        for name in (
            *("page.css", "page.js", "blocks.js", "diffusion.js", "elements.js", "pictures.js"),
            *("scores.js", "server.js", "surface.js"),
        )
    },
}
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript"}


@dataclass(frozen=True)
class Export:
    """A file that the page offers.

    Attributes
    ----------
    name : str
    content : bytes
    command : str
        What repeats on the command line what the page shows, once the file is there.
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
        self._names = frozenset(reference.name for reference in exploration.references)
        self._worker = Worker(exploration)
        self._worker.submit(open_bridges, exploration.method)

    def application(self, *, names: Iterable[str] = (), any_address: bool = False) -> Starlette:
        """Return the ASGI application, guarded; see `Guard`."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> Any:
            del app
            yield
            await run_in_threadpool(self.close)

        routes = [
            *(Route(address, _serve_file(name)) for address, name in STATIC.items()),
            Route("/api/problem", self._answer_problem),
            Route("/api/jobs/latest", self._answer_latest),
            Route("/api/jobs/{name}", self._answer_job, methods=["GET"]),
            Route("/api/jobs/{name}", self._cancel_job, methods=["DELETE"]),
            Route("/api/jobs/{name}/result", self._answer_result),
            Route("/api/bridges", self._build_bridges, methods=["POST"]),
            Route("/api/refinement", self._refine, methods=["POST"]),
            Route("/api/export", self._answer_export, methods=["POST"]),
        ]
        return Starlette(
            routes=routes,
            lifespan=lifespan,
            middleware=[Middleware(Guard, names=tuple(names), any_address=any_address)],
            exception_handlers={InputError: _say_input_error, HTTPException: _say_http_error},
        )

    def close(self) -> None:
        """End whatever is computed."""
        self._worker.close()

    def _answer_problem(self, request: Request) -> Response:
        del request
        return Response(self._problem, media_type="application/octet-stream")

    def _answer_latest(self, request: Request) -> Response:
        """Report the last bridges, so that a page that is loaded anew finds them."""
        del request
        return _json(self._worker.latest(open_bridges).report())

    def _answer_job(self, request: Request) -> Response:
        return _json(self._find(request.path_params["name"]).report())

    def _cancel_job(self, request: Request) -> Response:
        job = self._find(request.path_params["name"])
        self._worker.cancel(job)
        return _json(job.report())

    def _answer_result(self, request: Request) -> Response:
        job = self._find(request.path_params["name"])
        if job.result is None:
            raise HTTPException(409, f"Job {job.name} has no result ({job.state}).")
        return Response(job.result, media_type="application/octet-stream")

    async def _build_bridges(self, request: Request) -> Response:
        method = bridges_wished(read_wish(await request.body()), self._exploration.method)
        return _json((await run_in_threadpool(self._worker.submit, open_bridges, method)).report(), status=202)

    async def _refine(self, request: Request) -> Response:
        body = dict(read_wish(await request.body()))
        whole = body.pop("whole", False)
        shown = self._shown(DiffusionWish.of(body, self._names))
        if not isinstance(whole, bool):
            raise InputError("whole is neither true nor false.")
        if whole:
            # Algorithm 1 in the same cell over the same references: bridges follow the prediction, round by round.
            shown = replace(shown, rounds=self._exploration.method.rounds, steps=self._exploration.method.steps)
        return _json((await run_in_threadpool(self._worker.submit, run_in_full, shown)).report(), status=202)

    async def _answer_export(self, request: Request) -> Response:
        shown = self._shown(DiffusionWish.of(read_wish(await request.body()), self._names))
        file = await run_in_threadpool(self._export, shown)
        media = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        headers = {
            "content-disposition": f'attachment; filename="{file.name}"',
            "x-manifuse-command": file.command,
        }
        return Response(file.content, media_type=media, headers=headers)

    def _shown(self, wish: DiffusionWish) -> JointDiffusion:
        """Return the method that a wish stands for, over the bridges that it names."""
        job = self._find(wish.bridges)
        if job.work is not open_bridges or job.state != "done":
            raise InputError(f"Job {job.name} built no bridges; wait until they are there.")
        return set_as_shown(
            job.argument,
            step_size=wish.step_size,
            weight_scale=wish.weight_scale,
            steps=wish.steps,
            ignored=wish.ignored,
        )

    def _find(self, name: str) -> Job:
        job = self._worker.find(name)
        if job is None:
            raise HTTPException(404, "There is no such job.")
        return job


def _serve_file(name: str) -> Callable[[Request], Response]:
    path = files("manifuse.page") / "static" / name
    media = TYPES[name[name.rindex(".") :]]

    def answer(request: Request) -> Response:
        del request
        return Response(path.read_bytes(), media_type=media)

    return answer


def _json(content: Any, *, status: int = 200) -> Response:
    # In ASCII, so that no text that came in can fail to go out.
    return Response(json.dumps(content), status_code=status, media_type="application/json")


def _say_input_error(request: Request, error: Exception) -> Response:
    del request
    return _json({"error": str(error)}, status=400)


def _say_http_error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException), "nothing else is sent here"
    return Response(
        json.dumps({"error": str(error.detail)}),
        status_code=error.status_code,
        media_type="application/json",
        headers=error.headers,
    )

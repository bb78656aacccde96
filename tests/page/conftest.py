"""A page that is really served, and a client that sends it what a test asks for."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.page.test_exploration import explored
from tests.problems import draw

from manifuse.page.server import Export, Page, server_of


def exported(method):
    return Export("run.toml", repr(method.ignored).encode(), "manifuse refine --config run.toml")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    port: int

    @property
    def own(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, method, address, body=b"", **headers) -> Answer:
        """Send a request as the page does, with other headers where some are given; None leaves a header out."""
        sent = {"host": self.own, "origin": f"http://{headers.get('host', self.own)}", **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, address, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, address, **headers) -> Answer:
        return self.ask("GET", address, **headers)

    def post(self, address, tree, **headers) -> Answer:
        return self.ask("POST", address, json.dumps(tree).encode(), **headers)

    def wait(self, name) -> dict[str, Any]:
        """Wait for a job, and return how it ended."""
        deadline = time.monotonic() + 60
        while (report := self.get(f"/api/jobs/{name}").json())["state"] == "running":
            assert time.monotonic() < deadline, report
            time.sleep(0.02)
        return report


@contextmanager
def serving(page):
    """Serve a page on a free port of the loopback, and close it at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = server_of(page.application())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Client(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()
            page.close()


@pytest.fixture(scope="session")
def client():
    """A client of the page of a small labelled problem, which is refined."""
    with serving(Page(explored(draw(1)), exported)) as client:
        assert client.wait("latest")["state"] == "done"
        yield client

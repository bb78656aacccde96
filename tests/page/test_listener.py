"""The web server of the page: who does not send the headers of a request, or does not read, loses the connection."""

import socket
import time

import pytest

from manifuse.page import listener


def whole(client):
    return f"GET /api/jobs/latest HTTP/1.1\r\nHost: {client.own}\r\n\r\n".encode()


def received(connection):
    """What comes until the server closes the connection."""
    connection.settimeout(20)
    content = b""
    while part := connection.recv(1 << 16):
        content += part
    return content


@pytest.fixture
def patience(monkeypatch):
    monkeypatch.setattr(listener, "PATIENCE", 0.5)


@pytest.mark.parametrize("sent", [b"", b"GE", b"GET / HTTP/1.1\r\nHost: 127"])
def test_headers_that_stop_halfway_end_the_connection(client, patience, sent):
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(sent)
        assert received(connection) == b""
    assert time.monotonic() - start < 5


def drip(connection):
    for letter in b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + 100 * b"x":
        connection.sendall(bytes([letter]))
        time.sleep(0.05)


def test_drops_of_a_header_do_not_buy_time(client, patience):
    with socket.create_connection(("127.0.0.1", client.port)) as connection, pytest.raises(OSError):
        drip(connection)


def test_a_second_request_on_the_same_connection_is_waited_for_no_longer(client, patience):
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(whole(client))
        content = connection.recv(1 << 16)
        connection.sendall(whole(client)[:20])
        assert (content + received(connection)).count(b"HTTP/1.1 200") == 1


def test_headers_in_two_parts_are_answered(client):
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        request = whole(client)
        connection.sendall(request[:20])
        time.sleep(0.1)
        connection.sendall(request[20:])
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def is_open(connection):
    """Whether the server still has the connection."""
    try:
        return bool(connection.send(b"x"))
    except OSError:
        return False


def wait_until_closed(connection, seconds=5.0):
    deadline = time.monotonic() + seconds
    while is_open(connection):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("requests", [1, 400], ids=["of one request", "of many"])
def test_who_does_not_read_answers_loses_the_connection(client, patience, requests):
    """Many answers fill all buffers, so that the server has to wait; one waits in the client's."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", client.port))
        connection.settimeout(10)
        asked = f"GET /page.js HTTP/1.1\r\nHost: {client.own}\r\n\r\n".encode()
        try:
            for _ in range(requests):
                connection.sendall(asked)
        except OSError:
            return
        wait_until_closed(connection)


def test_drops_of_a_body_that_nobody_asked_for_do_not_buy_time(client, patience):
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        head = f"GET /api/jobs/latest HTTP/1.1\r\nHost: {client.own}\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode())
        wait_until_closed(connection)

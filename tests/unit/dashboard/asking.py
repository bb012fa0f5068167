"""Ask an application as a browser would, without a socket."""

import asyncio
from dataclasses import dataclass


@dataclass
class Said:
    status: int
    headers: dict[str, str]
    text: str


def ask(app, path, *, method="GET", host="127.0.0.1:8000", body=b"", **headers):
    """One request; names of headers are written with underscores."""
    path, _, query = path.partition("?")
    given = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()], "scheme": "http",
        "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    sent, asked = [], []

    async def receive():
        if asked:
            await asyncio.Event().wait()  # nobody hangs up
        asked.append(True)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    start, *parts = sent
    text = b"".join(part.get("body", b"") for part in parts).decode()
    return Said(start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, text)

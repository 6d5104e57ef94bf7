"""A server on loopback that answers each request as it is told, with every fault that a long job meets."""

import asyncio
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

BIG = 10 * 2**20
FAULTS = ["429", "429-after", "500", "503-after", "reset", "stall", "cut", "cut-chunks", "empty", "malformed", "html",
          "html-200", "big-junk", "list", "trickle"]  # fmt: skip


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}).encode()


class FaultServer:
    """`answer(item, attempt)` names what the attempt-th request (from 0) with that item is answered: `fine`, `big`, or one
    of FAULTS. The item is the last message's text. It counts what it is asked."""

    def __init__(self, answer: Callable[[str, int], str] = lambda item, attempt: "fine", models: int = 200):
        self.answer = answer
        self.models = models
        self.after = "1"
        """What Retry-After says."""
        self.attempts: Counter[str] = Counter()
        self.times: list[float] = []
        self.most_at_once = self.at_once = 0
        self.loop = asyncio.new_event_loop()
        self.port = 0
        self.start()

    def start(self) -> None:
        """Listen, at the same port as before where there was one."""
        threading.Thread(target=self.loop.run_forever, daemon=True).start() if not self.loop.is_running() else None
        self.server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", self.port, reuse_address=True), self.loop
        ).result()
        self.port = self.server.sockets[0].getsockname()[1]
        self.open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> int:
        return sum(self.attempts.values())

    def stop(self) -> None:
        """Close the port and all connections."""

        async def close() -> None:
            self.server.close()
            for writer in list(self.open):
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(close(), self.loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.I)
                body = await reader.readexactly(int(length[1])) if length else b""
                if head.startswith(b"GET"):
                    if self.models == 302:  # round and round
                        self._send(writer, 302, b"", extra="Location: /v1/models\r\n")
                    elif self.models == 299:  # compressed, it says
                        self._send(writer, 200, b"no gzip", extra="Content-Encoding: gzip\r\n")
                    elif self.models == 298:  # without an end
                        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n")
                    else:
                        self._send(writer, self.models, b'{"data":[{"id":"m"}]}')
                    continue
                item = json.loads(body)["messages"][-1]["content"]
                attempt = self.attempts[item]
                self.attempts[item] += 1
                self.times.append(time.monotonic())
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    if not await self._answer(writer, item, self.answer(item, attempt)):
                        return
                finally:
                    self.at_once -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open.discard(writer)
            with suppress(Exception):
                writer.close()

    def _send(self, writer, status: int, body: bytes, kind: str = "application/json", extra: str = "") -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        writer.write(head.encode() + body)

    async def _answer(self, writer: asyncio.StreamWriter, item: str, how: str) -> bool:
        """Whether the connection goes on."""
        if how.startswith("slow-"):
            await asyncio.sleep(float(how[5:]))
            how = "fine"
        fine = completion(f"re {item}")
        if how == "fine":
            self._send(writer, 200, fine)
        elif how == "big":
            self._send(writer, 200, completion(f"re {item}" + "x" * BIG))
        elif how == "big-junk":
            self._send(writer, 200, b"x" * BIG)
        elif how.isdigit() or how.endswith("-after"):
            after = f"Retry-After: {self.after}\r\n" if how.endswith("-after") else ""
            self._send(writer, int(how[:3]), b'{"error":{"message":"not now"}}', extra=after)
        elif how == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        elif how == "stall":
            await asyncio.sleep(30)
            return False
        elif how == "trickle":
            writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(300):
                writer.write(b" ")
                await asyncio.sleep(0.1)
                if writer.transport.is_closing():
                    return False
            return False
        elif how == "cut":
            writer.write(f"HTTP/1.1 200 X\r\nContent-Length: {len(fine)}\r\n\r\n".encode() + fine[:20])
            await writer.drain()
            return False
        elif how == "cut-chunks":
            writer.write(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + fine[:20] + b"\r\n")
            await writer.drain()
            return False
        elif how.startswith("{"):  # this message
            self._send(writer, 200, f'{{"choices":[{{"message":{how},"finish_reason":"stop"}}]}}'.encode())
        elif how == "empty":
            self._send(writer, 200, b"")
        elif how == "malformed":
            self._send(writer, 200, fine[:-10])
        elif how == "html":
            self._send(writer, 502, b"<html>Bad gateway</html>", "text/html")
        elif how == "html-200":
            self._send(writer, 200, b"<html>Please wait</html>", "text/html")
        elif how == "list":
            self._send(writer, 200, b"[1, 2]")
        else:
            raise AssertionError(how)
        await writer.drain()
        return True

"""Any server that speaks the OpenAI chat protocol (vLLM's own, Ollama, a provider), or a pool of equal ones."""

import asyncio
import email.utils
import json
import math
import os
import random
import re
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import orjson
from pydantic import Field

from generate.engines import Chat, Engine, Refused, Reply, Sampling, split_reasoning
from generate.engines.dispatch import UNLIMITED, Member, Pool
from generate.journal import BadInput
from generate.stage import Count, EngineGone, Number, Whole, settings

if TYPE_CHECKING:
    import httpx

    from generate.models import Model

SHORTEST_SECRET = 6
LOST = (401, 402)
"""Statuses that every further request would meet as well: they end the stage, or take one server out of the pool."""
FORBIDDEN = (403, 404)
"""Statuses that speak of all requests, or of this one alone (what a provider's moderation does not let pass)."""
MOST_REFUSALS = 20
"""More requests than this forbidden running, and than are under way, are taken for a word about all of them."""
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses of which the same request may get another answer a little later."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a call is tried again
CONNECT_SECONDS = 10.0
LIST_SECONDS = 30.0
LARGEST_REPLY = 64 * 2**20  # bytes


@settings
class OpenAI:
    """conf/engine/openai.yaml: where the server is, and how patient to be with it."""

    base_url: str | list[str] | None = None
    name: str | None = None
    """What the servers are called in the key of all work, so that they may move, or others join them. Null: their address."""
    api_key_env: str | None = None
    """The NAME of the environment variable that holds the key; null: the server wants none."""
    concurrency: Count | None = None
    """Requests under way at once with one server; null: as many as the stage has in flight."""
    timeout_seconds: Annotated[Number, Field(gt=0)] = 1200.0
    """For one request, from its first byte to the last one of its answer."""
    read_timeout_seconds: Annotated[Number, Field(gt=0)] = 600.0
    """How long a server may be silent within a request."""
    max_retries: Whole = 5
    longest_wait_seconds: Annotated[Number, Field(gt=0)] = 300.0
    """How long to wait at a server's word (Retry-After), or for servers that all are out of reach or only fail."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    extra_body: dict[str, Any] | None = None

    @property
    def urls(self) -> list[str]:
        given = self.base_url or []
        return list(dict.fromkeys(u.rstrip("/") for u in ([given] if isinstance(given, str) else given)))

    def identity(self, model: "Model") -> dict[str, Any]:
        """What of this engine a reply depends on, beside the model: part of every key."""
        where = self.name or (self.base_url if isinstance(self.base_url, str) else sorted(self.urls))
        return {"base_url": where, "extra_body": self.extra_body, "structured": self.structured}

    def check(self, model: "Model") -> None:
        if not self.urls:
            raise BadInput("engine.base_url: must be given, such as engine.base_url=http://127.0.0.1:8000/v1")
        for address in self.urls:
            url = urlsplit(address)
            if url.scheme not in ("http", "https") or not url.hostname:
                raise BadInput("engine.base_url: must be an address such as http://127.0.0.1:8000/v1")
            if url.username or url.password or url.query:
                raise BadInput(
                    "engine.base_url: must hold no user, password or query; name the key's variable as engine.api_key_env"
                )
        if self.api_key_env and not os.environ.get(self.api_key_env):
            raise BadInput(f"engine.api_key_env: the environment variable {self.api_key_env} is not set")
        if self.api_key_env and not re.fullmatch(r"[!-~]+", os.environ[self.api_key_env]):
            raise BadInput(f"engine.api_key_env: {self.api_key_env} holds white space or a character that no key has")
        if model.chat_template:
            raise BadInput("model.chat_template: a server uses its own template; start the server with yours")

    def open(self, model: "Model", seed: int = 0) -> "OpenAIEngine":
        """Reach the servers once, and return the engine."""
        self.check(model)
        return OpenAIEngine(model, self)


class Passing(Exception):
    """One try of a call failed, and another may not."""

    def __init__(self, kind: str, message: str, wait: float | None = None):
        super().__init__(message)
        self.kind = kind
        self.wait = wait
        """Seconds that the server asks to wait; null where it does not say."""


class Forbidden(Refused):
    """The server forbids a request, for its own sake or as it would any other."""


class OpenAIEngine(Engine):
    def __init__(self, model: "Model", chosen: OpenAI):
        import httpx

        self.model = model
        self.chosen = chosen
        self.enforces_schema = chosen.structured != "none"
        self._secret = os.environ[chosen.api_key_env] if chosen.api_key_env else None
        super().__init__()
        key = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        self._client = httpx.AsyncClient(
            headers={"Content-Type": "application/json", **key},
            timeout=httpx.Timeout(chosen.read_timeout_seconds, connect=CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30),
            follow_redirects=True,
        )
        limit = float(chosen.concurrency or UNLIMITED)
        self.pool = Pool([Member(url, limit) for url in chosen.urls], chosen.longest_wait_seconds)
        try:
            listed = self._submit(self._list_all()).result()
        except BaseException:
            self.close()
            raise
        self.served = sorted({name for names in listed for name in names})

    async def _list_all(self) -> list[list[str]]:
        """What each server serves. Raises EngineGone where none answers."""
        listed = await asyncio.gather(*(self._list(m) for m in self.pool.members))
        if all(m.gone or m.silent_since for m in self.pool.members):
            raise EngineGone("; ".join(f"{m.gone or m.why}" for m in self.pool.members))
        return listed

    async def _list(self, member: Member) -> list[str]:
        """The names that one server serves; empty where it does not say."""
        import httpx

        try:
            async with asyncio.timeout(LIST_SECONDS):
                status, _, data = await self._ask("GET", f"{member.name}/models")
        except httpx.TransportError as error:
            self.pool.out_of_reach(member, self._clean(f"no server answers at {member.name} ({_words(error)})."))
            return []
        except (httpx.RequestError, TimeoutError, Refused):  # it answers, and whether it works its replies will show
            return []
        if status == 401:
            self.pool.lost(member, self._clean(f"{member.name} refuses the key: {_message(data)}."))
            return []
        try:
            return [str(m["id"]) for m in orjson.loads(data)["data"]]
        except (ValueError, TypeError, KeyError):
            return []

    def about(self) -> dict[str, Any]:
        return {"engine": "openai", "base_url": self.chosen.base_url, "served": self.served}

    def _clean(self, text: str) -> str:
        """The text without the key, whatever the server echoes. (A key as short as `1` is a dummy and no secret.)"""
        return text.replace(self._secret, "***") if self._secret and len(self._secret) >= SHORTEST_SECRET else text

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        request = self._request(chat, sampling)
        try:
            body = orjson.dumps(request)
        except TypeError:  # a lone surrogate
            body = json.dumps(request).encode()
        tries = 0
        while True:
            pause, forbidden = 0.0, None
            async with self.pool.turn() as member:
                if tries:
                    self.spending.request()
                try:
                    answer = await self._try(member, body)
                    if answer is None:  # another server, or the same one later: this one was not asked
                        continue
                    self.pool.succeeded(member)
                    return self._reply(answer)
                except Passing as fault:
                    tries += 1
                    if fault.kind == "rate_limited" or fault.wait is not None:
                        self.pool.asked_too_much(member, fault.wait)
                    else:
                        self.pool.failed(member, f"{fault}")
                    pause = min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)
                    if tries > self.chosen.max_retries:
                        after = f" ({tries} tries)" if tries > 1 else ""
                        raise Refused(fault.kind, f"{fault}{after}") from None
                except Forbidden as fault:
                    forbidden = fault
            if forbidden is not None and await self._speaks_of_one(member):
                raise forbidden
            if forbidden is not None:
                self.pool.lost(member, f"{member.name} answers {forbidden}.")
            await asyncio.sleep(pause)

    async def _speaks_of_one(self, member: Member) -> bool:
        """Whether a server that forbids a request grants others: so where it has answered one, for which the calls under
        way are waited for, and does not forbid one after the other."""
        member.refusals += 1
        while not member.answered and member.in_flight and member.gone is None:
            await asyncio.sleep(0.05)
        return bool(member.answered) and member.refusals <= max(MOST_REFUSALS, member.in_flight)

    async def _try(self, member: Member, body: bytes) -> dict[str, Any] | None:
        """One request; null where the server could not be asked at all. Raises Passing, Refused."""
        import httpx

        try:
            async with asyncio.timeout(self.chosen.timeout_seconds):
                status, headers, data = await self._ask("POST", f"{member.name}/chat/completions", body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self.pool.out_of_reach(member, self._clean(f"the server at {member.name} is gone ({_words(error)})"))
            return None
        except TimeoutError:
            raise Passing("timeout", f"no whole reply within {self.chosen.timeout_seconds:g} s") from None
        except httpx.TimeoutException:
            raise Passing("timeout", f"the server was silent for {self.chosen.read_timeout_seconds:g} s") from None
        except httpx.DecodingError as error:
            raise Passing("no_reply", self._clean(f"the server's answer cannot be read: {error}")[:400]) from None
        except (httpx.TransportError, httpx.TooManyRedirects) as error:
            raise Passing("connection_lost", self._clean(f"the connection was lost: {_words(error)}")[:400]) from None
        answer: Any = None
        if status < 300:
            try:
                answer = orjson.loads(data)
            except ValueError:
                shown = data[:200].decode("utf-8", "replace")
                raise Passing("no_reply", self._clean(f"the server's answer is no JSON: {shown!r}")) from None
            if not isinstance(answer, dict):
                raise Passing("no_reply", "the server's answer is no JSON object")
            wrong = answer.get("error")
            if not wrong or answer.get("choices"):
                return answer
            code = wrong.get("code") if isinstance(wrong, dict) else None  # some servers say 200 and mean this
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
        message = self._clean(_message(data))
        if status in LOST or (status == 429 and "insufficient_quota" in message):
            self.pool.lost(member, f"{member.name} answers {status}: {message}.")
            return None
        if status in FORBIDDEN:
            raise Forbidden("refused", f"{status}: {message}")
        if status in PASSING:
            wait = _retry_after(headers, self.chosen.longest_wait_seconds)
            raise Passing(_kind(status, message), f"{status}: {message}", wait)
        self.pool.succeeded(member)  # it works: it is this one request that it refuses
        raise Refused(_kind(status, message), f"{status}: {message}")

    async def _ask(self, method: str, url: str, body: bytes | None = None) -> tuple[int, "httpx.Headers", bytes]:
        async with self._client.stream(method, url, content=body) as answer:
            parts, size = [], 0
            async for part in answer.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size > LARGEST_REPLY:
                    raise Refused("too_large", f"the server's answer is larger than {LARGEST_REPLY // 2**20} MiB")
            return answer.status_code, answer.headers, b"".join(parts)

    def _request(self, chat: Chat, sampling: Sampling) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model.id,
            "messages": chat,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed,
            "presence_penalty": sampling.presence_penalty or None,
            "logprobs": True if sampling.logprobs is not None else None,
            "top_logprobs": sampling.logprobs,
            "top_k": sampling.top_k,
            "min_p": sampling.min_p or None,
            "chat_template_kwargs": self.model.template_arguments,
        }
        if sampling.json_schema and self.chosen.structured == "json_schema":
            schema = {"name": "reply", "schema": sampling.json_schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif sampling.json_schema and self.chosen.structured == "json_object":
            request["response_format"] = {"type": "json_object"}
        return {k: v for k, v in request.items() if v is not None} | (self.chosen.extra_body or {})

    def _reply(self, answer: dict[str, Any]) -> Reply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            finish = choice.get("finish_reason") or "stop"
            raw, own = self._clean(_text(message.get("content"))), ""
            for name in ("reasoning", "reasoning_content"):
                own = own or _text(message.get(name))
            own = self._clean(own)
            rows = _logprobs(choice.get("logprobs"))
            usage = answer.get("usage") or {}
            read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        except (AttributeError, TypeError, ValueError, IndexError, KeyError):
            raise Refused(
                "no_reply", self._clean(f"the server's answer holds no reply: {answer}"[:1000])[:400]
            ) from None
        if finish not in ("stop", "length"):
            raise Refused(str(finish), f"the server ended the reply: {finish}")
        if own:  # the server has parted them already
            parted: tuple[str | None, str | None] = raw or None, own
        else:
            parted = split_reasoning(raw, self.model.reasoning, cut_off=finish == "length")
        return Reply(
            text=parted[0] or None,
            reasoning=parted[1],
            finish_reason=finish,
            prompt_tokens=read,
            completion_tokens=written,
            logprobs=rows,
        )

    async def _close(self) -> None:
        await self._client.aclose()


def _text(given: Any) -> str:
    """What a message holds: a text, a list of parts of which those with a text count, or nothing. Raises TypeError."""
    if given is None or isinstance(given, str):
        return given or ""
    if not isinstance(given, list):
        raise TypeError(type(given).__name__)
    return "".join(_text(part.get("text")) if isinstance(part, dict) else _text(part) for part in given)


def _count(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else None


def _logprobs(given: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    if not given or not given.get("content"):
        return None
    return [
        {
            "token": t["token"],
            "logprob": float(t["logprob"]),
            "top": {o["token"]: float(o["logprob"]) for o in t.get("top_logprobs") or ()},
        }
        for t in given["content"]
    ]


def _message(data: bytes) -> str:
    """What the server says is wrong, in one line, from whatever it sent."""
    said: Any = data.decode("utf-8", "replace")
    try:
        parsed = orjson.loads(data)
        if isinstance(parsed, dict):
            said = parsed.get("error") or parsed.get("message") or parsed.get("detail") or said
        if isinstance(said, dict):
            code = said.get("code") or said.get("type")
            said = said.get("message") or said
            said = f"{said} ({code})" if code == "insufficient_quota" else said
    except ValueError:
        pass
    return " ".join(str(said).split())[:400]


def _words(error: Exception) -> str:
    return str(error.__cause__ or error) or type(error).__name__


def _retry_after(headers: "httpx.Headers", longest: float) -> float | None:
    """Seconds that the server asks to wait (a number, or a date), at most `longest`; null where it does not say."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            seconds = float(milliseconds) / 1000
        elif (given := headers.get("retry-after")) is None:
            return None
        elif re.fullmatch(r"\s*\d+(\.\d*)?\s*", given):
            seconds = float(given)
        else:
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), longest) if math.isfinite(seconds) else None


def _kind(status: int, message: str) -> str:
    long_words = ("context length", "max_model_len", "maximum context", "context_length_exceeded", "too many tokens")
    if status in (400, 413) and any(w in message for w in long_words):
        return "prompt_too_long"
    return {429: "rate_limited", 408: "timeout"}.get(status, "server_error" if status >= 500 else "refused")

"""Any server that speaks the OpenAI chat protocol: vLLM's own, Ollama, a provider."""

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from generate.engines import Chat, Engine, Refused, Reply, Sampling, split_reasoning
from generate.journal import BadInput
from generate.stage import EngineGone, Number, Whole, settings

if TYPE_CHECKING:
    from generate.models import Model

SHORTEST_SECRET = 6
LOST = (401, 403, 404)
"""Statuses that every further request would meet as well: they end the stage."""


@settings
class OpenAI:
    """conf/engine/openai.yaml: where the server is, and how patient to be with it."""

    base_url: str | None = None
    api_key_env: str | None = None
    """The NAME of the environment variable that holds the key; null: the server wants none."""
    timeout_seconds: Annotated[Number, Field(gt=0)] = 600.0
    max_retries: Whole = 5
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    extra_body: dict[str, Any] | None = None

    def identity(self, model: "Model") -> dict[str, Any]:
        """What of this engine a reply depends on, beside the model: part of every key."""
        return {"base_url": self.base_url, "extra_body": self.extra_body, "structured": self.structured}

    def check(self, model: "Model") -> None:
        if not self.base_url:
            raise BadInput("engine.base_url: must be given, such as engine.base_url=http://127.0.0.1:8000/v1")
        url = urlsplit(self.base_url)
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
        """Reach the server once, and return the engine."""
        self.check(model)
        return OpenAIEngine(model, self)


class OpenAIEngine(Engine):
    def __init__(self, model: "Model", chosen: OpenAI):
        from openai import AsyncOpenAI

        self.model = model
        self.chosen = chosen
        self.enforces_schema = chosen.structured != "none"
        self._secret = os.environ[chosen.api_key_env] if chosen.api_key_env else None
        super().__init__()
        self._client = AsyncOpenAI(
            base_url=chosen.base_url,
            api_key=self._secret or "none",
            timeout=chosen.timeout_seconds,
            max_retries=chosen.max_retries,
        )
        try:
            self.served = self._submit(self._list()).result()
        except BaseException:
            self.close()
            raise

    async def _list(self) -> list[str]:
        """The names that the server serves; empty where it does not say. Raises EngineGone when nobody answers."""
        import openai

        try:
            listed = await self._client.with_options(max_retries=1, timeout=30).models.list()
            return [m.id for m in listed.data]
        except openai.APIConnectionError as error:
            raise EngineGone(
                self._clean(f"no server answers at {self.chosen.base_url} ({error.__cause__ or error}).")
            ) from None
        except openai.AuthenticationError as error:
            raise EngineGone(self._clean(f"{self.chosen.base_url} refuses the key: {error.message}.")) from None
        except (openai.APIError, ValueError):
            return []

    def about(self) -> dict[str, Any]:
        return {"engine": "openai", "base_url": self.chosen.base_url, "served": self.served}

    def _clean(self, text: str) -> str:
        """The text without the key, whatever the server echoes. (A key as short as `1` is a dummy and no secret.)"""
        return text.replace(self._secret, "***") if self._secret and len(self._secret) >= SHORTEST_SECRET else text

    async def _complete(self, chat: Chat, sampling: Sampling) -> Reply:
        import openai

        try:
            answer = await self._client.chat.completions.create(**self._request(chat, sampling))
        except openai.APITimeoutError:
            raise Refused("timeout", f"no reply within {self.chosen.timeout_seconds:g} s") from None
        except openai.APIConnectionError as error:
            raise EngineGone(
                self._clean(f"the server at {self.chosen.base_url} is gone ({error.__cause__ or error}).")
            ) from None
        except openai.APIStatusError as error:
            message = self._clean(" ".join(str(error.message).split()))[:400]
            if error.status_code in LOST:
                raise EngineGone(f"{self.chosen.base_url} answers {error.status_code}: {message}.") from None
            raise Refused(_kind(error.status_code, message), f"{error.status_code}: {message}") from None
        except (openai.APIError, ValueError, TypeError) as error:  # ValueError: what came is no JSON
            raise Refused("no_reply", self._clean(f"the server's answer cannot be read: {error}")[:400]) from None
        try:
            return self._reply(answer)
        except (AttributeError, TypeError, IndexError, KeyError):
            raise Refused("no_reply", self._clean(f"the server's answer holds no reply: {answer}")[:400]) from None

    def _request(self, chat: Chat, sampling: Sampling) -> dict[str, Any]:
        body: dict[str, Any] = dict(self.chosen.extra_body or {})
        if self.model.template_arguments:
            body.setdefault("chat_template_kwargs", self.model.template_arguments)
        if sampling.top_k is not None:
            body["top_k"] = sampling.top_k
        if sampling.min_p:
            body["min_p"] = sampling.min_p
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
            "extra_body": body or None,
        }
        if sampling.json_schema and self.chosen.structured == "json_schema":
            schema = {"name": "reply", "schema": sampling.json_schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif sampling.json_schema and self.chosen.structured == "json_object":
            request["response_format"] = {"type": "json_object"}
        return {k: v for k, v in request.items() if v is not None}

    def _reply(self, answer: Any) -> Reply:
        choice = answer.choices[0]
        finish = choice.finish_reason or "stop"
        if finish not in ("stop", "length"):
            raise Refused(finish, f"the server ended the reply: {finish}")
        raw = self._clean(choice.message.content or "")
        own: Any = None
        for field in ("reasoning", "reasoning_content"):
            own = own or getattr(choice.message, field, None)
        if own:  # the server has parted them already
            parted: tuple[str | None, str | None] = raw or None, self._clean(str(own))
        else:
            parted = split_reasoning(raw, self.model.reasoning, cut_off=finish == "length")
        rows = None
        if choice.logprobs and choice.logprobs.content:
            rows = [
                {"token": t.token, "logprob": t.logprob, "top": {o.token: o.logprob for o in t.top_logprobs}}
                for t in choice.logprobs.content
            ]
        usage = answer.usage
        return Reply(
            text=parted[0] or None,
            reasoning=parted[1],
            finish_reason=finish,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            logprobs=rows,
        )

    async def _close(self) -> None:
        await self._client.close()


def _kind(status: int, message: str) -> str:
    if status == 400 and ("context length" in message or "max_model_len" in message or "maximum context" in message):
        return "prompt_too_long"
    return {429: "rate_limited"}.get(status, "server_error" if status >= 500 else "refused")

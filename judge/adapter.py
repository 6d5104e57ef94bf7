"""A DSPy adapter for replies under a schema: the prompt comes from a writer, the reply goes to a reader."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from generate.engines import Refused, Reply, collected_replies, last_replies
from generate.journal import Failure
from generate.solutions import Usage
from generate.stage import EngineGone
from judge.replies import Unparsed

_shown: ContextVar[str] = ContextVar("shown", default="")
"""What the model was shown in this task's call: DSPy does not hand it on to the parser."""


class SchemaAdapter(dspy.Adapter):  # type: ignore[misc]
    """Sends `schema` to an engine that enforces one; `reference` follows the instructions in the system message;
    `write(inputs)` is the user message; `read(text, finish_reason, shown)` gives the output fields or raises Unparsed."""

    def __init__(
        self,
        schema: dict[str, Any],
        reference: str,
        write: Callable[[dict[str, Any]], str],
        read: Callable[[str | None, str | None, str], dict[str, Any]],
    ):
        super().__init__()
        self.schema = schema
        self.reference = reference
        self.write = write
        self.read = read

    def _call_preprocess(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, inputs: dict[str, Any]) -> Any:
        if lm.supports_response_schema:
            schema = {"name": "reply", "schema": self.schema}
            lm_kwargs["response_format"] = {"type": "json_schema", "json_schema": schema}
        return super()._call_preprocess(lm, lm_kwargs, signature, inputs)

    def format(self, signature: Any, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[dict[str, Any]]:
        messages = [{"role": "system", "content": f"{signature.instructions.strip()}\n\n{self.reference}"}]
        for demo in demos:
            messages.append({"role": "user", "content": self.write(demo)})
            messages.append({"role": "assistant", "content": reply_shown(demo, self.schema)})
        material = self.write(inputs)
        _shown.set(material)
        return [*messages, {"role": "user", "content": material}]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        replies = last_replies.get()
        try:
            return self.read(completion, replies[-1].finish_reason if replies else None, _shown.get())
        except Unparsed as fault:
            raise AdapterParseError(type(self).__name__, signature, completion, str(fault)) from fault


async def asked(module: Any, inputs: dict[str, Any]) -> tuple[Any, list[Reply], Usage, Failure | None]:
    """One call of a DSPy module: what it predicts or why it does not, the replies, what they took. Raises EngineGone."""
    prediction, error = None, None
    with collected_replies() as replies:
        try:
            prediction = await module.acall(**inputs)
        except (AdapterParseError, LMError) as fault:
            error = failure_of(fault, replies)
    usage = Usage(
        prompt_tokens=sum(r.prompt_tokens or 0 for r in replies),
        completion_tokens=sum(r.completion_tokens or 0 for r in replies),
        calls=max(1, len(replies)),
    )
    return prediction, replies, usage, error


def failure_of(fault: AdapterParseError | LMError, replies: list[Reply]) -> Failure:
    """The error record for what went wrong in one call; raises what is no matter of this call alone."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, EngineGone):
            raise cause
        if isinstance(cause, Refused | Unparsed):
            return Failure(kind=cause.kind, message=str(cause), raw=replies[-1].text if replies else None)
        cause = cause.__cause__ or cause.__context__
    if isinstance(fault, AdapterParseError):  # DSPy itself refuses an empty reply before any adapter sees it
        cut = bool(replies) and replies[-1].finish_reason == "length"
        message = "the reply was cut off by the token limit" if cut else "the reply is empty"
        raw = replies[-1].reasoning if replies else None
        return Failure(kind="cut_off" if cut else "no_reply", message=message, raw=raw)
    raise fault


def reply_shown(values: dict[str, Any], schema: dict[str, Any]) -> str:
    """Values of output fields as a reply in the schema's form, for worked examples in a prompt."""
    return json.dumps(
        {name: _plain(values.get(name), part) for name, part in schema["properties"].items()}, ensure_ascii=False
    )


def _plain(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list | tuple) and "items" in schema:
        return [_plain(item, schema["items"]) for item in value]
    if "properties" in schema:
        fields = value if isinstance(value, dict) else vars(value) if hasattr(value, "__dict__") else {}
        return {name: _plain(fields.get(name), part) for name, part in schema["properties"].items()}
    if schema.get("type") == "integer" and isinstance(value, float):
        return int(value)
    if schema.get("type") == "string" and value is None:
        return ""
    return value

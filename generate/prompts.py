"""Chat messages from a problem."""

import re

from generate.engines import Chat
from generate.journal import BadInput
from generate.problems import Problem
from generate.stage import settings

_CONTROL = re.compile(
    r"<(?=\||/?(?:think|im_start|im_end|s|bos|eos|pad|unk|start_of_turn|end_of_turn)\b[^<>]{0,40}>)|<(?=[\uff5c])",
    re.IGNORECASE,
)
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
"""Characters that leave no mark on a page: zero width, direction marks, soft hyphens, tags, variation selectors."""
BREAK = "\u2060"  # a word joiner: nothing is seen of it, and no tokenizer takes what it parts for a control token


def harmless(text: str) -> str:
    """Text of strangers for a prompt: what cannot be seen is left out (words can be hidden in it), and what a tokenizer
    would take for a control token (`<|im_start|>`, `</think>`) is parted by a mark that cannot be seen, so that it is read
    as the characters it is made of."""
    return _CONTROL.sub("<" + BREAK, UNSEEN.sub("", text))


@settings
class Template:
    """The messages for one kind of problem. `{statement}` stands for the problem's statement, and is put in as it is."""

    system: str | None = None
    user: str

    def __post_init__(self) -> None:
        if "{statement}" not in self.user:
            raise BadInput("user: the prompt must hold {statement}")


@settings
class Prompt:
    """conf/prompt/: how a model is asked, for problems with a final answer and for proof problems."""

    final_answer: Template
    proof: Template

    def chat(self, problem: Problem) -> Chat:
        if problem.statement is None:
            raise BadInput(f"problem {problem.id} has no statement, so no model can be asked; use model=recorded")
        template = self.proof if problem.answer is None else self.final_answer
        messages = [{"role": "system", "content": template.system}] if template.system else []
        return [
            *messages,
            {"role": "user", "content": template.user.replace("{statement}", harmless(problem.statement))},
        ]

"""Chat messages from a problem."""

from generate.engines import Chat
from generate.journal import BadInput
from generate.problems import Problem
from generate.stage import settings


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
        return [*messages, {"role": "user", "content": template.user.replace("{statement}", problem.statement)}]

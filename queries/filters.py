"""What a question is restricted to. Field name = parameter name in SQL; None = no restriction."""

from dataclasses import dataclass, fields, replace
from typing import Any

SUBSETS = ("all", "effective")


@dataclass(frozen=True, slots=True)
class Filters:
    """A restriction of rollouts. The same object gives the SQL parameters and the sentence shown to the reader.

    `subset` "effective" keeps the rollouts the trainer used, "all" (like None) every rollout.
    `tools` keeps rollouts that called at least one of them; `agents` those in which at least one of them took part, and
    of questions about calls only the calls of these.
    """

    run_ids: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    step_from: int | None = None
    step_to: int | None = None
    statuses: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    environments: tuple[str, ...] | None = None
    subset: str | None = None
    agents: tuple[str, ...] | None = None

    def parameters(self) -> dict[str, Any]:
        """Values by parameter name, lists where there are several."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def set_fields(self) -> dict[str, Any]:
        """The fields that restrict something."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    def only(self, *run_ids: str) -> "Filters":
        """The same restriction, on these runs."""
        return replace(self, run_ids=run_ids)

    def sentence(self, names: dict[str, str] | None = None) -> str:
        """The restriction in words, e.g. "zava · valid · steps 0–18"; "everything" where there is none."""
        names = names or {}
        parts = []
        if self.run_ids is not None:
            shown = [names.get(each, each) for each in self.run_ids]
            parts.append(", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else ""))
        if self.splits is not None:
            parts.append(" and ".join(self.splits))
        if self.step_from is not None and self.step_to is not None:
            same = self.step_from == self.step_to
            parts.append(f"step {self.step_from}" if same else f"steps {self.step_from}–{self.step_to}")
        elif self.step_from is not None:
            parts.append(f"from step {self.step_from}")
        elif self.step_to is not None:
            parts.append(f"up to step {self.step_to}")
        if self.environments is not None:
            parts.append("environment " + " or ".join(self.environments))
        if self.agents is not None:
            parts.append("agent " + " or ".join(self.agents))
        if self.statuses is not None:
            parts.append("status " + " or ".join(each.replace("_", " ") for each in self.statuses))
        if self.tools is not None:
            parts.append("calling " + " or ".join(self.tools))
        if self.subset == "effective":
            parts.append("only rollouts that were trained on")
        return " · ".join(parts) or "everything"


EVERYTHING = Filters()

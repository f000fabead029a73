"""OpenAI Evals: output items of eval runs, as the API pages them or as somebody saved them.

Format: pages of `eval.run.output_item` and `eval.run` objects, single objects, JSON lines of them, wrappers such as
`{run_id, run_name, items: […]}`, and folders that hold runs beside their items. Spec: OpenAI's openapi.yaml,
`/v1/evals/{eval_id}/runs/{run_id}/output_items`; seen: items of agentic reinforcement fine-tuning, whose
`datasource_item.trace` keeps the rollout's spans (`ingest.openai_trace`).

The validation runs of a fine-tuning job are named `Step N`: they belong to one run and N is their step. Any other eval
run is a run of its own, so that no two evaluations are pooled silently.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ingest.errors import UnreadableError
from ingest.openai_files import ITEM, RUN, Broken, Document, documents, folder_kinds, json_files, kind_of
from ingest.openai_items import EvalRun, is_item, rollout, step_of
from ingest.reading import Peek, dump_json, number, text, timestamp
from ingest.sources.base import NOT_SCORED, Note, Options, Part, Record, Reject, Rollout, Row, Values

NAME = "openai_evals"
TITLE = "OpenAI Evals output items"
FILLS = frozenset(
    {"sample", "step", "split", "reward", "subscores", "status", "messages", "tool_calls", "tool_errors"}
    | {"tool_latency", "tokens", "reasoning_tokens", "latency", "model", "metrics"}
)
HINT = (
    "JSON pages or lines of `eval.run.output_item` objects with `datasource_item`, `results` and `sample`, "
    "from GET /v1/evals/{eval_id}/runs/{run_id}/output_items"
)


def matches(peek: Peek) -> bool:
    """Whether it holds output items or eval runs; a folder, where both stand in it and no fine-tuning job does."""
    if not peek.is_dir:
        return kind_of(peek.head) in (ITEM, RUN)
    kinds = folder_kinds(peek)
    return RUN in kinds and not any(kind.startswith("fine_tuning") for kind in kinds)


def default_run(path: Path) -> str:
    """The eval's id where the file names it, else the folder, so that several files of one eval are one run."""
    for file in json_files(path) if path.is_dir() else [path]:
        try:
            first = next((each for each in documents(file) if isinstance(each, Document)), None)
        except UnreadableError:
            continue
        found = text((first.value.get("eval_id") or first.around.get("eval_id")) if first else None)
        if found:
            return found
    return (path if path.is_dir() else path.parent).resolve().name or "openai-evals"


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the rollouts of a file or folder, then one row per run.

    Raises:
        UnreadableError: A file named itself holds no JSON at all.
    """
    if not part.path.is_dir():
        yield from EvalReader(part.path.parent).read([part])
        return
    yield from EvalReader(part.path).read([Part(file) for file in json_files(part.path)])


class EvalReader:
    """Reads eval runs and their items from files that belong together.

    With `is_job` everything belongs to one fine-tuning job, which describes itself: no run is set apart, no row of
    `runs` is written, and other kinds of files are left to the job's reader.
    """

    def __init__(self, root: Path, *, is_job: bool = False) -> None:
        self.root = root
        self.is_job = is_job
        self.graders: dict[str, None] = {}
        self._runs: dict[str, Values] = {}
        self._read_runs: dict[str | None, list[EvalRun]] = {}
        self._seen: set[tuple[str | None, int]] = set()
        self._position = 0

    def read(self, parts: Sequence[Part]) -> Iterator[Record]:
        """Yield every record of the files: runs are looked at first, for items name their run only by its id.

        Raises:
            UnreadableError: There is one file only and it holds no JSON at all.
        """
        items = [part for part in parts if len(parts) == 1 or kind_of(Peek(part.path).head) != RUN]
        for part in parts:
            if part not in items:
                yield from self._file(part, alone=False)
        for part in items:
            yield from self._file(part, alone=len(parts) == 1)
        yield from self._run_rows()

    def _file(self, part: Part, *, alone: bool) -> Iterator[Record]:
        name = part.path.relative_to(self.root).as_posix()
        if not alone and kind_of(Peek(part.path).head) not in (ITEM, RUN):
            return
        try:
            for document in documents(part.path, part.start, part.end):
                if isinstance(document, Broken):
                    yield Reject(document.reason, document.place, document.snippet, name)
                else:
                    yield from self._document(document, part.path, name)
        except UnreadableError as error:
            if alone:
                raise
            yield Reject(str(error), "0", file=name)

    def _document(self, document: Document, path: Path, name: str) -> Iterator[Record]:
        value = document.value
        if is_item(value):
            yield from self._item(document, path, name)
        elif value.get("object") == RUN:
            self._runs[text(value.get("id")) or name] = value
        elif value.get("object") != "eval":
            yield Reject(
                "neither an output item nor an eval run", document.place or "0", (dump_json(value) or "")[:200], name
            )

    def _item(self, document: Document, path: Path, name: str) -> Iterator[Record]:
        item = document.value
        if not any(isinstance(item.get(key), list | dict) for key in ("results", "sample", "datasource_item")):
            reason = "an output item without results, sample and datasource_item"
            yield Reject(reason, document.place or "0", (dump_json(item) or "")[:200], name)
            return
        if self._is_again(item):
            yield Note("Output items that stand in several pages were read once.")
            return
        run = self._run_of(item, document.around, path)
        found = Rollout(**rollout(item, run, name + document.place, self._position), run=self._home(run))
        self._position += 1
        self.graders.update(dict.fromkeys(score["grader"] for score in found.scores if "text_value" in score))
        known = self._read_runs.setdefault(found.run, [])
        if run not in known:
            known.append(run)
        yield found
        yield from _notes(found, run)

    def _is_again(self, item: Values) -> bool:
        """Whether the very same item has been read before: pages overlap when items arrive between two requests."""
        key = (text(item.get("id")), hash(dump_json(item)))
        if key[0] is None or key not in self._seen:
            self._seen.add(key)
            return False
        return True

    def _run_of(self, item: Values, around: Values, path: Path) -> EvalRun:
        nested = around.get("run") if isinstance(around.get("run"), dict) else {}
        wrapper = {**nested, **around} if isinstance(nested, dict) else around
        own = wrapper.get("id") if str(wrapper.get("id", "")).startswith("evalrun") else None
        run_id = text(item.get("run_id") or wrapper.get("run_id") or own)
        known = self._runs.get(run_id or "", {})
        name = text(known.get("name") or item.get("run_name") or wrapper.get("run_name") or wrapper.get("name"))
        places = [] if name else [path.stem, path.parent.name]
        guess = next((f"Step {step}" for place in places if (step := step_of(place)) is not None), None)
        eval_id = text(item.get("eval_id") or known.get("eval_id") or wrapper.get("eval_id"))
        model = text(known.get("model") or wrapper.get("model"))
        return EvalRun(run_id, eval_id, name or guess, model, is_name_guessed=guess is not None)

    def _home(self, run: EvalRun) -> str | None:
        """The run a rollout belongs to: None is the source's own."""
        if self.is_job or run.step is not None:
            return None
        names = Counter(text(each.get("name")) for each in self._runs.values())
        if run.name and names[run.name] > 1 and run.run_id:
            return f"{run.name} {run.run_id}"
        return run.name or run.run_id

    def _run_rows(self) -> Iterator[Record]:
        """What the eval runs say of themselves: one row of `runs` per run, and their counts as metrics."""
        for run_id, value in self._runs.items():
            run = EvalRun(run_id, text(value.get("eval_id")), text(value.get("name")), text(value.get("model")))
            home = self._home(run)
            known = self._read_runs.setdefault(home, [])
            if all(each.run_id != run_id for each in known):
                known.append(run)
            for position, (name, figure) in enumerate(_figures(value)):
                split = "valid" if run.step is not None else None
                row: Values = {"step": run.step, "split": split, "name": name, "value": figure, "position": position}
                row["recorded_at"] = timestamp(value.get("created_at"))
                yield Row("metrics", row, home)
        for home, runs in self._read_runs.items() if not self.is_job else ():
            yield Row("runs", self._describe(runs), home)

    def _describe(self, runs: list[EvalRun]) -> Values:
        objects = [self._runs[run.run_id] for run in runs if run.run_id in self._runs]
        models = {run.model for run in runs if run.model}
        created = [at for each in objects if (at := timestamp(each.get("created_at"))) is not None]
        return {
            "provider": "openai",
            "kind": "training" if any(run.step is not None for run in runs) else "evaluation",
            "model": models.pop() if len(models) == 1 else None,
            "status": text(objects[-1].get("status")) if objects else None,
            "created_at": min(created, default=None),
            "reward_name": self.reward_name,
            "error_message": next((found for each in objects if (found := _error_text(each.get("error")))), None),
            "config": dump_json({"eval_runs": [{"id": run.run_id, "name": run.name} for run in runs]}),
            "precedence": 60,
        }

    @property
    def reward_name(self) -> str | None:
        """Whose number the reward is, in the graders' own names."""
        names = list(self.graders)
        return (
            f"grader score: {names[0]}"
            if len(names) == 1
            else f"mean of graders: {', '.join(names)}"
            if names
            else None
        )


def _figures(run: Values) -> Iterator[tuple[str, float]]:
    counts = run.get("result_counts")
    for name, value in counts.items() if isinstance(counts, dict) else ():
        if (count := number(value)) is not None:
            yield f"eval_run/result_counts/{name}", count
    usages = run.get("per_model_usage")
    for usage in usages if isinstance(usages, list) else []:
        for name, value in usage.items() if isinstance(usage, dict) else ():
            if (count := number(value)) is not None:
                yield f"eval_run/per_model_usage/{usage.get('model_name')}/{name}", count


def _error_text(error: Any) -> str | None:
    return text(error.get("message")) or None if isinstance(error, dict) else None


def _notes(found: Rollout, run: EvalRun) -> Iterator[Note]:
    metadata = found.values["metadata"] or ""
    if found.tool_calls and '"trace_id"' not in metadata:
        yield Note(
            "Items without a trace: their tool calls are those of sample.output, which keeps only the last turn."
        )
    if '"refused_recipients"' in metadata:
        yield Note("Messages to a recipient that is no tool were refused by the runtime: kept, but no tool calls.")
    if '"unrecorded_turns"' in metadata:
        yield Note("Function spans without the generation that asked for them: counted, their arguments are unknown.")
    if '"graded_answer"' in metadata:
        yield Note("The grader was given another text than the trace's last message (metadata.graded_answer).")
    if '"skipped_spans"' in metadata:
        yield Note("Spans that are neither GENERATION nor FUNCTION, or no spans at all, were skipped.")
    if any(score.get("text_value") is not None for score in found.scores):
        yield NOT_SCORED
    if run.is_name_guessed:
        yield Note("The training step was taken from the name of a file or folder: the items name no run.")
    if run.name is None:
        yield Note("The eval run's name is not in the files, so the training step is unknown; save its runs beside it.")

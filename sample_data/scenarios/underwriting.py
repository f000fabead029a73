"""Insurance underwriting: five models talk with an underwriter; tools fail, and products are invented."""

from collections.abc import Iterator
from functools import partial

from sample_data.scenarios.chance import Rng, attempt_z, difficulties, happens, lognormal, pick, some
from sample_data.scenarios.lines import Call, Line, Talk, Task, evaluation, score

NAME = "underwriting"
TITLE = "Insurance underwriting: tool failures in 36 % of conversations, invented products"
SUMMARY = (
    "Five models advise an underwriter over several turns. A tool fails in 36 % of the conversations, and models "
    "recommend products that do not exist in 15 to 45 % of them."
)

TOOL_FAILS = 0.36
INVENTS = {"model-a": 0.15, "model-b": 0.22, "model-c": 0.30, "model-d": 0.38, "model-e": 0.45}
RIGHT = {"model-a": 0.78, "model-b": 0.70, "model-c": 0.66, "model-d": 0.60, "model-e": 0.50}

PLANTED = {
    "tool_fails": TOOL_FAILS,
    "invents": INVENTS,
    "right": RIGHT,
}

NUM_TASKS, ATTEMPTS = 50, 3
TRADES = ("bakery", "roofing firm", "print shop", "clinic", "haulier", "winery", "dance school", "boat yard")
STATES = ("North", "South", "East", "West", "Coast", "Hills")
PRODUCTS = ("property", "general liability", "workers", "vehicle fleet", "data breach")
INVENTED = ("umbrella gold", "liability plus", "small trade bundle", "all risks prime", "fleet and crew")
ASKED = {
    "appetite": "Are you sure of the appetite?",
    "limits": "And the limits?",
    "class_codes": "Which class code is that?",
    "products": "What else would they need?",
}
"""Tables, and the question that each answers."""
SYSTEM = (
    "You advise an insurance underwriter. Tools: list_tables(), describe(table), query(table, columns, where), "
    "company(name). Recommend only products that the table `products` lists."
)


def _tasks(rng: Rng) -> list[Task]:
    tasks = []
    for number, hardness in enumerate(difficulties(rng, NUM_TASKS)):
        trade, state, staff = pick(rng, TRADES), pick(rng, STATES), int(rng.integers(2, 240))
        tasks.append(
            Task(
                sample_id=f"case-{number:03d}",
                prompt=f"A {trade} in {state} with {staff} staff asks for cover. Is it in appetite?",
                level=0.0,
                tuned=1.0,
                z=hardness,
                reference=pick(rng, ("in appetite", "refer", "decline")),
                cluster=trade,
                tags=(trade, state),
                about={"trade": trade, "state": state, "values": {each: int(rng.integers(1, 9)) for each in ASKED}},
            )
        )
    return tasks


def _failing(task: Task, rng: Rng) -> Call:
    """A call that fails: a column or a table guessed, or a company spelled wrong."""
    trade, chance = task.about["trade"], rng.random()
    if chance < 0.5:
        asked = {"table": "appetite", "columns": "risk", "where": f"trade = '{trade}'"}
        return Call("query", asked, "Error: no such column: risk", 0.4, "sql_error")
    if chance < 0.8:
        return Call("describe", {"table": "rules"}, "Error: no such table: rules", 0.2, "sql_error")
    return Call("company", {"name": f"{trade} Ltd"}, "Error: timeout after 10 s", 10.0, "timeout")


def _facts(task: Task, table: str, rng: Rng) -> list[Call]:
    """The calls of a turn that go well."""
    trade, state = task.about["trade"], task.about["state"]
    where = f"trade = '{trade}'" + (f" and state = '{state}'" if table == "limits" else "")
    rows = (
        "name\n" + "\n".join(PRODUCTS) if table == "products" else f"{trade} | {state} | {task.about['values'][table]}"
    )
    found = [Call("query", {"table": table, "columns": "*", "where": where}, rows, round(0.2 + rng.random(), 2))]
    if rng.random() < 0.35:
        found.append(Call("describe", {"table": table}, f"{table}(trade, state, value)", 0.2))
    return found


def attempt(task: Task, progress: float, step: int | None, rng: Rng, *, model: str) -> Line:
    """A conversation of three to five questions, each answered after some look-ups."""
    del progress, step
    talk = Talk(SYSTEM, task.prompt)
    num_turns = int(rng.integers(3, 6))
    tables = ["appetite", *some(rng, ("limits", "class_codes", "appetite"), num_turns - 2), "products"]
    fails_in = int(rng.integers(0, num_turns)) if happens(TOOL_FAILS, attempt_z(rng, task.z)) else None
    is_right = happens(RIGHT[model], attempt_z(rng, -task.z))
    does_invent = happens(INVENTS[model], attempt_z(rng, task.z))
    talk.call(Call("list_tables", {}, "\n".join(ASKED), 0.1))
    for turn in range(num_turns):
        if turn == fails_in:
            talk.call(_failing(task, rng))
        talk.call(*_facts(task, tables[turn], rng), thinking=3 + 3 * rng.random())
        if turn < num_turns - 1:
            value = task.about["values"][tables[turn]]
            talk.say(f"For a {task.about['trade']}, {tables[turn].replace('_', ' ')} says {value}.")
            talk.user(ASKED[tables[turn + 1]])
    decision = task.reference if is_right else "refer" if task.reference != "refer" else "decline"
    product = pick(rng, INVENTED if does_invent else PRODUCTS)
    talk.say(f"Decision: {decision}. Recommended product: {product}.", thinking=6.0)
    return talk.line(
        reward=float(is_right),
        passed=is_right,
        output_tokens=lognormal(1_600, 0.35, attempt_z(rng, task.z)),
        scores=[
            score("decision", is_right, "reward", weight=1.0, passed=is_right),
            score("invented_product", does_invent, "label", explanation=product if does_invent else "none"),
        ],
    )


def lines(rng: Rng) -> Iterator[Line]:
    """One evaluation a model, all on the same cases."""
    tasks = _tasks(rng)
    for model in INVENTS:
        how = partial(attempt, model=model)
        about = {"attempts": ATTEMPTS, "split": "test", "model": model, "base_model": model, "reward_name": "decision"}
        yield from evaluation(f"{NAME}-{model}", tasks, how, rng, **about)

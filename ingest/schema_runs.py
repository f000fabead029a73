"""The contract of tables about runs and samples; `ingest.schema` puts all tables together."""

from ingest.columns import NEVER, RUN_ID, SOURCE_ID, Column, Table

RUNS = Table(
    "runs",
    "one row per run and source that describes it (the published view collapses them to one per run)",
    ("run_id", "source_id"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("name", "string", "the run's name as given", NEVER),
        Column("kind", "string", "`training`, `evaluation`, `baseline` or `production`"),
        Column("provider", "string", "service or library that made the run, e.g. `openai`, `prime-rl`"),
        Column("source_format", "string", "name of the source module that read it", NEVER),
        Column("base_model", "string", "model the run started from"),
        Column("model", "string", "model the run produced or evaluated"),
        Column("parent_run", "string", "run this one continues or evaluates"),
        Column("status", "string", "status in the provider's own word"),
        Column("created_at", "time", "when the run was made"),
        Column("started_at", "time", "when the run began"),
        Column("ended_at", "time", "when the run ended", "not ended, or not reported"),
        Column("reward_name", "string", "which number the trainer calls its reward, in its own words"),
        Column("hyperparameters", "json", "hyperparameters as reported"),
        Column("config", "json", "everything else the source says of its configuration"),
        Column("tags", "json", "list of tags"),
        Column("code_reference", "string", "commit or version of the code that ran"),
        Column("error_message", "string", "why the run failed", "did not fail, or not reported"),
        Column("precedence", "int", "which description wins where several sources describe one run: the lowest", NEVER),
    ),
)

CHECKPOINTS = Table(
    "checkpoints",
    "one row per saved policy",
    ("run_id", "source_id", "step"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("step", "int", "optimizer update after which the policy was saved"),
        Column("checkpoint_id", "string", "the provider's id, or the path"),
        Column("model", "string", "name under which the checkpoint can be called"),
        Column("created_at", "time", "when it was saved"),
        Column("metrics", "json", "metrics the provider attached"),
    ),
)

METRICS = Table(
    "metrics",
    "one row per number a trainer reported",
    ("run_id", "source_id", "step", "split", "name", "position"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("step", "int", "optimizer update"),
        Column("split", "string", "`train`, `valid`, `test` or `production`", "the number belongs to no split"),
        Column("name", "string", "the metric's name as reported, nested keys joined by `/`", NEVER),
        Column("value", "float", "the number, in the metric's own unit", "reported as null, NaN or infinite"),
        Column("recorded_at", "time", "when it was recorded"),
        Column("labels", "json", "labels such as grader or tool"),
        Column("position", "int", "order within the source (several rows of one step: the last wins)", NEVER),
    ),
)

EVENTS = Table(
    "events",
    "one row per event of a run",
    ("run_id", "source_id", "event_id"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("event_id", "string", "the provider's id, else source and position", NEVER),
        Column("created_at", "time", "when it happened"),
        Column("step", "int", "optimizer update it speaks of", "it speaks of no step"),
        Column("level", "string", "`info`, `warn` or `error`"),
        Column("type", "string", "the provider's event type"),
        Column("message", "string", "text as reported"),
        Column("data", "json", "payload as reported"),
    ),
)

SAMPLES = Table(
    "samples",
    "one row per sample of a run and source",
    ("run_id", "source_id", "environment", "sample_id"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("sample_id", "string", "one dataset row to be solved", NEVER),
        Column("prompt_text", "string", "the task as the policy saw it, roles and text"),
        Column("prompt_hash", "string", "hash of the prompt, to pair samples without a shared id"),
        Column("reference", "string", "reference answer, text or JSON"),
        Column("environment", "string", "environment the sample belongs to; the same id in another is another sample"),
        Column("tags", "json", "list of tags"),
        Column("cluster_key", "string", "what several samples share (document, repository): the unit of clustering"),
        Column("dataset_version", "string", "version of the data set"),
        Column("metadata", "json", "everything else the source says of the sample"),
    ),
)

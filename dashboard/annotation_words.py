"""What readers said of rollouts, in words."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

LABELS: Final = {"real": "Real", "false_alarm": "False alarm", "note": "Note"}
"""Labels as they are shown; any other is shown as it was written."""


def line(said: Mapping[str, Any]) -> str:
    """One annotation: label, what it judges, text, who and when (UTC)."""
    label = LABELS.get(said["label"], str(said["label"]))
    of = [] if pd.isna(said["rule"]) else [f"finding {said['rule']}"]
    of += [] if pd.isna(said["message_index"]) else [f"message {int(said['message_index'])}"]
    head = f"{label} ({', '.join(of)})" if of else label
    text = "" if pd.isna(said["note"]) else f": {said['note']}"
    return f"{head}{text} · {said['author']}, {said['created_at']:%Y-%m-%d %H:%M} UTC"


def judged() -> str:
    """What the field of a rule is for."""
    return (
        "Name of the rule whose finding is judged, as Reward integrity lists it: `real` and `false alarm` then count "
        "for that rule's precision. Empty for a label that judges no finding."
    )

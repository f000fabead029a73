"""The CSS of a trajectory: edges, cards, folds, outline. Colours follow the theme; nothing here comes from data."""

from typing import Final, Literal

from dashboard.charts import ink

_COLOURS: Final = {
    "light": {"card": "#F5F6F8", "error": "#B04A00", "repeat": "#6B4E9E", "user": "#8A6FB0", "policy": "#1C2127"},
    "dark": {"card": "#1D2229", "error": "#F2925A", "repeat": "#B9A3E3", "user": "#A98FD6", "policy": "#E6E9EE"},
}

_CSS: Final = """
.talk { display: flex; flex-direction: column; gap: 1.1rem; font-size: 0.875rem; line-height: 1.5; }
.talk .message { border-left: 3px solid $grid; padding-left: 0.9rem; scroll-margin-top: 5rem; }
.talk .system { border-left-style: dotted; border-left-color: $zero; }
.talk .user { border-left-color: $user; }
.talk .assistant { border-left-color: $policy; }
.talk .tool, .talk .other { border-left-style: double; border-left-color: $zero; }
.talk .current { background: $card; outline: 6px solid $card; }
.talk header { display: flex; gap: 0.7rem; align-items: baseline; margin-bottom: 0.25rem; }
.talk .facts, .talk .place, .talk .marks, .talk summary, .talk .group, .talk .cut { color: $muted; font-size: 0.8rem; }
.talk .place { margin-left: auto; text-decoration: none; font-variant-numeric: tabular-nums; }
.talk pre, dl.scores pre { margin: 0; padding: 0; border: 0; background: none; color: inherit; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.82rem; line-height: 1.5; }
.talk .assistant > pre, .talk .user > pre, .talk .assistant > .folded pre, .talk .user > .folded pre
  { font-family: inherit; font-size: 0.9rem; }
.talk summary, .outline summary, dl summary { cursor: pointer; padding: 0.15rem 0; }
.talk .reasoning { margin-bottom: 0.35rem; }
.talk .reasoning pre { color: $muted; }
.talk .calls { display: flex; flex-direction: column; gap: 0.45rem; margin-top: 0.4rem; }
.talk .call { background: $card; border: 1px solid $grid; border-radius: 6px; padding: 0.45rem 0.7rem;
  scroll-margin-top: 5rem; }
.talk .call.failed { border-left: 3px solid $error; }
.talk .line { display: flex; gap: 0.6rem; align-items: baseline; min-width: 0; }
.talk .line code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; background: none;
  color: $text; padding: 0; font-size: 0.8rem; }
.talk .line strong { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 60%; flex: none; }
.talk .number, .outline .number { color: $muted; font-variant-numeric: tabular-nums; font-size: 0.78rem; flex: none; }
.talk .marks { display: flex; flex-wrap: wrap; gap: 0.8rem; }
.talk .marks:not(:last-child) { margin-bottom: 0.3rem; }
.talk .marks .error, .outline .failed .mark { color: $error; font-weight: 600; }
.talk .marks .repeat { color: $repeat; text-decoration: none; }
.outline ol { list-style: none; margin: 0; padding: 0; max-height: 26rem; overflow-y: auto; font-size: 0.8rem; }
.outline li { margin: 0; padding: 0; }
.outline a { display: flex; gap: 0.5rem; padding: 0.1rem 0; color: $text; text-decoration: none; white-space: nowrap;
  overflow: hidden; }
.outline a:hover { text-decoration: underline; }
.outline .number { width: 1.8rem; text-align: right; }
.outline .mark { width: 0.8rem; color: $repeat; flex: none; }
.outline a span:last-child { overflow: hidden; text-overflow: ellipsis; }
.outline.found ol { max-height: 15rem; }
.outline.found .place { width: 6.5rem; flex: none; color: $muted; }
@media (min-width: 641px) {
  [data-testid="stColumn"]:has(.st-key-trajectory_side) { position: sticky; top: 4.2rem; align-self: flex-start;
    max-height: calc(100vh - 5rem); overflow-y: auto; }
}
.st-key-trajectory_side dl, .talk dl { display: grid; grid-template-columns: fit-content(45%) 1fr; gap: 0.1rem 0.8rem;
  font-size: 0.8rem; margin: 0; padding: 0; }
.st-key-trajectory_side dt, .talk dt { color: $muted; overflow-wrap: anywhere; }
.st-key-trajectory_side dd, .talk dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.st-key-trajectory_side dl.scores dd:has(details) { grid-column: 1 / -1; }
.st-key-trajectory_side h3 { font-size: 1rem; padding-bottom: 0; }
"""


def trajectory(theme: Literal["light", "dark"]) -> str:
    """The style sheet of the Trajectory page."""
    text = _CSS
    for name, colour in {**ink(theme), **_COLOURS[theme]}.items():
        text = text.replace(f"${name}", colour)
    return text

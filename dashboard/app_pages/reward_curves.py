"""How does the reward change over training?"""

import streamlit as st

from dashboard import charts_curves, curve_panels, curve_words, data, parts
from dashboard.rows import drawn_runs, texts
from dashboard.run_words import reward_name
from dashboard.selection import opening, rollouts_behind

parts.header(__doc__ or "", by_subset=True)
filters, names = data.filters(), data.run_names()
looks = charts_curves.Looks(names, data.baseline())
curve = data.ask("reward_curve", filters)
reported = data.ask("reported_metrics", filters, only_reward=True)
if curve.empty and reported.empty:
    parts.missing("reward")
    st.stop()

split = curve_panels.leading(curve) if len(curve) else next(iter(texts(reported["split"])), None)
lead = curve_panels.of_split(curve, split)
num_runs, filters = lead["run_id"].nunique(), curve_panels.of_drawn(filters, lead)
lead = drawn_runs(lead)
changes, best = (data.ask(each, filters, split=split or "") for each in ("step_deltas", "best_step"))
agreement = data.ask("reward_agreement", filters)
environments = curve_panels.environments(filters)

parts.verdict(curve_words.verdict(changes, lead, names, split))
for caution in (
    *(curve_words.failures(lead, names), curve_panels.unlike_failures(lead, filters, split, names)),
    curve_words.disagreement(agreement, names),
    curve_words.unscored(lead),
    *curve_panels.warned(environments, filters, split, names),
    curve_words.too_many(lead["run_id"].nunique(), num_runs),
):
    parts.warning(caution)
curve_panels.figures(changes, best, lead, split)

view = st.segmented_control(
    "Infrastructure failures",
    ["as graded", "left out"],
    default="as graded",
    key="failures",
    help="Rollouts that ended in an infrastructure or grader error count as they were graded, or not at all.",
)
series = charts_curves.REWARD_MASKED if view == "left out" else charts_curves.REWARD
checkpoints = data.ask("checkpoints", filters)
batch = curve_panels.train_curve(filters, curve)
main, beside = curve_panels.pair(both=len(batch) > 0 and split != "train")
with main:
    st.subheader(reward_name(split).capitalize(), anchor=False)
    faceted = data.ask("reward_curve", filters, by_environment=len(environments) > 1)
    shown = drawn_runs(curve_panels.of_split(faceted, split)).assign(subset="all")
    shown = drawn_runs(batch) if split == "train" and len(environments) < 2 else shown
    own = curve_panels.of_split(reported, split)
    figure = charts_curves.reward_figure(shown, looks, series, reported=own, checkpoints=checkpoints, best=best)
    points = parts.plot(figure, "reward_by_step", lead, select=True)
    st.caption(parts.plain(curve_words.best(best, names)))
if beside:
    with beside:
        st.subheader("Reward of the train batch", anchor=False)
        own = curve_panels.of_split(reported, "train")
        figure = charts_curves.reward_figure(drawn_runs(batch).assign(environment=None), looks, series, reported=own)
        st.caption(parts.plain(curve_words.reported(agreement, names)))
        points += parts.plot(figure, "train_curve", batch, select=True)
rollouts_behind(points, "reward")

curve_panels.scores(filters, split, looks)
curve_panels.provider_metrics(filters, looks)
parts.table(curve.drop(columns="environment"), "reward_curve", on_row=opening("reward_curve"))
if len(curve):
    curve_panels.behaviour(filters, list(dict.fromkeys([split, *texts(curve["split"])])), looks)
parts.how(
    "A reward is the mean over samples of each sample's mean over its scored rollouts, so a sample with more attempts "
    "weighs no more; bands are 95 % t intervals over samples (of more than four runs only on hover). The change in "
    "the first sentence is paired: only samples scored at both steps. The best step is compared with every other one "
    "sample by sample, with intervals that hold together (Bonferroni). From 20 points on raw points are faint and the "
    "bold line is an exponential moving average with weight 0.6, corrected for its start, of the raw series. Open "
    "diamonds are what the trainer itself reported. Means of calls, turns, tokens and seconds are over rollouts, "
    "their intervals clustered by sample; rates are pooled over calls, turns or rollouts, and their n says which."
)

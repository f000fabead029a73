"""The registry of questions: everything a page, a report, an export or the shell may ask. One line each."""

from collections.abc import Callable

import pandas as pd

from queries.annotations import annotations
from queries.arms import arms
from queries.attrition import attrition, attrition_losses, attrition_rollouts, attrition_speed
from queries.base_models import base_model_change
from queries.behaviour import behaviour_by_step, stop_reasons_by_step
from queries.calling import rollouts_repeating, rollouts_with_transition
from queries.checkpoint_choices import checkpoint_choice, checkpoint_figures
from queries.checkpoint_warnings import checkpoint_warnings
from queries.claims import compare_claims, compare_power
from queries.comparability import comparability
from queries.compare import compare
from queries.compare_checks import compare_failures, compare_pairing
from queries.compared_samples import compare_quadrants, compare_samples
from queries.contract_moves import contract_moved_samples, contract_moves
from queries.contracts import contract_costs, contract_limits, contract_penalties, contract_shares
from queries.costs import cost_effect, costs
from queries.curves import best_step, reward_curve, scores_by_step, step_deltas
from queries.dead_samples import dead_samples
from queries.distributions import distribution, distribution_summary, ecdf, rollouts_between, tool_usage
from queries.drift import drift, drift_categories, drift_curve, drift_selections, production_drift
from queries.drift_selections import drift_pairs
from queries.drift_slices import drift_overlap, drift_slices
from queries.failure_times import failure_bounds, failure_bursts, failure_places, failure_timeline, failures_in_flight
from queries.failures import failed_rollouts, failure_causes, failure_coverage, failure_rulebook
from queries.frontiers import frontier
from queries.gains import cost_of_gain, when_to_stop
from queries.graders import grader_agreement, grader_confusion, grader_disagreements, graders
from queries.health import health_names, health_series, health_turns
from queries.health_patterns import health_patterns
from queries.ingests import ingest_health, reject_reasons, rejects, run_overview, table_sizes
from queries.integrity import integrity_findings, integrity_rules, integrity_verdicts, suspicious_rollouts
from queries.jumps import reward_jump_looks, reward_jumps
from queries.learnability import learnability, learnability_summary
from queries.learning_curves import attempt_curve, signal_by_group_size, signal_by_step
from queries.long_tail import survival, tail_percentiles, tail_rollouts, tail_share
from queries.opposite import compare_opposite, opposite_movements
from queries.prices import prices
from queries.regrades import grader_version_changes, grader_versions, regrades
from queries.repeats import loops, repeat_patterns, repeats_by_step, repeats_by_tool, tool_transitions
from queries.reported import checkpoints, reported_metrics, reward_agreement, run_limits
from queries.reviews import reviewers, rule_precision, zero_but_right
from queries.reward_parts import reward_gates, reward_parts, reward_waterfall
from queries.rollouts import rollouts
from queries.run_diff import prompt_differences, run_diff, varying_settings
from queries.run_settings import run_settings
from queries.runs import runs
from queries.samples import sample_attempts, sample_facts, sample_heatmap, samples
from queries.scope import coverage, filter_choices, filter_counts, run_names
from queries.second_graders import second_grader
from queries.sequence_rules import rollouts_by_rule, sequence_rule
from queries.setting_effects import setting_effect
from queries.several_arms import arm_facts, compare_several
from queries.slices import compare_slices
from queries.time_shares import time_shares
from queries.tool_behaviour import after_errors, first_calls, tool_errors, tool_mix, tool_profile, unknown_tools
from queries.tool_calls import (
    destructive_calls,
    destructive_rates,
    rollouts_after_error,
    rollouts_calling,
    tool_outputs,
    unstable_calls,
    unstable_tools,
)
from queries.tool_shift import tool_mix_moves, tool_mix_shift
from queries.trainer_sizes import trainer_sizes
from queries.trajectory import (
    rollout_run,
    trajectory_facts,
    trajectory_messages,
    trajectory_neighbours,
    trajectory_scores,
    trajectory_search,
    trajectory_tool_calls,
)
from queries.waits import step_waits, stragglers
from queries.whatif import reward_whatif

Question = Callable[..., pd.DataFrame]
"""Called with a `Reading`, the shared `Filters` where its second parameter is so named, and its own parameters."""

QUESTIONS: dict[str, Question] = {
    "annotations": annotations,
    "arm_facts": arm_facts,
    "arms": arms,
    "base_model_change": base_model_change,
    "attempt_curve": attempt_curve,
    "attrition": attrition,
    "attrition_losses": attrition_losses,
    "attrition_rollouts": attrition_rollouts,
    "attrition_speed": attrition_speed,
    "behaviour_by_step": behaviour_by_step,
    "best_step": best_step,
    "checkpoint_choice": checkpoint_choice,
    "checkpoint_figures": checkpoint_figures,
    "checkpoint_warnings": checkpoint_warnings,
    "checkpoints": checkpoints,
    "comparability": comparability,
    "compare": compare,
    "compare_claims": compare_claims,
    "compare_failures": compare_failures,
    "compare_pairing": compare_pairing,
    "compare_power": compare_power,
    "compare_quadrants": compare_quadrants,
    "compare_samples": compare_samples,
    "compare_slices": compare_slices,
    "compare_several": compare_several,
    "contract_costs": contract_costs,
    "contract_limits": contract_limits,
    "contract_moved_samples": contract_moved_samples,
    "contract_moves": contract_moves,
    "contract_penalties": contract_penalties,
    "contract_shares": contract_shares,
    "cost_effect": cost_effect,
    "cost_of_gain": cost_of_gain,
    "costs": costs,
    "coverage": coverage,
    "dead_samples": dead_samples,
    "distribution": distribution,
    "distribution_summary": distribution_summary,
    "drift": drift,
    "drift_categories": drift_categories,
    "drift_curve": drift_curve,
    "drift_overlap": drift_overlap,
    "drift_pairs": drift_pairs,
    "drift_selections": drift_selections,
    "drift_slices": drift_slices,
    "ecdf": ecdf,
    "failed_rollouts": failed_rollouts,
    "failure_bounds": failure_bounds,
    "failure_bursts": failure_bursts,
    "failure_causes": failure_causes,
    "failure_coverage": failure_coverage,
    "failure_places": failure_places,
    "failure_rulebook": failure_rulebook,
    "failure_timeline": failure_timeline,
    "failures_in_flight": failures_in_flight,
    "filter_choices": filter_choices,
    "filter_counts": filter_counts,
    "frontier": frontier,
    "health_names": health_names,
    "health_patterns": health_patterns,
    "health_series": health_series,
    "health_turns": health_turns,
    "grader_agreement": grader_agreement,
    "grader_confusion": grader_confusion,
    "grader_disagreements": grader_disagreements,
    "grader_version_changes": grader_version_changes,
    "grader_versions": grader_versions,
    "graders": graders,
    "ingest_health": ingest_health,
    "integrity_findings": integrity_findings,
    "integrity_rules": integrity_rules,
    "integrity_verdicts": integrity_verdicts,
    "learnability": learnability,
    "learnability_summary": learnability_summary,
    "loops": loops,
    "prices": prices,
    "reject_reasons": reject_reasons,
    "production_drift": production_drift,
    "prompt_differences": prompt_differences,
    "regrades": regrades,
    "rejects": rejects,
    "repeat_patterns": repeat_patterns,
    "repeats_by_step": repeats_by_step,
    "repeats_by_tool": repeats_by_tool,
    "reviewers": reviewers,
    "reported_metrics": reported_metrics,
    "reward_agreement": reward_agreement,
    "reward_curve": reward_curve,
    "reward_gates": reward_gates,
    "reward_jump_looks": reward_jump_looks,
    "reward_jumps": reward_jumps,
    "reward_parts": reward_parts,
    "reward_waterfall": reward_waterfall,
    "reward_whatif": reward_whatif,
    "rollout_run": rollout_run,
    "rollouts": rollouts,
    "rollouts_between": rollouts_between,
    "rollouts_repeating": rollouts_repeating,
    "rollouts_with_transition": rollouts_with_transition,
    "rule_precision": rule_precision,
    "run_diff": run_diff,
    "run_limits": run_limits,
    "run_names": run_names,
    "run_overview": run_overview,
    "run_settings": run_settings,
    "runs": runs,
    "sample_attempts": sample_attempts,
    "sample_facts": sample_facts,
    "sample_heatmap": sample_heatmap,
    "samples": samples,
    "scores_by_step": scores_by_step,
    "second_grader": second_grader,
    "setting_effect": setting_effect,
    "signal_by_group_size": signal_by_group_size,
    "signal_by_step": signal_by_step,
    "step_deltas": step_deltas,
    "step_waits": step_waits,
    "stop_reasons_by_step": stop_reasons_by_step,
    "stragglers": stragglers,
    "survival": survival,
    "suspicious_rollouts": suspicious_rollouts,
    "table_sizes": table_sizes,
    "tail_percentiles": tail_percentiles,
    "tail_rollouts": tail_rollouts,
    "tail_share": tail_share,
    "time_shares": time_shares,
    "tool_transitions": tool_transitions,
    "tool_usage": tool_usage,
    "trainer_sizes": trainer_sizes,
    "trajectory_facts": trajectory_facts,
    "trajectory_messages": trajectory_messages,
    "trajectory_neighbours": trajectory_neighbours,
    "trajectory_scores": trajectory_scores,
    "trajectory_search": trajectory_search,
    "trajectory_tool_calls": trajectory_tool_calls,
    "after_errors": after_errors,
    "first_calls": first_calls,
    "tool_errors": tool_errors,
    "tool_mix": tool_mix,
    "tool_profile": tool_profile,
    "unknown_tools": unknown_tools,
    "destructive_calls": destructive_calls,
    "destructive_rates": destructive_rates,
    "rollouts_after_error": rollouts_after_error,
    "rollouts_calling": rollouts_calling,
    "tool_outputs": tool_outputs,
    "unstable_calls": unstable_calls,
    "unstable_tools": unstable_tools,
    "tool_mix_moves": tool_mix_moves,
    "tool_mix_shift": tool_mix_shift,
    "rollouts_by_rule": rollouts_by_rule,
    "sequence_rule": sequence_rule,
    "compare_opposite": compare_opposite,
    "opposite_movements": opposite_movements,
    "varying_settings": varying_settings,
    "when_to_stop": when_to_stop,
    "zero_but_right": zero_but_right,
}

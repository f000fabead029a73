-- Question: what is known of this rollout?
-- Grain: one row, every column of `rollouts` (ingest/README.md) and of its run: run_name, run_kind, reward_name;
-- tags and cluster key of its sample as sample_tags, cluster_key.
SELECT
    r.*,
    n.name AS run_name,
    n.kind AS run_kind,
    n.reward_name,
    n.source_format,
    coalesce(s.tags, g.tags) AS sample_tags,
    coalesce(s.cluster_key, g.cluster_key) AS cluster_key
FROM rollouts AS r
LEFT JOIN (SELECT
    run_id,
    name,
    kind,
    reward_name,
    source_format
FROM runs
WHERE run_id = $run_id) AS n
    ON r.run_id = n.run_id
LEFT JOIN samples AS s
    ON r.run_id = s.run_id AND r.sample_id = s.sample_id AND r.environment IS NOT DISTINCT FROM s.environment
    AND s.run_id = $run_id
LEFT JOIN any_samples AS g
    ON r.run_id = g.run_id AND r.sample_id = g.sample_id AND (g.is_general OR r.environment IS NULL)
    AND g.run_id = $run_id
WHERE r.run_id = $run_id AND r.rollout_id = $rollout_id
ORDER BY r.rollout_id

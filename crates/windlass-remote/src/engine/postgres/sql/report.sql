-- What became of deliveries, one for each id. Kinds: d done, f failed, b dead letter, r retry, p put back, u put back as unknown.
-- A success counts until there is an outcome; all else only from the latest delivery of a task that runs. Rows are locked in the
-- order of their ids, here and everywhere, so that no two calls wait for each other. There is no `ORDER BY id` for that: an index
-- scan goes through an array in order, and with the clause the planner may go through the whole queue instead.
-- With `_current` there are outcomes only, in the order of their ids, and only those of the latest delivery are recorded: that is nearly always
-- all of them, and takes no lock before. The caller reports the others again without it, in a transaction of its own: there, rows
-- would be locked out of order.
CREATE FUNCTION report(
  _q text, _current boolean, _ids text[], _fences bigint[], _kinds text[], _data bytea[], _delays bigint[],
  OUT accepted text[], OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  ids text[];
  olds text[];
  kinds text[];
  datas bytea[];
  back_ids text[];
  back_kinds text[];
  back_data bytea[];
  back_delays bigint[];
BEGIN
  accepted := '{}';
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN RETURN; END IF;
  IF _current THEN
    SELECT f.finished, f.told INTO accepted, told FROM finish_all(s, _ids, NULL, _fences, _kinds, _data, 1, 0) AS f;
    RETURN;
  END IF;
  WITH locked AS MATERIALIZED (
    SELECT id, state, fence FROM task WHERE qid = s.qid AND id = ANY (_ids) FOR UPDATE
  ), judged AS (
    SELECT u.*, l.state, u.kind IN ('d', 'f', 'b') AS final
    FROM locked AS l JOIN unnest(_ids, _fences, _kinds, _data, _delays) AS u (id, fence, kind, data, delay) ON l.id = u.id
    WHERE (l.state = 'x' AND l.fence = u.fence) OR (u.kind = 'd' AND l.state IN ('s', 'r', 'x'))
  )
  SELECT coalesce(array_agg(id), '{}'),
         array_agg(id) FILTER (WHERE final), array_agg(state::text) FILTER (WHERE final),
         array_agg(kind) FILTER (WHERE final), array_agg(data) FILTER (WHERE final),
         array_agg(id) FILTER (WHERE NOT final), array_agg(kind) FILTER (WHERE NOT final),
         array_agg(data) FILTER (WHERE NOT final), array_agg(delay) FILTER (WHERE NOT final)
  INTO accepted, ids, olds, kinds, datas, back_ids, back_kinds, back_data, back_delays
  FROM judged;
  IF ids IS NOT NULL THEN told := finish(s, ids, olds, kinds, datas, 1, 0); END IF;
  IF back_ids IS NOT NULL THEN told := told || put_back(s, back_ids, back_kinds, back_data, back_delays); END IF;
  IF cardinality(accepted) < cardinality(_ids) THEN
    INSERT INTO tally (qid, stale) VALUES (s.qid, cardinality(_ids) - cardinality(accepted));
  END IF;
END
$$;

-- Cancels tasks. Answers: b before its start, w while it ran, r it runs; none for those that have ended or are not known.
CREATE FUNCTION cancel(
  _q text, _ids text[], _running boolean, OUT known text[], OUT answers text[], OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  ids text[];
  olds text[];
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN RETURN; END IF;
  WITH locked AS MATERIALIZED (
    SELECT id, state FROM task WHERE qid = s.qid AND id = ANY (_ids) FOR UPDATE
  )
  SELECT array_agg(id), array_agg(CASE WHEN state <> 'x' THEN 'b' WHEN _running THEN 'w' ELSE 'r' END),
         array_agg(id) FILTER (WHERE state <> 'x' OR _running),
         array_agg(state::text) FILTER (WHERE state <> 'x' OR _running)
  INTO known, answers, ids, olds FROM locked WHERE state IN ('s', 'r', 'x');
  IF ids IS NULL THEN RETURN; END IF;
  told := finish(s, ids, olds, array_fill('c'::text, ARRAY[cardinality(ids)]),
                 array_fill(''::bytea, ARRAY[cardinality(ids)]), 0, 0);
  told := told || ARRAY(SELECT 'm' || _q || ':c' || u.id FROM unnest(ids, olds) AS u (id, old) WHERE u.old = 'x');
END
$$;

-- Returns records; those without an outcome are watched from now on. Watched first, read then: an outcome in between is read.
CREATE FUNCTION look_up(_q text, _ids text[], _watcher text)
RETURNS TABLE (
  id text, state text, name text, version integer, failures integer, deaths integer, fence bigint, worker text,
  failure bytea, result bytea, payload bytea
) LANGUAGE plpgsql {settings} AS $$
#variable_conflict use_column
DECLARE
  q integer;
  unwatched text[];
BEGIN
  SELECT qid INTO q FROM queue WHERE name = _q;
  IF _watcher IS NOT NULL THEN
    unwatched := ARRAY(SELECT id FROM task
      WHERE qid = q AND id = ANY (_ids) AND state IN ('s', 'r', 'x') AND NOT _watcher = ANY (coalesce(watchers, '{}'))
      FOR UPDATE);
    IF cardinality(unwatched) > 0 THEN
      UPDATE task SET watchers = watchers || _watcher WHERE qid = q AND id = ANY (unwatched);
    END IF;
  END IF;
  RETURN QUERY SELECT id, state::text, name, version, failures, deaths, fence, worker, failure, result,
      CASE WHEN _watcher IS NULL THEN payload END
    FROM task WHERE qid = q AND id = ANY (_ids);
END
$$;

-- Takes the outcomes for a client from their table.
CREATE FUNCTION replies(_client text) RETURNS TABLE (ids text[], kinds text[], data bytea[])
LANGUAGE plpgsql {settings} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY DELETE FROM reply WHERE client = _client RETURNING ids, kinds, data;
END
$$;

-- Starts tasks for a worker. The lock makes `configure` wait for starts under way: once a queue is paused, nothing starts.
-- One row with `paused` and nothing else stands for a paused queue. A row without an id says that there may be more, behind tasks whose
-- types may not start.
-- The index of ready tasks begins with entries of tasks that were started and not vacuumed yet. `_from`, a place for each level, skips
-- them. A task that became ready before it (its submission was committed late, or it was parked) is found by a call with places of 0, which
-- is made now and then, or here if there is room left.
CREATE FUNCTION take(_q text, _worker text, _count integer, _levels smallint[], _from bigint[])
RETURNS TABLE (
  paused boolean, o_level smallint, o_pos bigint, o_id text, o_fence bigint, o_name text, o_version integer,
  o_payload bytea, o_options text, o_failures integer, o_deaths integer, o_unknown bigint
) LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  s queue;
  t bigint;
  picked text[];
  places tid[];
  want integer := _count;
  levels integer := cardinality(_levels);
  lv smallint;
  first bigint;
  has_more boolean;
  any_more boolean := false;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended(_q, 2));
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN RETURN; END IF;
  IF s.paused THEN
    RETURN QUERY SELECT true, 0::smallint, 0::bigint, '', 0::bigint, '', 0, ''::bytea, '', 0, 0, 0::bigint;
    RETURN;
  END IF;
  t := now_ms();
  IF s.limited THEN
    -- In order of names, as `unpark` locks them.
    PERFORM FROM type_limit WHERE qid = s.qid ORDER BY name FOR UPDATE;
  END IF;
  IF s.limited THEN
    FOREACH lv IN ARRAY _levels LOOP
      EXIT WHEN want <= 0;
      SELECT a.picked, a.more INTO picked, has_more FROM admit(s, lv, want, t) AS a;
      any_more := any_more OR has_more;
      CONTINUE WHEN cardinality(picked) = 0;
      want := want - cardinality(picked);
      RETURN QUERY UPDATE task SET state = 'x', fence = fence + 1, worker = _worker, renewed = t, paid = false
        WHERE qid = s.qid AND id = ANY (picked)
        RETURNING false, level, pos, id, fence, name, version, payload, options, failures, deaths,
                  coalesce(t - unknown_since, 0);
    END LOOP;
  ELSE
    -- Each level from its place, then each from its beginning.
    FOR n IN 0 .. 2 * levels - 1 LOOP
      EXIT WHEN want <= 0;
      lv := _levels[1 + n % levels];
      first := CASE WHEN n < levels THEN _from[1 + n] ELSE 0 END;
      CONTINUE WHEN n >= levels AND _from[1 + n - levels] = 0;
      places := ARRAY(SELECT ctid FROM task
        WHERE qid = s.qid AND level = lv AND pos >= first AND state = 'r' AND NOT parked
          AND (start_by IS NULL OR start_by >= t)
        ORDER BY pos LIMIT want FOR UPDATE SKIP LOCKED);
      CONTINUE WHEN cardinality(places) = 0;
      want := want - cardinality(places);
      -- These rows are locked, and so stay where they are.
      RETURN QUERY UPDATE task SET state = 'x', fence = fence + 1, worker = _worker, renewed = t, paid = false
        WHERE ctid = ANY (places)
        RETURNING false, level, pos, id, fence, name, version, payload, options, failures, deaths,
                  coalesce(t - unknown_since, 0);
    END LOOP;
  END IF;
  IF any_more AND want > 0 THEN
    RETURN QUERY SELECT false, 0::smallint, 0::bigint, '', 0::bigint, '', 0, ''::bytea, '', 0, 0, 0::bigint;
  END IF;
  IF want < _count THEN
    INSERT INTO tally (qid, ready, running) VALUES (s.qid, want - _count, _count - want);
  END IF;
END
$$;

-- Chooses tasks one by one in a queue that has limits. One whose type may not start is parked, or has a start reserved. `more`
-- says that the call has seen as many as it may and has not found enough.
CREATE FUNCTION admit(s queue, _level smallint, _count integer, _now bigint, OUT picked text[], OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  most integer := least(greatest(20 * _count, 200), 1000);
  seen integer := 0;
  k record;
  l type_limit;
  first_us bigint;
  have bigint;
BEGIN
  picked := '{}';
  FOR k IN SELECT id, name, paid FROM task
    WHERE qid = s.qid AND level = _level AND state = 'r' AND NOT parked AND (start_by IS NULL OR start_by >= _now)
    ORDER BY pos LIMIT most FOR UPDATE SKIP LOCKED
  LOOP
    seen := seen + 1;
    SELECT * INTO l FROM type_limit WHERE qid = s.qid AND name = k.name;
    IF l.interval_us IS NOT NULL AND NOT k.paid THEN
      -- As numeric, and cut: a long interval, times the burst or added again and again, is more than 64 bits hold.
      first_us := greatest(l.next_us - l.interval_us::numeric * (l.burst - 1), 0);
      UPDATE type_limit SET next_us = least(greatest(l.next_us, _now * 1000)::numeric + l.interval_us, 9000000000000000000)
        WHERE qid = s.qid AND name = k.name;
      IF first_us > _now * 1000 THEN
        UPDATE task SET state = 's', due = (first_us + 999) / 1000, start_by = NULL, paid = true
          WHERE qid = s.qid AND id = k.id;
        INSERT INTO tally (qid, ready, scheduled) VALUES (s.qid, -1, 1);
        CONTINUE;
      END IF;
    END IF;
    IF l.most IS NOT NULL THEN
      SELECT count(*) INTO have FROM task WHERE qid = s.qid AND state = 'x' AND name = k.name;
      -- Those that this call has chosen do not run yet.
      SELECT have + count(*) INTO have FROM task WHERE qid = s.qid AND id = ANY (picked) AND name = k.name;
      IF have >= l.most THEN
        UPDATE task SET parked = true, paid = true WHERE qid = s.qid AND id = k.id;
        CONTINUE;
      END IF;
    END IF;
    picked := picked || k.id;
    EXIT WHEN cardinality(picked) >= _count;
  END LOOP;
  more := seen >= most AND cardinality(picked) < _count;
END
$$;

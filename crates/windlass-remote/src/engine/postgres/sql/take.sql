-- Starts tasks for a worker. The lock makes `configure` wait for starts under way: once a queue is paused, nothing starts.
-- One row with `paused` and nothing else stands for a paused queue.
CREATE FUNCTION take(_q text, _worker text, _count integer, _levels smallint[])
RETURNS TABLE (
  paused boolean, o_level smallint, o_pos bigint, o_id text, o_fence bigint, o_name text, o_version integer,
  o_payload bytea, o_options text, o_failures integer, o_deaths integer, o_unknown bigint
) LANGUAGE plpgsql {settings} SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  s queue;
  t bigint;
  picked text[];
  want integer := _count;
  lv smallint;
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
  FOREACH lv IN ARRAY _levels LOOP
    EXIT WHEN want <= 0;
    IF s.limited THEN
      picked := admit(s, lv, want, t);
    ELSE
      picked := ARRAY(SELECT id FROM task
        WHERE qid = s.qid AND level = lv AND state = 'r' AND NOT parked AND (start_by IS NULL OR start_by >= t)
        ORDER BY pos LIMIT want FOR UPDATE SKIP LOCKED);
    END IF;
    CONTINUE WHEN cardinality(picked) = 0;
    want := want - cardinality(picked);
    RETURN QUERY UPDATE task SET state = 'x', fence = fence + 1, worker = _worker, renewed = t, paid = false
      WHERE qid = s.qid AND id = ANY (picked)
      RETURNING false, level, pos, id, fence, name, version, payload, options, failures, deaths,
                coalesce(t - unknown_since, 0);
  END LOOP;
  IF want < _count THEN
    INSERT INTO tally (qid, ready, running) VALUES (s.qid, want - _count, _count - want);
  END IF;
END
$$;

-- Chooses tasks one by one in a queue that has limits. One whose type may not start is parked, or has a start reserved.
CREATE FUNCTION admit(s queue, _level smallint, _count integer, _now bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  k record;
  l type_limit;
  first_us bigint;
  have bigint;
  picked text[] := '{}';
BEGIN
  FOR k IN SELECT id, name, paid FROM task
    WHERE qid = s.qid AND level = _level AND state = 'r' AND NOT parked AND (start_by IS NULL OR start_by >= _now)
    ORDER BY pos LIMIT 20 * _count FOR UPDATE SKIP LOCKED
  LOOP
    SELECT * INTO l FROM type_limit WHERE qid = s.qid AND name = k.name;
    IF l.interval_us IS NOT NULL AND NOT k.paid THEN
      first_us := l.next_us - l.interval_us * (l.burst - 1);
      UPDATE type_limit SET next_us = greatest(l.next_us, _now * 1000) + l.interval_us
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
  RETURN picked;
END
$$;

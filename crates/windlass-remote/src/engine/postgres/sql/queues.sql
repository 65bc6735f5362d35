-- Makes a queue known. A transaction of a user has this done by another connection: a new row would be locked until its end.
CREATE FUNCTION ensure_queue(_q text) RETURNS void LANGUAGE plpgsql {settings} AS $$
BEGIN
  PERFORM FROM queue WHERE name = _q;
  IF NOT FOUND THEN PERFORM new_queue(_q); END IF;
END
$$;

-- Changes settings; what is null is left alone. Returns the settings.
CREATE FUNCTION configure(
  _q text, _paused boolean, _closed boolean, _bounded boolean, _capacity bigint, OUT o_paused boolean, OUT o_closed boolean,
  OUT o_capacity bigint, OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN s := new_queue(_q); END IF;
  IF _paused IS NOT NULL OR _closed IS NOT NULL OR _bounded IS NOT NULL THEN
    -- Waits for submissions and starts that have read the old settings.
    PERFORM pg_advisory_xact_lock(hashtextextended(_q, 1)), pg_advisory_xact_lock(hashtextextended(_q, 2));
    UPDATE queue SET paused = coalesce(_paused, paused), closed = coalesce(_closed, closed),
      capacity = CASE WHEN _bounded IS NULL THEN capacity WHEN _bounded THEN _capacity END
      WHERE qid = s.qid RETURNING * INTO s;
    told := ARRAY['m' || _q || ':!', 't' || _q];
  END IF;
  o_paused := s.paused;
  o_closed := s.closed;
  o_capacity := s.capacity;
END
$$;

-- Sets the limits of a type; all tasks that wait for them try again.
CREATE FUNCTION limit_type(_q text, _name text, _most bigint, _interval_us bigint, _burst bigint, OUT told text[])
LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN s := new_queue(_q); END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(_q, 2));
  UPDATE queue SET limited = true WHERE qid = s.qid AND NOT limited;
  INSERT INTO type_limit AS l (qid, name, most, interval_us, burst) VALUES (s.qid, _name, _most, _interval_us, _burst)
    ON CONFLICT (qid, name) DO UPDATE SET most = _most, interval_us = _interval_us, burst = _burst;
  PERFORM unpark(s, ARRAY[_name]);
  told := ARRAY['m' || _q || ':!', 't' || _q];
END
$$;

CREATE FUNCTION stats(_q text) RETURNS TABLE (counts bigint[]) LANGUAGE plpgsql {settings} AS $$
#variable_conflict use_column
DECLARE
  q integer;
BEGIN
  SELECT qid INTO q FROM queue WHERE name = _q;
  RETURN QUERY SELECT ARRAY[sum(scheduled), sum(ready), sum(running), sum(submitted), sum(refused), sum(done), sum(failed),
    sum(cancelled), sum(dead), sum(retried), sum(redelivered), sum(stale),
    (SELECT count(*) FROM task WHERE qid = q AND state = 'b')]::bigint[] FROM tally WHERE qid = q;
END
$$;

CREATE FUNCTION dead_letters(_q text, _skip bigint, _count bigint) RETURNS TABLE (id text)
LANGUAGE plpgsql {settings} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT id FROM task WHERE qid = (SELECT qid FROM queue WHERE name = _q) AND state = 'b'
    ORDER BY pos DESC OFFSET _skip LIMIT _count;
END
$$;

-- Retries or drops dead letters. Returns for how many that was done.
CREATE FUNCTION settle_dead(_q text, _ids text[], _drop boolean, OUT settled integer, OUT told text[])
LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  ids text[];
  t bigint := now_ms();
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND id = ANY (_ids) AND state = 'b' FOR UPDATE);
  settled := cardinality(ids);
  IF settled = 0 THEN RETURN; END IF;
  IF _drop THEN
    DELETE FROM task WHERE qid = s.qid AND id = ANY (ids);
    RETURN;
  END IF;
  UPDATE task SET state = 'r', pos = nextval('pos'), failures = 0, deaths = 0, failure = NULL, unknown_since = NULL,
    watchers = NULL, start_by = t + nullif(option(options, 4), 0)
    WHERE qid = s.qid AND id = ANY (ids);
  INSERT INTO tally (qid, ready) VALUES (s.qid, settled);
  told := ARRAY['t' || _q];
END
$$;

CREATE FUNCTION queues() RETURNS TABLE (name text) LANGUAGE sql STABLE {settings} AS $$
  SELECT name FROM queue ORDER BY name
$$;

CREATE FUNCTION workers(_q text)
RETURNS TABLE (id text, host text, pid bigint, slots bigint, busy bigint, tasks text[], silent bigint)
LANGUAGE sql VOLATILE {settings} AS $$
  SELECT id, host, pid, slots, busy, tasks, greatest(now_ms() - seen, 0)
  FROM worker WHERE qid = (SELECT qid FROM queue WHERE name = _q) ORDER BY id
$$;

-- Does what is due. Returns the time, the next time at which something is due, and the schedules that are.
CREATE FUNCTION tick(
  _q text, _lease bigint, _silence bigint,
  OUT now bigint, OUT next_due bigint, OUT names text[], OUT rules text[], OUT times bigint[], OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  r reap;
  ids text[];
BEGIN
  now := now_ms();
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN RETURN; END IF;
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND state = 's' AND due <= now
    ORDER BY due LIMIT 200 FOR UPDATE SKIP LOCKED);
  IF cardinality(ids) > 0 THEN
    UPDATE task SET state = 'r', due = NULL, pos = nextval('pos'), start_by = now + nullif(option(options, 4), 0)
      WHERE qid = s.qid AND id = ANY (ids);
    INSERT INTO tally (qid, scheduled, ready) VALUES (s.qid, -cardinality(ids), cardinality(ids));
    told := told || ('t' || _q);
  END IF;
  -- One worker looks for all, a few times in a lease.
  SELECT * INTO r FROM reap WHERE qid = s.qid AND at <= now - least(greatest(least(_lease, _silence) / 8, 1), 1000)
    FOR UPDATE SKIP LOCKED;
  IF FOUND THEN
    -- Nobody could reach the server for a while, so no worker could give a sign of life. Each has as long as usual to give one now: the
    -- first that is back would take the tasks of all others. A new queue has no last time.
    IF r.at > 0 AND now - r.at > greatest(_silence, 1000) THEN r.spared := now + _silence; END IF;
    UPDATE reap SET at = now, spared = r.spared WHERE qid = s.qid;
    IF now >= r.spared THEN told := told || lose_silent(s, now, _lease, _silence); END IF;
    told := told || tidy(s, now);
  END IF;
  SELECT least((SELECT min(due) FROM task WHERE qid = s.qid AND state = 's'),
               (SELECT min(next) FROM schedule WHERE qid = s.qid AND next IS NOT NULL)) INTO next_due;
  SELECT array_agg(d.name), array_agg(d.rule), array_agg(d.next) INTO names, rules, times
    FROM (SELECT name, rule, next FROM schedule WHERE qid = s.qid AND next <= now ORDER BY next LIMIT 50) AS d;
END
$$;

-- Takes deliveries from workers that vanished.
CREATE FUNCTION lose_silent(s queue, _now bigint, _lease bigint, _silence bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  told text[];
  silent text[];
  ids text[];
BEGIN
  silent := ARRAY(SELECT id FROM worker WHERE qid = s.qid AND seen < _now - _silence);
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND state = 'x' AND (renewed <= _now - _lease OR worker = ANY (silent))
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
  IF cardinality(ids) > 0 THEN told := lose(s, ids); END IF;
  -- A silent worker is forgotten when nothing of it is left.
  DELETE FROM worker AS w WHERE w.qid = s.qid AND w.id = ANY (silent) AND w.seen < _now - _silence
    AND NOT EXISTS (SELECT FROM task AS k WHERE k.qid = s.qid AND k.state = 'x' AND k.worker = w.id);
  RETURN told;
END
$$;

-- Fails what has waited too long, and forgets what is old. Each step has a bound: a call that takes too long is undone, and so would be the
-- next one.
CREATE FUNCTION tidy(s queue, _now bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  told text[];
  ids text[];
  n integer;
BEGIN
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND state = 'r' AND start_by IS NOT NULL AND start_by < _now
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
  n := cardinality(ids);
  IF n > 0 THEN
    told := told || finish(s, ids, array_fill('r'::text, ARRAY[n]), array_fill('f'::text, ARRAY[n]),
                           array_fill('q'::bytea, ARRAY[n]), 0, 0);
  END IF;
  IF s.limited AND unpark(s, ARRAY(SELECT name FROM type_limit WHERE qid = s.qid)) THEN
    told := told || ('t' || s.name);
  END IF;
  DELETE FROM task WHERE qid = s.qid AND id = ANY (ARRAY(
    SELECT id FROM task WHERE qid = s.qid AND expires IS NOT NULL AND expires <= _now
    ORDER BY expires LIMIT 10000 FOR UPDATE SKIP LOCKED));
  DELETE FROM task WHERE qid = s.qid AND id = ANY (ARRAY(
    SELECT id FROM task WHERE qid = s.qid AND state = 'b' ORDER BY pos DESC OFFSET 10000 LIMIT 1000));
  DELETE FROM reply WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM reply WHERE at < _now - 900000 ORDER BY at LIMIT 10000 FOR UPDATE SKIP LOCKED));
  WITH old AS (
    DELETE FROM tally WHERE ctid = ANY (ARRAY(SELECT ctid FROM tally WHERE qid = s.qid LIMIT 10000)) RETURNING *
  )
  INSERT INTO tally
  SELECT s.qid, sum(scheduled), sum(ready), sum(running), sum(submitted), sum(refused), sum(done), sum(failed),
         sum(cancelled), sum(dead), sum(retried), sum(redelivered), sum(stale)
  FROM old HAVING count(*) > 0;
  RETURN told;
END
$$;

CREATE FUNCTION put_schedule(
  _q text, _name text, _rule text, _task text, _version integer, _level smallint, _options text, _payload bytea,
  _overlap smallint, _after_finish bigint, _next bigint, OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN s := new_queue(_q); END IF;
  INSERT INTO schedule (qid, name, rule, task, version, level, options, payload, overlap, after_finish, next)
  VALUES (s.qid, _name, _rule, _task, _version, _level, _options, _payload, _overlap, _after_finish, _next)
  ON CONFLICT (qid, name) DO UPDATE SET rule = _rule, task = _task, version = _version, level = _level, options = _options,
    payload = _payload, overlap = _overlap, after_finish = _after_finish, next = _next;
  told := ARRAY['m' || _q || ':!'];
END
$$;

CREATE FUNCTION remove_schedule(_q text, _name text) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
BEGIN
  DELETE FROM schedule WHERE qid = (SELECT qid FROM queue WHERE name = _q) AND name = _name;
  RETURN FOUND;
END
$$;

-- Submits tasks of a schedule, whose row is locked. Returns whom to tell.
CREATE FUNCTION submit_scheduled(_q text, c schedule, _ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  t bigint := now_ms();
  n integer;
BEGIN
  IF cardinality(_ids) = 0 THEN RETURN NULL; END IF;
  UPDATE schedule SET last = _ids[cardinality(_ids)] WHERE qid = c.qid AND name = c.name;
  INSERT INTO task (qid, id, state, level, version, pos, start_by, name, options, schedule, payload)
  SELECT c.qid, id, 'r', c.level, c.version, nextval('pos'), t + nullif(option(c.options, 4), 0), c.task, c.options,
         CASE WHEN c.after_finish IS NOT NULL OR c.overlap = 2 THEN c.name END, c.payload
  FROM unnest(_ids) AS id ON CONFLICT (qid, id) DO NOTHING;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = 0 THEN RETURN NULL; END IF;
  INSERT INTO tally (qid, submitted, ready) VALUES (c.qid, n, n);
  RETURN ARRAY['t' || _q];
END
$$;

-- Submits the next task of each of these schedules for which some wait. The row of the schedule is locked from here to the commit of
-- the outcome: `fire`, which locks it too, sees the outcome, or its task is seen here.
CREATE FUNCTION submit_waiting(s queue, _names text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  c schedule;
  told text[];
BEGIN
  FOR c IN SELECT * FROM schedule WHERE qid = s.qid AND name = ANY (_names) AND overlap = 2 ORDER BY name FOR UPDATE LOOP
    UPDATE schedule SET waiting = c.waiting[2:] WHERE qid = c.qid AND name = c.name;
    told := told || submit_scheduled(s.name, c, c.waiting[1:1]);
  END LOOP;
  RETURN told;
END
$$;

-- Submits the tasks of a schedule and sets its next time, unless somebody else was faster.
CREATE FUNCTION fire(_q text, _name text, _at bigint, _next bigint, _ids text[], OUT fired boolean, OUT told text[])
LANGUAGE plpgsql {settings} AS $$
DECLARE
  c schedule;
  q integer;
  busy boolean;
  queued text[];
BEGIN
  fired := false;
  SELECT qid INTO q FROM queue WHERE name = _q;
  SELECT * INTO c FROM schedule WHERE qid = q AND name = _name FOR UPDATE;
  IF NOT FOUND OR c.next IS DISTINCT FROM _at THEN RETURN; END IF;
  fired := true;
  busy := EXISTS (SELECT FROM task WHERE qid = q AND id = c.last AND state IN ('s', 'r', 'x'));
  queued := c.waiting;
  IF c.overlap = 2 AND c.after_finish IS NULL THEN
    -- One at a time; if more than 1,000 wait, the oldest give way.
    queued := queued || CASE WHEN busy THEN _ids ELSE _ids[2:] END;
    queued := queued[greatest(cardinality(queued) - 999, 1):];
  END IF;
  UPDATE schedule SET next = _next, waiting = queued WHERE qid = q AND name = _name;
  told := CASE
    WHEN c.overlap = 1 OR (c.overlap = 0 AND NOT busy) THEN submit_scheduled(_q, c, _ids)
    WHEN c.overlap = 2 AND NOT busy THEN submit_scheduled(_q, c, _ids[1:1])
  END;
  IF c.after_finish IS NOT NULL AND told IS NULL THEN
    -- No outcome will set the next time of this fixed delay: the task that runs is of the schedule that it replaced.
    UPDATE schedule SET next = now_ms() + after_finish WHERE qid = q AND name = _name;
    told := ARRAY['m' || _q || ':!'];
  END IF;
END
$$;

CREATE FUNCTION schedules(_q text) RETURNS TABLE (
  name text, rule text, task text, version integer, options text, payload bytea, overlap smallint, after_finish bigint, next bigint
) LANGUAGE sql STABLE {settings} AS $$
  SELECT name, rule, task, version, options, payload, overlap, after_finish, next
  FROM schedule WHERE qid = (SELECT qid FROM queue WHERE name = _q) ORDER BY name
$$;

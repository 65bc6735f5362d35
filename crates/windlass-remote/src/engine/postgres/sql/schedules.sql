CREATE FUNCTION put_schedule(
  _q text, _name text, _rule text, _task text, _version integer, _level smallint, _options text, _payload bytea,
  _overlap boolean, _after_finish bigint, _next bigint, OUT told text[]
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

-- Submits the tasks of a schedule and sets its next time, unless somebody else was faster.
CREATE FUNCTION fire(_q text, _name text, _at bigint, _next bigint, _ids text[], OUT fired boolean, OUT told text[])
LANGUAGE plpgsql {settings} AS $$
DECLARE
  c schedule;
  q integer;
  t bigint := now_ms();
  n integer;
BEGIN
  fired := false;
  SELECT qid INTO q FROM queue WHERE name = _q;
  SELECT * INTO c FROM schedule WHERE qid = q AND name = _name FOR UPDATE;
  IF NOT FOUND OR c.next IS DISTINCT FROM _at THEN RETURN; END IF;
  fired := true;
  UPDATE schedule SET next = _next WHERE qid = q AND name = _name;
  IF NOT c.overlap AND EXISTS (SELECT FROM task WHERE qid = q AND id = c.last AND state IN ('s', 'r', 'x')) THEN
    RETURN;
  END IF;
  INSERT INTO task (qid, id, state, level, version, pos, start_by, name, options, schedule, payload)
  SELECT q, id, 'r', c.level, c.version, nextval('pos'), t + nullif(option(c.options, 4), 0), c.task, c.options,
         CASE WHEN c.after_finish IS NOT NULL THEN _name END, c.payload
  FROM unnest(_ids) AS id ON CONFLICT (qid, id) DO NOTHING;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n > 0 THEN
    INSERT INTO tally (qid, submitted, ready) VALUES (q, n, n);
    told := ARRAY['t' || _q];
  END IF;
  IF cardinality(_ids) > 0 THEN
    UPDATE schedule SET last = _ids[cardinality(_ids)] WHERE qid = q AND name = _name;
  END IF;
END
$$;

CREATE FUNCTION schedules(_q text) RETURNS TABLE (
  name text, rule text, task text, version integer, options text, payload bytea, overlap boolean, after_finish bigint, next bigint
) LANGUAGE sql STABLE {settings} AS $$
  SELECT name, rule, task, version, options, payload, overlap, after_finish, next
  FROM schedule WHERE qid = (SELECT qid FROM queue WHERE name = _q) ORDER BY name
$$;

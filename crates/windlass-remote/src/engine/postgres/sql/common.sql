-- What the transitions share. These are called by other functions only, and so run with their settings.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- The options of a task are numbers with commas between: priority, worker deaths, at most once, queue limit, retention.
-- Times of more than 30,000 years are cut.
CREATE FUNCTION option(_options text, _at integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN length(split_part(_options, ',', _at)) > 15 THEN 1000000000000000
    ELSE coalesce(nullif(split_part(_options, ',', _at), ''), '0')::bigint END
$$;

CREATE FUNCTION new_queue(_q text) RETURNS queue LANGUAGE plpgsql AS $$
DECLARE
  s queue;
BEGIN
  INSERT INTO queue (name) VALUES (_q) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING * INTO s;
  INSERT INTO reap (qid, at) VALUES (s.qid, 0) ON CONFLICT DO NOTHING;
  RETURN s;
END
$$;

-- Gives parked tasks of a type another try, as many as may run; those that have waited too long will not, and are failed by a tick. The row of the limit is locked: whoever parks a task has it
-- locked too, so no task is parked while the end that it waits for goes by unseen.
CREATE FUNCTION unpark(s queue, _names text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  l type_limit;
  room bigint;
  freed text[];
  any_freed boolean := false;
BEGIN
  FOR l IN SELECT * FROM type_limit WHERE qid = s.qid AND name = ANY (_names) ORDER BY name FOR UPDATE LOOP
    room := 200;
    IF l.most IS NOT NULL THEN
      SELECT least(room, l.most - count(*)) INTO room
        FROM task WHERE qid = s.qid AND state = 'x' AND name = l.name;
    END IF;
    CONTINUE WHEN room <= 0;
    freed := ARRAY(SELECT id FROM task WHERE qid = s.qid AND name = l.name AND state = 'r' AND parked
        AND (start_by IS NULL OR start_by >= now_ms())
      ORDER BY pos LIMIT room FOR UPDATE SKIP LOCKED);
    CONTINUE WHEN cardinality(freed) = 0;
    UPDATE task SET parked = false WHERE qid = s.qid AND id = ANY (freed);
    any_freed := true;
  END LOOP;
  RETURN any_freed;
END
$$;

-- Gives tasks their outcome; the caller has locked them, or names their fences: then only those that run with these are changed.
-- The old states, if none are given, are all running. Returns the ids of the tasks, and whom to tell.
CREATE FUNCTION finish_all(
  s queue, _ids text[], _olds text[], _fences bigint[], _news text[], _data bytea[], _failures integer, _deaths integer,
  OUT finished text[], OUT told text[]
) LANGUAGE plpgsql AS $$
DECLARE
  t bigint := now_ms();
  names text[];
  schedules text[];
BEGIN
  WITH fin AS (
    UPDATE task k SET
      state = u.new::"char",
      failures = k.failures + CASE WHEN u.new = 'f' THEN _failures ELSE 0 END,
      deaths = k.deaths + _deaths,
      failure = CASE WHEN u.new IN ('f', 'b') THEN u.data ELSE k.failure END,
      result = CASE WHEN u.new = 'd' THEN u.data END,
      payload = CASE WHEN u.new = 'b' THEN k.payload END,
      checkpoint = CASE WHEN u.new = 'b' THEN k.checkpoint END,
      expires = CASE WHEN u.new <> 'b' THEN t + option(k.options, 5) END,
      pos = CASE WHEN u.new = 'b' THEN nextval('pos') ELSE k.pos END,
      worker = NULL, due = NULL, start_by = NULL, renewed = NULL, parked = false, paid = false
    FROM unnest(_ids, _olds, _fences, _news, _data) AS u (id, old, fence, new, data)
    WHERE k.qid = s.qid AND k.id = ANY (_ids) AND k.id = u.id
      AND (u.fence IS NULL OR (k.state = 'x' AND k.fence = u.fence))
    RETURNING k.id, k.name, k.watchers, k.schedule, coalesce(u.old, 'x') AS old, u.new, u.data
  ), replied AS (
    -- Large results are looked up: the way to the client stays short.
    INSERT INTO reply (client, at, ids, kinds, data)
    SELECT w, t, array_agg(id),
           array_agg(CASE WHEN length(data) > 4096 THEN 'l' ELSE new END),
           array_agg(CASE WHEN length(data) > 4096 THEN ''::bytea ELSE data END)
    FROM fin, unnest(fin.watchers) AS w GROUP BY w
    RETURNING client
  ), counted AS (
    INSERT INTO tally (qid, scheduled, ready, running, done, failed, cancelled, dead)
    SELECT s.qid, -count(*) FILTER (WHERE old = 's'), -count(*) FILTER (WHERE old = 'r'),
           -count(*) FILTER (WHERE old = 'x'), count(*) FILTER (WHERE new = 'd'), count(*) FILTER (WHERE new = 'f'),
           count(*) FILTER (WHERE new = 'c'), count(*) FILTER (WHERE new = 'b')
    FROM fin
  )
  SELECT coalesce(array_agg(id), '{}'), (SELECT array_agg('r' || client) FROM replied),
         array_agg(DISTINCT name) FILTER (WHERE old = 'x'),
         array_agg(DISTINCT schedule) FILTER (WHERE schedule IS NOT NULL)
  INTO finished, told, names, schedules FROM fin;
  IF schedules IS NOT NULL THEN
    UPDATE schedule SET next = t + after_finish
      WHERE qid = s.qid AND name = ANY (schedules) AND after_finish IS NOT NULL;
    told := told || ('m' || s.name || ':!') || submit_waiting(s, schedules);
  END IF;
  IF s.limited AND names IS NOT NULL AND unpark(s, names) THEN
    told := told || ('t' || s.name);
  END IF;
END
$$;

-- Gives tasks their outcome; the caller has locked them. Returns whom to tell.
CREATE FUNCTION finish(
  s queue, _ids text[], _olds text[], _news text[], _data bytea[], _failures integer, _deaths integer
) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (finish_all(s, _ids, _olds, NULL, _news, _data, _failures, _deaths)).told;
END
$$;

-- Makes running tasks ready again, now or after a delay; the caller has locked them. Kinds: r a failed attempt, u of a type that
-- is unknown to the worker, l the worker vanished, p without a reason. Returns whom to tell.
CREATE FUNCTION put_back(s queue, _ids text[], _kinds text[], _data bytea[], _delays bigint[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  t bigint := now_ms();
  told text[];
  names text[];
  first_due bigint;
  new_due bigint;
  now_ready bigint;
BEGIN
  SELECT min(due) INTO first_due FROM task WHERE qid = s.qid AND state = 's';
  WITH back AS (
    UPDATE task k SET
      state = CASE WHEN u.delay > 0 THEN 's' ELSE 'r' END::"char",
      due = CASE WHEN u.delay > 0 THEN t + u.delay END,
      start_by = CASE WHEN u.delay <= 0 THEN t + nullif(option(k.options, 4), 0) END,
      pos = nextval('pos'), worker = NULL, renewed = NULL,
      failures = k.failures + (u.kind = 'r')::integer,
      deaths = k.deaths + (u.kind = 'l')::integer,
      failure = CASE WHEN u.kind = 'r' THEN u.data ELSE k.failure END,
      -- After a failed attempt the type is known: it ran.
      unknown_since = CASE u.kind WHEN 'u' THEN coalesce(k.unknown_since, t) WHEN 'r' THEN NULL ELSE k.unknown_since END
    FROM unnest(_ids, _kinds, _data, _delays) AS u (id, kind, data, delay)
    WHERE k.qid = s.qid AND k.id = ANY (_ids) AND k.id = u.id
    RETURNING k.name, k.state, k.due, u.kind
  ), counted AS (
    INSERT INTO tally (qid, running, ready, scheduled, retried, redelivered)
    SELECT s.qid, -count(*), count(*) FILTER (WHERE state = 'r'), count(*) FILTER (WHERE state = 's'),
           count(*) FILTER (WHERE kind = 'r'), count(*) FILTER (WHERE kind = 'l')
    FROM back
  )
  SELECT count(*) FILTER (WHERE state = 'r'), min(due), array_agg(DISTINCT name)
  INTO now_ready, new_due, names FROM back;
  IF new_due < coalesce(first_due, new_due + 1) THEN
    told := told || ('m' || s.name || ':!');
  END IF;
  IF now_ready > 0 OR (s.limited AND names IS NOT NULL AND unpark(s, names)) THEN
    told := told || ('t' || s.name);
  END IF;
  RETURN told;
END
$$;

-- Adds tasks. In the transaction of a user (`_channel` is set then, unless nobody listens) the notice goes out with its commit, and
-- the bound of the queue is checked without a lock, which would be held until then.
-- Returns the ids that were taken; if the queue is closed or has a bound, also those that it knew already.
CREATE FUNCTION submit(
  _q text, _enlisted boolean, _channel text, _ids text[], _names text[], _versions integer[], _levels smallint[],
  _payloads bytea[], _options text[], _delays bigint[], _clients text[],
  OUT accepted text[], OUT known text[], OUT refused_by text, OUT told text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  t bigint := now_ms();
  first_due bigint;
  new_due bigint;
  now_ready bigint;
  room bigint;
  chosen bigint[];
BEGIN
  IF NOT _enlisted THEN
    -- Pairs with `configure`: once a queue is closed, nothing is added.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(_q, 1));
  END IF;
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN s := new_queue(_q); END IF;
  IF _enlisted AND current_setting('synchronous_commit') = 'off' THEN
    -- Tasks are never committed in a way that may lose them.
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF s.closed OR s.capacity IS NOT NULL THEN
    refused_by := CASE WHEN s.closed THEN 'c' ELSE 'f' || s.capacity END;
    IF NOT _enlisted THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(_q, 3));
    END IF;
    room := 0;
    IF NOT s.closed THEN
      SELECT greatest(s.capacity - coalesce(sum(ready + scheduled), 0), 0) INTO room FROM tally WHERE qid = s.qid;
    END IF;
    SELECT coalesce(array_agg(id), '{}') INTO known FROM task WHERE qid = s.qid AND id = ANY (_ids);
    chosen := ARRAY(SELECT min(n) FROM unnest(_ids) WITH ORDINALITY AS u (id, n)
      WHERE NOT id = ANY (known) GROUP BY id ORDER BY 1 LIMIT room);
  END IF;
  IF EXISTS (SELECT FROM unnest(_delays) AS delay WHERE delay > 0) THEN
    SELECT coalesce(min(due), 9223372036854775807) INTO first_due FROM task WHERE qid = s.qid AND state = 's';
  END IF;
  WITH fresh AS (
    INSERT INTO task (qid, id, state, level, version, pos, due, start_by, name, options, watchers, payload)
    SELECT s.qid, u.id, CASE WHEN u.delay > 0 THEN 's' ELSE 'r' END::"char", u.level, u.version, nextval('pos'),
           CASE WHEN u.delay > 0 THEN t + u.delay END,
           CASE WHEN u.delay <= 0 THEN t + nullif(option(u.options, 4), 0) END,
           u.name, u.options, CASE WHEN u.client IS NOT NULL THEN ARRAY[u.client] END, u.payload
    FROM unnest(_ids, _names, _versions, _levels, _payloads, _options, _delays, _clients) WITH ORDINALITY
      AS u (id, name, version, level, payload, options, delay, client, n)
    WHERE chosen IS NULL OR u.n = ANY (chosen)
    ON CONFLICT (qid, id) DO NOTHING
    RETURNING id, state, due
  )
  SELECT coalesce(array_agg(id), '{}'), count(*) FILTER (WHERE state = 'r'), min(due)
  INTO accepted, now_ready, new_due FROM fresh;
  INSERT INTO tally (qid, submitted, ready, scheduled, refused)
  SELECT s.qid, cardinality(accepted), now_ready, cardinality(accepted) - now_ready, refused FROM (
    SELECT count(*) AS refused FROM unnest(_ids) AS id
    WHERE known IS NOT NULL AND NOT id = ANY (known) AND NOT id = ANY (accepted)) AS r
  WHERE cardinality(accepted) > 0 OR refused > 0;
  IF now_ready > 0 THEN told := told || ('t' || _q); END IF;
  IF new_due < first_due THEN told := told || ('m' || _q || ':!'); END IF;
  IF _channel IS NOT NULL THEN
    PERFORM pg_notify(_channel, topic) FROM unnest(told) AS topic;
  END IF;
END
$$;

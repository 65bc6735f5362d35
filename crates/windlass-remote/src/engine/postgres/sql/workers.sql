-- A sign of life. Returns the ids of the deliveries that are still the worker's.
CREATE FUNCTION beat(
  _q text, _worker text, _host text, _numbers bigint[], _tasks text[], _ids text[], _fences bigint[], OUT held text[]
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  t bigint;
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN s := new_queue(_q); END IF;
  t := now_ms();
  INSERT INTO worker AS w (qid, id, seen, host, pid, slots, busy, tasks)
  VALUES (s.qid, _worker, t, _host, _numbers[1], _numbers[2], _numbers[3], _tasks)
  ON CONFLICT (qid, id) DO UPDATE SET seen = t, busy = excluded.busy, slots = excluded.slots, tasks = excluded.tasks;
  held := '{}';
  IF cardinality(_ids) = 0 THEN RETURN; END IF;
  WITH locked AS MATERIALIZED (
    SELECT id, fence FROM task WHERE qid = s.qid AND id = ANY (_ids) AND state = 'x' FOR UPDATE
  )
  SELECT coalesce(array_agg(l.id), '{}') INTO held
  FROM locked AS l JOIN unnest(_ids, _fences) AS u (id, fence) ON l.id = u.id AND l.fence = u.fence;
  UPDATE task SET renewed = t WHERE qid = s.qid AND id = ANY (held) AND state = 'x';
END
$$;

-- Keeps bytes with a task until its outcome. False if the delivery no longer counts.
CREATE FUNCTION save_checkpoint(_q text, _id text, _fence bigint, _bytes bytea) RETURNS boolean LANGUAGE plpgsql {settings} AS $$
BEGIN
  UPDATE task SET checkpoint = _bytes
    WHERE qid = (SELECT qid FROM queue WHERE name = _q) AND id = _id AND state = 'x' AND fence = _fence;
  RETURN FOUND;
END
$$;

CREATE FUNCTION last_checkpoint(_q text, _id text) RETURNS bytea LANGUAGE sql STABLE {settings} AS $$
  SELECT checkpoint FROM task WHERE qid = (SELECT qid FROM queue WHERE name = _q) AND id = _id
$$;

-- Gives the deliveries of a worker back and forgets it. Those that may run once fail instead: they may have done half of their work.
CREATE FUNCTION leave(_q text, _worker text, OUT told text[]) LANGUAGE plpgsql {settings} AS $$
DECLARE
  s queue;
  ids text[];
  once text[];
  n integer;
BEGIN
  SELECT * INTO s FROM queue WHERE name = _q;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM worker WHERE qid = s.qid AND id = _worker;
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND state = 'x' AND worker = _worker);
  ids := ARRAY(SELECT id FROM task WHERE qid = s.qid AND id = ANY (ids) AND state = 'x' AND worker = _worker FOR UPDATE);
  once := ARRAY(SELECT id FROM task WHERE qid = s.qid AND id = ANY (ids) AND option(options, 3) = 1);
  n := cardinality(once);
  IF n > 0 THEN
    told := finish(s, once, array_fill('x'::text, ARRAY[n]), array_fill('f'::text, ARRAY[n]),
                   array_fill('l'::bytea, ARRAY[n]), 0, 0);
    ids := ARRAY(SELECT id FROM unnest(ids) AS id WHERE id <> ALL (once));
  END IF;
  n := cardinality(ids);
  IF n > 0 THEN
    told := told || put_back(s, ids, array_fill('p'::text, ARRAY[n]), array_fill(NULL::bytea, ARRAY[n]),
                             array_fill(0::bigint, ARRAY[n]));
  END IF;
END
$$;

-- Deliveries whose worker has vanished: ready again, or failed, or dead, as their options say.
CREATE FUNCTION lose(s queue, _ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  told text[];
  ids text[];
  news text[];
  datas bytea[];
  back text[];
  n integer;
BEGIN
  WITH judged AS (
    SELECT id, CASE WHEN option(options, 3) = 1 THEN 'f' WHEN deaths + 1 >= greatest(option(options, 2), 1) THEN 'b' END AS new,
           deaths + 1 AS deaths
    FROM task WHERE qid = s.qid AND id = ANY (_ids) AND state = 'x'
  )
  SELECT array_agg(id) FILTER (WHERE new IS NOT NULL), array_agg(new) FILTER (WHERE new IS NOT NULL),
         array_agg(convert_to(CASE WHEN new = 'f' THEN 'l' ELSE 'x' || deaths || ' workers' END, 'UTF8'))
           FILTER (WHERE new IS NOT NULL),
         array_agg(id) FILTER (WHERE new IS NULL)
  INTO ids, news, datas, back FROM judged;
  IF ids IS NOT NULL THEN
    told := finish(s, ids, array_fill('x'::text, ARRAY[cardinality(ids)]), news, datas, 0, 1);
  END IF;
  n := cardinality(back);
  IF n > 0 THEN
    told := told || put_back(s, back, array_fill('l'::text, ARRAY[n]), array_fill(NULL::bytea, ARRAY[n]),
                             array_fill(0::bigint, ARRAY[n]));
  END IF;
  RETURN told;
END
$$;

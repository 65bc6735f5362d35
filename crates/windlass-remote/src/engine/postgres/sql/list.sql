-- A page of the tasks of a queue. It looks at no more than `_count` rows, those of other queues included, in the order of the primary key; so
-- a queue of a few tasks among millions takes many short calls, and none that is long. `last` is where the next page begins.
CREATE FUNCTION list_tasks(
  _q text, _states text[], _after text, _after_qid integer, _count bigint, OUT ids text[], OUT last text, OUT last_qid integer
) LANGUAGE plpgsql {settings} AS $$
DECLARE
  q integer;
  looked bigint;
BEGIN
  SELECT qid INTO q FROM queue WHERE name = _q;
  SELECT array_agg(id) FILTER (WHERE qid = q AND (_states = '{}' OR state::text = ANY (_states))), count(*),
      (array_agg(id))[count(*)], (array_agg(qid))[count(*)]
    INTO ids, looked, last, last_qid
    FROM (SELECT id, qid, state FROM task WHERE (id, qid) > (_after, _after_qid) ORDER BY id, qid LIMIT _count) AS page;
  IF looked < _count THEN last := NULL; END IF;
END
$$;

-- ARGV: worker. Gives up to 200 of its deliveries back, and forgets it when there are no more. Returns how many calls are still needed: 1
-- for one at least. A task that may run once fails instead: it may have done half of its work. A consumer is removed only after nothing
-- of it is pending: what is pending would neither be delivered nor claimed again.
local worker, left = ARGV[1], 200
for level, stream in ipairs(STREAMS) do
  local pending = grouped('XPENDING', stream, 'w', '-', '+', left, worker)
  for _, item in ipairs(pending) do
    local entry = (level - 1) .. ':' .. item[1]
    local found = redis.call('XRANGE', stream, item[1], item[1])
    local id = found[1] and found[1][2][2]
    local task = id and read(id)
    drop_entry(entry)
    if task and task.s == 'x' and task.e == entry then
      if task.kind.once then
        count('failed', 1)
        finish(task, 'f', 'l')
      else
        enqueue(task, now)
      end
    elseif task and task.s == 'r' then
      -- Read by the worker, but not started yet.
      add_ready(stream, id)
    end
  end
  left = left - #pending
  if left == 0 then
    flush()
    return 1
  end
  grouped('XGROUP', 'DELCONSUMER', stream, 'w', worker)
end
redis.call('ZREM', P .. 'wk', worker)
redis.call('HDEL', P .. 'wki', worker)
flush()
return 0

-- ARGV: worker. Gives its deliveries back and forgets it. A consumer is removed only after nothing of it is pending: what is
-- pending would neither be delivered nor claimed again.
local worker = ARGV[1]
for level, stream in ipairs(STREAMS) do
  local left = true
  for _ = 1, 60 do
    local pending = grouped('XPENDING', stream, 'w', '-', '+', 200, worker)
    for _, item in ipairs(pending) do
      local entry = (level - 1) .. ':' .. item[1]
      local found = redis.call('XRANGE', stream, item[1], item[1])
      local id = found[1] and found[1][2][2]
      local task = id and read(id)
      drop_entry(entry)
      if task and task.s == 'x' and task.e == entry then
        enqueue(task, now)
      elseif task and task.s == 'r' then
        -- Read by the worker, but not started yet.
        redis.call('XADD', stream, '*', 'i', id)
      end
    end
    left = #pending == 200
    if not left then break end
  end
  if not left then grouped('XGROUP', 'DELCONSUMER', stream, 'w', worker) end
end
redis.call('ZREM', P .. 'wk', worker)
redis.call('HDEL', P .. 'wki', worker)
flush()
return 1

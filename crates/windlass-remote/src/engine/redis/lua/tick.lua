-- ARGV: lease, silence. Makes due tasks ready and takes tasks from workers that vanished, 200 of each at most.
-- Tasks that are parked get another try if their type has room: the end that should have freed it may have gone to a task that was cancelled.
-- Returns now, the next due time (or '', or now if there is more to do), then name, rule and time of each schedule that is due.
local lease, silence = tonumber(ARGV[1]), tonumber(ARGV[2])
local cfg = redis.call('HMGET', P .. 'cfg', 'limited', 'ticked', 'spared')
-- Nobody could reach the server for a while, so no worker could give a sign of life. Each has as long as usual to give one now: the first
-- that is back would take the tasks of all others.
local last, spared = tonumber(cfg[2] or ''), tonumber(cfg[3] or 0)
if last and now - last > math.max(silence, 1000) then
  spared = now + silence
  redis.call('HSET', P .. 'cfg', 'spared', string.format('%.0f', spared))
end
redis.call('HSET', P .. 'cfg', 'ticked', NOW)

local due = redis.call('ZRANGEBYSCORE', P .. 'z', '-inf', now, 'LIMIT', 0, 200)
for _, id in ipairs(due) do
  redis.call('ZREM', P .. 'z', id)
  local task = read(id)
  if task and task.s == 's' then enqueue(task, now) end
end

-- The worker of this delivery has vanished.
local function lose(level, stream, sid)
  local entry = level .. ':' .. sid
  local found = redis.call('XRANGE', stream, sid, sid)
  local id = found[1] and found[1][2][2]
  local task = id and read(id)
  drop_entry(entry)
  if task and task.s == 'r' then
    -- Read, but never started: no worker has vanished under it.
    add_ready(stream, id)
    return
  end
  if not task or task.s ~= 'x' or task.e ~= entry then return end
  task.k = one_more(task.k)
  if task.kind.once then
    count('failed', 1)
    finish(task, 'f', 'l')
  elseif tonumber(task.k) >= task.kind.deaths then
    count('dead', 1)
    finish(task, 'b', 'x' .. task.k .. ' workers')
  else
    count('redelivered', 1)
    enqueue(task, now)
  end
end

-- One worker looks for all, a few times in a lease; again at once if it had to leave some.
local pause = math.max(1, math.floor(math.min(lease, silence) / 8))
local left = 200
local function lose_pending(level, stream, ...)
  if left == 0 then return false end
  local pending = grouped('XPENDING', stream, 'w', ...)
  for _, item in ipairs(pending) do lose(level - 1, stream, item[1]) end
  left = left - #pending
  return left > 0
end
local function reap()
  for level, stream in ipairs(STREAMS) do
    lose_pending(level, stream, 'IDLE', math.max(1, lease), '-', '+', left)
  end
  local silent = redis.call('ZRANGEBYSCORE', P .. 'wk', '-inf', '(' .. (now - silence), 'LIMIT', 0, 10)
  for _, worker in ipairs(silent) do
    local empty = true
    -- The server may not know yet that its connection is dead.
    for _, feed in ipairs(redis.call('ZRANGE', P .. 'wait', 0, -1)) do
      if match(feed, ':(.*)$') == worker then redis.call('ZREM', P .. 'wait', feed) end
    end
    for level, stream in ipairs(STREAMS) do
      if lose_pending(level, stream, '-', '+', left, worker) then
        grouped('XGROUP', 'DELCONSUMER', stream, 'w', worker)
      else
        empty = false
      end
    end
    if empty then
      redis.call('ZREM', P .. 'wk', worker)
      redis.call('HDEL', P .. 'wki', worker)
    end
  end
end
if redis.call('SET', P .. 'reap', '1', 'NX', 'PX', math.min(pause, 1000)) then
  if now >= spared then reap() end
  if left == 0 then redis.call('DEL', P .. 'reap') end
  if cfg[1] == '1' then
    local types = redis.call('HGETALL', P .. 'run')
    for at = 1, #types, 2 do
      if redis.call('EXISTS', P .. 'park:' .. types[at]) == 1 then unpark(types[at]) end
    end
  end
end

local next_task = redis.call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')[2]
local next_schedule = redis.call('ZRANGE', P .. 'cronz', 0, 0, 'WITHSCORES')[2]
local soonest = math.min(tonumber(next_task or 1e300), tonumber(next_schedule or 1e300))
if left == 0 then soonest = now end
local out = { string.format('%.0f', now), soonest < 1e300 and string.format('%.0f', soonest) or '' }
for _, name in ipairs(redis.call('ZRANGEBYSCORE', P .. 'cronz', '-inf', now, 'LIMIT', 0, 50)) do
  local h = redis.call('HMGET', P .. 's:' .. name, 'rule', 'next')
  if h[1] and h[2] then
    out[#out + 1] = name
    out[#out + 1] = h[1]
    out[#out + 1] = h[2]
  else
    redis.call('ZREM', P .. 'cronz', name)
  end
end
flush()
return out

-- ARGV: worker, count, three levels in order, then level and stream id and task id of each entry that the worker has read already. If
-- there are any, no others are read: the worker has asked for as many as it wants.
-- Returns 'p' if the queue is paused, else for each started task: id, `fence|failures|deaths|milliseconds since it was first
-- unknown|entry`, description, payload.
local worker, want = ARGV[1], tonumber(ARGV[2])
local cfg = redis.call('HMGET', P .. 'cfg', 'paused', 'limited')
local out, started = {}, 0

-- Whether a task of a limited type may start; if not, it is parked or has a time reserved.
local function admitted(task)
  local name = task.kind.n
  local lim = redis.call('HMGET', P .. 'lim:' .. name, 'c', 'i', 'b', 't')
  if lim[2] and task.paid ~= '1' then
    local interval, micros = tonumber(lim[2]), now * 1000
    local due = tonumber(lim[4] or 0)
    local first = due - interval * (tonumber(lim[3]) - 1)
    redis.call('HSET', P .. 'lim:' .. name, 't', string.format('%.0f', math.max(due, micros) + interval))
    if first > micros then
      task.paid = '1'
      enqueue(task, math.ceil(first / 1000))
      return false
    end
  end
  if lim[1] then
    local have = tonumber(redis.call('HGET', P .. 'run', name) or 0) + (running[name] or 0)
    if have >= tonumber(lim[1]) then
      task.paid = '1'
      write(task)
      redis.call('RPUSH', P .. 'park:' .. name, task.id)
      return false
    end
  end
  return true
end

-- Whether a task may start although its kind waits for no longer than a time, or has limits.
local function allowed(id, entry)
  local task = read(id)
  if task.kind.queue > 0 and now - tonumber(task.rs) > task.kind.queue then
    drop_entry(entry)
    count('failed', 1)
    finish(task, 'f', 'q')
    return false
  end
  if cfg[2] == '1' and not admitted(task) then
    drop_entry(entry)
    return false
  end
  return true
end

local function start(level, sid, id)
  local key, entry = T .. id, level .. ':' .. sid
  local h = fields(key, 'm', 'd', 'p')
  local kind = h and h[2] and kind_of(h[2])
  local s, a, f, k, us, rs
  if kind then s, a, f, k, us, rs = match(h[1], HEAD) end
  if s ~= 'r' then return drop_entry(entry) end
  if (kind.queue > 0 or cfg[2] == '1') and not allowed(id, entry) then return end
  local fence = one_more(a)
  redis.call('HSET', key, 'm', 'x|' .. fence .. '|' .. f .. '|' .. k .. '|' .. us .. '|' .. rs .. '|0|' .. entry .. '|' .. worker)
  moved(kind.n, 'r', 'x')
  started = started + 1
  local unknown = us == '0' and '0' or string.format('%.0f', now - tonumber(us))
  local at = #out
  out[at + 1] = id
  out[at + 2] = fence .. '|' .. f .. '|' .. k .. '|' .. unknown .. '|' .. entry
  out[at + 3] = h[2]
  out[at + 4] = h[3] or ''
end

-- Gives an entry back that was read already.
local function unread(at)
  drop_entry(ARGV[at] .. ':' .. ARGV[at + 1])
  redis.call('XADD', P .. 'r' .. ARGV[at], '*', 'i', ARGV[at + 2])
end

if cfg[1] == '1' then
  for at = 6, #ARGV, 3 do unread(at) end
  return 'p'
end
for at = 6, #ARGV, 3 do
  if started < want then
    start(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  else
    -- A blocking read may return one entry from each stream, more than there is room for.
    unread(at)
  end
end
for at = #ARGV > 5 and 9 or 3, 5 do
  -- Entries of cancelled or limited tasks start nothing, so there may be more to read; but not without end.
  for _ = 1, 20 do
    if started >= want then break end
    local asked = want - started
    local got = grouped('XREADGROUP', 'GROUP', 'w', worker, 'COUNT', asked, 'STREAMS', P .. 'r' .. ARGV[at], '>')
    if not got then break end
    for _, entry in ipairs(got[1][2]) do
      if entry[2] then start(ARGV[at], entry[1], entry[2][2]) end
    end
    if #got[1][2] < asked then break end
  end
end
flush()
return out

-- ARGV: worker, count, three levels in order, then level and stream id and task id of each entry that the worker has read already.
-- Returns 'p' if the queue is paused, else for each started task: id, fence, entry, name, version, payload, options, failures,
-- deaths, milliseconds since it was first unknown.
local worker, want = ARGV[1], tonumber(ARGV[2])
local cfg = redis.call('HMGET', P .. 'cfg', 'paused', 'limited')
local out, started = {}, 0

local function park(id)
  redis.call('HSET', P .. 't:' .. id, 'rp', 1)
end

-- Whether a task of a limited type may start; if not, it is parked or has a time reserved.
local function admitted(id, name, opts, paid)
  local lim = redis.call('HMGET', P .. 'lim:' .. name, 'c', 'i', 'b', 't')
  if lim[2] and not paid then
    local interval, micros = tonumber(lim[2]), now * 1000
    local due = tonumber(lim[4] or 0)
    local first = due - interval * (tonumber(lim[3]) - 1)
    redis.call('HSET', P .. 'lim:' .. name, 't', string.format('%.0f', math.max(due, micros) + interval))
    if first > micros then
      park(id)
      enqueue(id, name, opts, 'r', math.ceil(first / 1000))
      return false
    end
  end
  if lim[1] then
    local have = tonumber(redis.call('HGET', P .. 'run', name) or 0) + (running[name] or 0)
    if have >= tonumber(lim[1]) then
      park(id)
      redis.call('RPUSH', P .. 'park:' .. name, id)
      return false
    end
  end
  return true
end

local function start(level, sid, id)
  local key = P .. 't:' .. id
  local entry = level .. ':' .. sid
  local h = redis.call('HMGET', key, 's', 'n', 'v', 'p', 'o', 'a', 'f', 'k', 'us', 'rs', 'rp')
  if h[1] ~= 'r' then return drop_entry(entry) end
  local _, _, _, limit = options(h[5])
  if limit > 0 and now - tonumber(h[10]) > limit then
    drop_entry(entry)
    count('failed', 1)
    return finish(id, read(key), 'f', 'q')
  end
  if cfg[2] == '1' and not admitted(id, h[2], h[5], h[11]) then return drop_entry(entry) end
  local fence = tonumber(h[6] or 0) + 1
  redis.call('HSET', key, 's', 'x', 'a', fence, 'w', worker, 'e', entry)
  if h[11] then redis.call('HDEL', key, 'rp') end
  moved(h[2], 'r', 'x')
  started = started + 1
  local unknown = h[9] and (now - tonumber(h[9])) or 0
  for _, value in ipairs({ id, tostring(fence), entry, h[2], h[3], h[4], h[5], h[7] or '0', h[8] or '0',
                           string.format('%.0f', unknown) }) do
    out[#out + 1] = value
  end
end

if cfg[1] == '1' then
  for at = 6, #ARGV, 3 do
    drop_entry(ARGV[at] .. ':' .. ARGV[at + 1])
    redis.call('XADD', P .. 'r' .. ARGV[at], '*', 'i', ARGV[at + 2])
  end
  return 'p'
end
for at = 6, #ARGV, 3 do
  if started < want then
    start(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  else
    -- A blocking read may return one entry from each stream, more than there is room for.
    drop_entry(ARGV[at] .. ':' .. ARGV[at + 1])
    redis.call('XADD', P .. 'r' .. ARGV[at], '*', 'i', ARGV[at + 2])
  end
end
for at = 3, 5 do
  -- Entries of cancelled or limited tasks start nothing, so there may be more to read; but not without end.
  for _ = 1, 20 do
    if started >= want then break end
    local got = grouped('XREADGROUP', 'GROUP', 'w', worker, 'COUNT', want - started,
      'STREAMS', P .. 'r' .. ARGV[at], '>')
    if not got then break end
    for _, entry in ipairs(got[1][2]) do
      if entry[2] then start(ARGV[at], entry[1], entry[2][2]) end
    end
  end
end
flush()
return out

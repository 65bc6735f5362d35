-- ARGV: worker, feed, for how many tasks the feed is in `wait` as far as it knows, count, three levels in order, the names that the feed
-- had on connections that are lost (with line ends between), then level and stream id and task id of each entry that the worker has read
-- already. If there are any, no others are read: the worker has asked for as many as it wants. Otherwise a feed for which there are too
-- few is in `wait` from now on.
-- Returns for how many tasks it is in `wait` now, 'p' if the queue is paused, or 'm' if there may be more behind entries that start
-- nothing; the number of started tasks; for each: id, `fence|failures|deaths|milliseconds since it was first unknown|entry`, description,
-- payload; then level, stream id and task id of each entry that was read, and that the worker has to start by another call.
local ENTRIES = 9
-- Answers come on a connection with a subscription: a server closes it when it has more than 32 MiB to send there.
local MOST_BYTES = 4194304
local worker, feed, granted, want = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if granted > 0 then
  -- What was given to the feed since then is on its way, and has its place.
  want = want - granted + tonumber(redis.call('ZSCORE', P .. 'wait', feed) or 0)
end
local cfg = redis.call('HMGET', P .. 'cfg', 'paused', 'limited')
for name in string.gmatch(ARGV[8], '[^\n]+') do redis.call('ZREM', P .. 'wait', name) end
local out, started, bytes, rest = { '', '' }, 0, 0, {}

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
local function allowed(task, entry)
  if waited_too_long(task) then
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

local function start(task, entry)
  task.s, task.a, task.paid, task.e, task.w = 'x', one_more(task.a), '0', entry, worker
  moved(task.kind.n, 'r', 'x')
  started = started + 1
  local unknown = task.us == '0' and '0' or string.format('%.0f', now - tonumber(task.us))
  local at = #out
  out[at + 1] = task.id
  out[at + 2] = task.a .. '|' .. task.f .. '|' .. task.k .. '|' .. unknown .. '|' .. entry
  out[at + 3] = task.d
  out[at + 4] = kept(task, 'p') or task.p
  bytes = bytes + #out[at + 4]
end

-- Gives an entry back that was read already.
local function unread(level, sid, id)
  drop_entry(level .. ':' .. sid)
  add_ready(P .. 'r' .. level, id)
end

-- Starts the tasks of entries, given as three lists, until there are as many as are wanted.
local function start_all(levels, sids, ids)
  local values, records, seen = read_all(ids), {}, {}
  for at, id in ipairs(ids) do
    local entry = levels[at] .. ':' .. sids[at]
    if started >= want then
      -- A blocking read may return one entry from each stream, more than there is room for.
      unread(levels[at], sids[at], id)
    elseif bytes >= MOST_BYTES then
      local n = #rest
      rest[n + 1], rest[n + 2], rest[n + 3] = levels[at], sids[at], id
    else
      -- What was read for a second entry of a task is out of date; the first has decided for both.
      local task = not seen[id] and parse(id, values[at])
      seen[id] = true
      if not task or task.s ~= 'r' then
        drop_entry(entry)
      elseif (task.kind.queue == 0 and cfg[2] ~= '1') or allowed(task, entry) then
        start(task, entry)
        local n = #records
        records[n + 1] = task.key
        records[n + 2] = record(task)
      end
    end
  end
  if records[1] then redis.call('MSET', unpack(records)) end
end

if cfg[1] == '1' then
  for at = ENTRIES, #ARGV, 3 do unread(ARGV[at], ARGV[at + 1], ARGV[at + 2]) end
  if granted > 0 then redis.call('ZREM', P .. 'wait', feed) end
  return { 'p', '0' }
end
if #ARGV >= ENTRIES then
  local levels, sids, ids = {}, {}, {}
  for at = ENTRIES, #ARGV, 3 do
    local n = #ids + 1
    levels[n], sids[n], ids[n] = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  end
  start_all(levels, sids, ids)
end
local looked, more = 0, false
for at = #ARGV >= ENTRIES and 8 or 5, 7 do
  -- Entries of cancelled or limited tasks start nothing, so there may be more to read; but others want to be served between.
  for round = 1, 201 do
    if started >= want or bytes >= MOST_BYTES then break end
    if round > 200 or looked >= 1000 then
      more = true
      break
    end
    local asked = want - started
    local got = grouped('XREADGROUP', 'GROUP', 'w', worker, 'COUNT', asked, 'STREAMS', P .. 'r' .. ARGV[at], '>')
    if not got then break end
    local levels, sids, ids = {}, {}, {}
    for _, entry in ipairs(got[1][2]) do
      if entry[2] then
        local n = #ids + 1
        levels[n], sids[n], ids[n] = ARGV[at], entry[1], entry[2][2]
      end
    end
    looked = looked + #ids
    start_all(levels, sids, ids)
    if #got[1][2] < asked then break end
  end
end
out[1] = more and 'm' or '0'
out[2] = string.format('%d', started)
for _, value in ipairs(rest) do out[#out + 1] = value end
if #ARGV < ENTRIES and started < want and not more and bytes < MOST_BYTES then
  out[1] = string.format('%d', want - started)
  redis.call('ZADD', P .. 'wait', out[1], feed)
elseif granted > 0 then
  redis.call('ZREM', P .. 'wait', feed)
end
flush()
return out

-- ARGV: for each task: id, description, payload, delay, client (or '').
local cfg = redis.call('HMGET', P .. 'cfg', 'closed', 'cap', 'paused', 'limited')
local cap = tonumber(cfg[2] or '')
local waiting = 0
if cap then
  -- All that were taken and neither run nor have ended.
  local sums = redis.call('HMGET', KEYS[1], 'submitted', 'revived', 'done', 'failed', 'cancelled', 'dead')
  for at = 1, 6 do waiting = waiting + (at < 3 and 1 or -1) * tonumber(sums[at] or 0) end
  for _, n in ipairs(redis.call('HVALS', P .. 'run')) do waiting = waiting - n end
end
local keys = {}
for at = 1, #ARGV, 5 do keys[#keys + 1] = T .. ARGV[at] end
-- Nearly always all are new.
local known = keys[1] and redis.call('EXISTS', unpack(keys)) > 0
local out, new, ready = {}, {}, {}
for at = 1, #ARGV, 5 do
  local id, delay = ARGV[at], ARGV[at + 3]
  local answer
  if new[id] or (known and redis.call('EXISTS', T .. id) == 1) then
    answer = 'd'
  elseif cfg[1] == '1' then
    answer = 'c'
    count('refused', 1)
  elseif cap and waiting >= cap then
    answer = 'f' .. cap
    count('refused', 1)
  else
    answer = 'a'
    waiting = waiting + 1
    new[id] = at
    count('submitted', 1)
    if delay == '0' then ready[#ready + 1] = at else count('scheduled', 1) end
  end
  out[#out + 1] = answer
end

-- The first write takes memory: on a server that is full it fails, and what comes after a first write does not.
local entries, workers = {}, {}
for _, at in ipairs(ready) do
  local level = sub(ARGV[at + 1], 1, 1)
  entries[ARGV[at]] = level .. ':' .. redis.call('XADD', P .. 'r' .. level, '*', 'i', ARGV[at])
end

local names = {}
local function name_of(description)
  local name = names[description]
  if not name then
    name = match(description, '[^|]*$')
    names[description] = name
  end
  return name
end

-- A server closes a connection on which it has more than 32 MiB of messages to send. So a message has no more payload than this, or one; and
-- a feed that was sent more than a little is told that it is no longer in `wait`: it has read all when it asks again.
local MOST_BYTES, LITTLE = 4194304, 65536

-- Starts ready tasks for a feed that waits: those from the place `from`, `most` of them. They are read for its worker as it would do that
-- itself, so what comes may be older: a feed gets such entries as they are, and starts them, and so those that a message has no place for.
-- Returns how many it was given, and whether it gets no more.
local function hand_over(feed, from, most)
  local worker, levels = match(feed, ':(.*)$'), {}
  for at = from, from + most - 1 do
    local level = sub(ARGV[ready[at] + 1], 1, 1)
    levels[level] = (levels[level] or 0) + 1
  end
  local message, others, given, bytes = { '' }, {}, 0, 0
  for level, n in pairs(levels) do
    local got = grouped('XREADGROUP', 'GROUP', 'w', worker, 'COUNT', n, 'STREAMS', P .. 'r' .. level, '>')
    for _, item in ipairs(got and got[1][2] or {}) do
      local id = item[2] and item[2][2]
      local at = id and new[id]
      given = given + 1
      local size = at and #ARGV[at + 2]
      if at and not workers[id] and (bytes == 0 or bytes + size <= MOST_BYTES) then
        bytes = bytes + size
        local description = ARGV[at + 1]
        workers[id] = worker
        count_running(name_of(description), 1)
        local n = #message
        message[n + 1] = id
        message[n + 2] = '1|0|0|0|' .. entries[id]
        message[n + 3] = description
        message[n + 4] = ARGV[at + 2]
      elseif id then
        local n = #others
        others[n + 1], others[n + 2], others[n + 3] = level, item[1], id
      end
    end
  end
  local last = bytes > LITTLE
  message[1] = string.format(last and '%d.' or '%d', (#message - 1) / 4)
  for _, value in ipairs(others) do message[#message + 1] = value end
  push(P .. 'w:' .. feed, cmsgpack.pack(message))
  return given, last
end

-- Workers that wait share what is ready. A queue with limits leaves it to them: they know what to do with a task that may not start.
if ready[1] and cfg[3] ~= '1' then
  local feeds = redis.call('ZREVRANGE', P .. 'wait', 0, math.min(#ready, 8) - 1, 'WITHSCORES')
  local share, from = math.ceil(#ready / math.max(1, #feeds / 2)), 1
  for at = 1, #feeds, 2 do
    local feed, room = feeds[at], tonumber(feeds[at + 1])
    local channel = P .. 'w:' .. feed
    if redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0 then
      room = 0
    elseif cfg[4] == '1' then
      push(channel, '')
    else
      local most = math.min(share, room, #ready - from + 1)
      local given, last = hand_over(feed, from, most)
      room = last and 0 or room - given
      from = from + most
    end
    if room > 0 then
      if cfg[4] ~= '1' then redis.call('ZADD', P .. 'wait', room, feed) end
    else
      redis.call('ZREM', P .. 'wait', feed)
    end
    if from > #ready then break end
  end
  if feeds[1] and cfg[4] ~= '1' then fresh = #ready - from + 1 end
end

local records = {}
for at = 1, #ARGV, 5 do
  local id = ARGV[at]
  if new[id] == at then
    local n, worker = #records, workers[id]
    records[n + 1] = T .. id
    records[n + 2] = new_record(id, worker and 'x' or ARGV[at + 3] == '0' and 'r' or 's', ARGV[at + 4], ARGV[at + 1], ARGV[at + 2],
      worker and entries[id], worker)
    if ARGV[at + 3] ~= '0' then add_due(id, now + tonumber(ARGV[at + 3])) end
  end
end
if records[1] then redis.call('MSET', unpack(records)) end
flush()
return out

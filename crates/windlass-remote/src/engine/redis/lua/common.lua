-- Prepended to every script. KEYS[1] is the counter hash of the queue, `wl:{queue}:cnt`; all keys that a script touches
-- begin with `wl:{queue}:` and so are in its slot. A script writes its counts once, at its end.
local P = string.sub(KEYS[1], 1, -4)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local counts, running, replies, told = {}, {}, {}, false
local STREAMS = { P .. 'r0', P .. 'r1', P .. 'r2' }

local function count(field, n) counts[field] = (counts[field] or 0) + n end
local function count_running(name, n) running[name] = (running[name] or 0) + n end

-- Messages for workers. A stream and not a channel: whoever was away for a moment reads on where it was.
local function tell(message)
  redis.call('XADD', P .. 'ctl', 'MAXLEN', '~', 1000, '*', 'm', message)
end
local function tell_changed()
  if not told then told = true; tell('!') end
end

-- The options of a task: priority, worker deaths, at most once, queue limit, retention.
local function options(text)
  local level, deaths, once, queue, ttl = string.match(text, '^(%d+),(%d+),(%d+),(%d+),(%d+)')
  return tonumber(level) or 1, tonumber(deaths) or 3, once == '1', tonumber(queue) or 0, tonumber(ttl) or 600000
end

local function ensure_groups()
  for _, stream in ipairs(STREAMS) do
    local made = redis.pcall('XGROUP', 'CREATE', stream, 'w', '0', 'MKSTREAM')
    if type(made) == 'table' and made.err and not string.find(made.err, 'BUSYGROUP') then
      return made
    end
  end
end

-- Runs a command that needs the consumer group, which is missing on a fresh or emptied server.
local function grouped(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    if string.find(answer.err, 'NOGROUP') then
      ensure_groups()
      return redis.call(...)
    end
    error(answer.err)
  end
  return answer
end

local function drop_entry(entry)
  local level, sid = string.match(entry, '^(%d):(.+)$')
  if level then
    grouped('XACK', P .. 'r' .. level, 'w', sid)
    redis.call('XDEL', P .. 'r' .. level, sid)
  end
end

local COUNT_OF = { s = 'scheduled', r = 'ready', x = 'running' }

-- Moves the counts from one state to another.
local function moved(name, old, new)
  if old == new then return end
  if COUNT_OF[old] then count(COUNT_OF[old], -1) end
  if COUNT_OF[new] then count(COUNT_OF[new], 1) end
  if old == 'x' then count_running(name, -1) end
  if new == 'x' then count_running(name, 1) end
end

local function add_due(id, at)
  local first = redis.call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
  redis.call('ZADD', P .. 'z', at, id)
  if not first[2] or at < tonumber(first[2]) then tell_changed() end
end

-- Makes a task ready now, or at a time. `old` is the state that it has.
local function enqueue(id, name, opts, old, at)
  local key = P .. 't:' .. id
  if at <= now then
    redis.call('HSET', key, 's', 'r', 'rs', now)
    redis.call('XADD', P .. 'r' .. (options(opts)), '*', 'i', id)
    moved(name, old, 'r')
  else
    redis.call('HSET', key, 's', 's')
    add_due(id, at)
    moved(name, old, 's')
  end
end

local function reply(watchers, id, kind, data)
  -- Large results are looked up: the way to the client stays short.
  if #data > 4096 then kind, data = 'l', '' end
  for watcher in string.gmatch(watchers, '[^,]+') do
    local list = replies[watcher]
    if not list then list = {}; replies[watcher] = list end
    list[#list + 1] = kind .. id
    list[#list + 1] = data
  end
end

local FIELDS = { 's', 'n', 'v', 'o', 're', 'sch', 'a', 'f', 'k', 'e' }
local function read(key)
  local h = redis.call('HMGET', key, unpack(FIELDS))
  if not h[1] then return nil end
  return { s = h[1], n = h[2], v = h[3], o = h[4] or '', re = h[5], sch = h[6], a = tonumber(h[7] or 0),
           f = tonumber(h[8] or 0), k = tonumber(h[9] or 0), e = h[10] }
end

local DEAD_CAP = 10000

-- Gives a task its outcome: state d, f, c or b, and the result or the failure. A finished record is written anew, since a hash
-- that has held a long payload would keep its large form.
local function finish(id, task, state, data)
  local key = P .. 't:' .. id
  local _, _, _, _, ttl = options(task.o)
  if state == 'b' then
    redis.call('HSET', key, 's', 'b', 'x', data, 'f', task.f, 'k', task.k)
    redis.call('HDEL', key, 'w', 'e', 're', 'rp')
    redis.call('ZADD', P .. 'dead', redis.call('HINCRBY', KEYS[1], 'seq', 1), id)
    local surplus = redis.call('ZCARD', P .. 'dead') - DEAD_CAP
    if surplus > 0 then
      for _, old in ipairs(redis.call('ZRANGE', P .. 'dead', 0, math.min(surplus, 100) - 1)) do
        redis.call('DEL', P .. 't:' .. old)
        redis.call('ZREM', P .. 'dead', old)
      end
    end
  else
    redis.call('DEL', key)
    local field = state == 'd' and 'r' or 'x'
    if task.v == '1' and task.a == 1 and task.f == 0 and task.k == 0 then
      redis.call('HSET', key, 's', state, 'n', task.n, field, data)
    else
      redis.call('HSET', key, 's', state, 'n', task.n, field, data,
        'v', task.v, 'a', task.a, 'f', task.f, 'k', task.k)
    end
    redis.call('PEXPIRE', key, ttl)
  end
  moved(task.n, task.s, state)
  if task.re then reply(task.re, id, state, data) end
  if task.sch then
    local delay, name = string.match(task.sch, '^(%d+):(.+)$')
    if redis.call('HEXISTS', P .. 's:' .. name, 'rule') == 1 then
      redis.call('HSET', P .. 's:' .. name, 'next', now + delay)
      redis.call('ZADD', P .. 'cronz', now + delay, name)
      tell_changed()
    end
  end
end

-- Gives parked tasks of a type another try, as many as may run.
local function unpark(name)
  local most = tonumber(redis.call('HGET', P .. 'lim:' .. name, 'c') or '')
  local room = 200
  if most then room = most - tonumber(redis.call('HGET', P .. 'run', name) or 0) end
  for _ = 1, math.min(room, 200) do
    local id = redis.call('LPOP', P .. 'park:' .. name)
    if not id then break end
    local task = redis.call('HMGET', P .. 't:' .. id, 's', 'o')
    if task[1] == 'r' then
      redis.call('XADD', P .. 'r' .. (options(task[2])), '*', 'i', id)
    end
  end
end

local function flush()
  for field, n in pairs(counts) do
    if n ~= 0 then redis.call('HINCRBY', KEYS[1], field, n) end
  end
  for name, n in pairs(running) do
    if n ~= 0 then
      redis.call('HINCRBY', P .. 'run', name, n)
      if n < 0 and redis.call('EXISTS', P .. 'park:' .. name) == 1 then unpark(name) end
    end
  end
  for watcher, list in pairs(replies) do
    local key = P .. 're:' .. watcher
    redis.call('XADD', key, 'MAXLEN', '~', 2000, '*', unpack(list))
    redis.call('PEXPIRE', key, 900000)
  end
end

-- Prepended to every script. KEYS[1] is the counter hash of the queue, `wl:{queue}:cnt`; all keys that a script touches
-- begin with `wl:{queue}:` and so are in its slot. A script writes its counts once, at its end.
--
-- A record is one string, so that one command reads those of a batch and one writes them: the head, which changes with each
-- transition; the watchers; the description, which never changes, and is parsed once in a script for all tasks that share it; the
-- payload. What is large or rare is in a hash beside it. Numbers stay texts where nobody computes with them: Redis turns a Lua
-- number into a text the slow way.
local P = string.sub(KEYS[1], 1, -4)
local T, E = P .. 't:', P .. 'e:'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local NOW = string.format('%.0f', now)
local counts, running, replies, told, fresh = {}, {}, {}, false, 0
local STREAMS = { P .. 'r0', P .. 'r1', P .. 'r2' }
local match, sub = string.match, string.sub

local function count(field, n) counts[field] = (counts[field] or 0) + n end
local function count_running(name, n) running[name] = (running[name] or 0) + n end

-- Messages for workers. A stream and not a channel: whoever was away for a moment reads on where it was.
local function tell(message)
  redis.call('XADD', P .. 'ctl', 'MAXLEN', '~', 1000, '*', 'm', message)
end
local function tell_changed()
  if not told then told = true; tell('!') end
end

-- The description of a task, `options|version|schedule|name`: what its type and its options say.
local kinds = {}
local function kind_of(d)
  local kind = kinds[d]
  if not kind then
    local opts, version, schedule, name = match(d, '^([^|]*)|(%d+)|([^|]*)|(.*)$')
    if not opts then return nil end
    local level, deaths, once, queue, ttl = match(opts, '^(%d+),(%d+),(%d+),(%d+),(%d+)')
    kind = { n = name, v = version, sch = schedule ~= '' and schedule or nil, stream = P .. 'r' .. (level or '1'),
             deaths = tonumber(deaths) or 3, once = once == '1', queue = tonumber(queue) or 0, ttl = ttl or '600000' }
    kinds[d] = kind
  end
  return kind
end

-- The record of a task that has no outcome, or is a dead letter. In its first line, the head: state, fence, failures, worker deaths,
-- unknown since, ready since, paid (a start was reserved), whether there is a hash beside it, entry, worker.
local RECORD = '^([srxb])|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d)|(%d)|([^|\n]*)|([^\n]*)\n([^\n]*)\n([^\n]*)\n()'

-- Returns nothing for a record of another form: a finished one, or what a foreign hand has written.
local function parse(id, record)
  local s, a, f, k, us, rs, paid, beside, e, w, re, d, at = match(record or '', RECORD)
  local kind = s and kind_of(d)
  if not kind then return nil end
  return { id = id, key = T .. id, kind = kind, s = s, a = a, f = f, k = k, us = us, rs = rs, paid = paid, beside = beside, e = e,
           w = w, re = re, d = d, p = sub(record, at) }
end

-- Reads at most 200 records in one command. It returns false for a key of another type, where GET would fail.
local function read_all(ids)
  local keys = {}
  for at, id in ipairs(ids) do keys[at] = T .. id end
  return keys[1] and redis.call('MGET', unpack(keys)) or keys
end

local function read(id) return parse(id, redis.call('MGET', T .. id)[1]) end

local function record(t)
  return t.s .. '|' .. t.a .. '|' .. t.f .. '|' .. t.k .. '|' .. t.us .. '|' .. t.rs .. '|' .. t.paid .. '|' .. t.beside .. '|'
    .. t.e .. '|' .. t.w .. '\n' .. t.re .. '\n' .. t.d .. '\n' .. t.p
end

local function write(task) redis.call('SET', task.key, record(task)) end

-- Keeps a field in the hash beside a record until its outcome: p a large payload, x the last failure, c the checkpoint. The caller
-- writes the record.
local function keep(task, field, data)
  redis.call('HSET', E .. task.id, field, data)
  task.beside = '1'
end

local function kept(task, field) return task.beside == '1' and redis.call('HGET', E .. task.id, field) end

-- Returns the record of a new task; with an entry and a worker, that of one that runs. It is written whole with each transition, so a
-- large payload is not in it.
local function new_record(id, state, watcher, description, payload, entry, worker)
  local beside = '0'
  if #payload > 1024 then
    redis.call('HSET', E .. id, 'p', payload)
    beside, payload = '1', ''
  end
  return state .. (entry and '|1|0|0|0|' or '|0|0|0|0|') .. NOW .. '|0|' .. beside .. '|' .. (entry or '') .. '|' .. (worker or '')
    .. '\n' .. watcher .. '\n' .. description .. '\n' .. payload
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

-- Adds a task to the ready ones of its priority; `flush` wakes workers for it.
local function add_ready(stream, id)
  fresh = fresh + 1
  return redis.call('XADD', stream, '*', 'i', id)
end

-- Sends a message to whoever listens to a channel; returns whether anybody did.
local function push(channel, message)
  local heard = redis.pcall('PUBLISH', channel, message)
  return type(heard) == 'number' and heard > 0
end

-- A feed of a worker with room that has found no task waits for a message on the channel `w:<feed>`. It is in the sorted set `wait`
-- then, with the number of tasks that it has room for. An empty message says that there may be tasks. A feed that is gone is forgotten
-- by whoever notices it.
local function wake(most)
  for _, feed in ipairs(redis.call('ZREVRANGE', P .. 'wait', 0, most - 1)) do
    if not push(P .. 'w:' .. feed, '') then redis.call('ZREM', P .. 'wait', feed) end
  end
end

-- An entry is its level, a colon, and its id in the stream of that level.
local function drop_entry(entry)
  if #entry > 2 then
    local stream, sid = P .. 'r' .. sub(entry, 1, 1), sub(entry, 3)
    grouped('XACK', stream, 'w', sid)
    redis.call('XDEL', stream, sid)
  end
end

-- Moves the counts from one state to another. Ready tasks are not counted: they are those that were submitted or revived and are
-- neither scheduled, nor running, nor finished.
local function moved(name, old, new)
  if old == new then return end
  if old == 's' then count('scheduled', -1) elseif old == 'x' then count_running(name, -1) end
  if new == 's' then count('scheduled', 1) elseif new == 'x' then count_running(name, 1) end
end

local function add_due(id, at)
  local first = redis.call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
  redis.call('ZADD', P .. 'z', at, id)
  if not first[2] or at < tonumber(first[2]) then tell_changed() end
end

-- Makes a task ready now, or at a time, and nobody's.
local function enqueue(task, at)
  local old = task.s
  task.e, task.w = '', ''
  if at <= now then
    task.s, task.rs = 'r', NOW
    write(task)
    add_ready(task.kind.stream, task.id)
  else
    task.s = 's'
    write(task)
    add_due(task.id, at)
  end
  moved(task.kind.n, old, task.s)
end

local function reply_to(watcher, id, kind, data)
  local list = replies[watcher]
  if not list then list = {}; replies[watcher] = list end
  local at = #list
  list[at + 1] = kind .. id
  list[at + 2] = data
end

local function reply(watchers, id, kind, data)
  -- Large results are looked up: the way to the client stays short.
  if #data > 4096 then kind, data = 'l', '' end
  if not string.find(watchers, ',', 1, true) then return reply_to(watchers, id, kind, data) end
  for watcher in string.gmatch(watchers, '[^,]+') do reply_to(watcher, id, kind, data) end
end

-- Submits a task of a named schedule; returns whether it is a new one. `s` is what `schedule_fields` returned.
local function submit_scheduled(name, s, id)
  local new = redis.call('EXISTS', T .. id) == 0
  if new then
    local after = s.after or (s.overlap == '2' and 'q')
    local description = s.o .. '|' .. s.v .. '|' .. (after and (after .. ':' .. name) or '') .. '|' .. s.n
    count('submitted', 1)
    redis.call('SET', T .. id, new_record(id, 'r', '', description, s.p))
    add_ready(P .. 'r' .. sub(s.o, 1, 1), id)
  end
  redis.call('HSET', P .. 's:' .. name, 'last', id)
  return new
end

local function schedule_fields(name)
  local h = redis.call('HMGET', P .. 's:' .. name, 'next', 'n', 'v', 'p', 'o', 'ov', 'af', 'last')
  return h[2] and { next = h[1], n = h[2], v = h[3], p = h[4], o = h[5], overlap = h[6], after = h[7], last = h[8] }
end

-- Does what a schedule waits for the outcome of its task for: `delay:name` sets its next time, `q:name` submits the next of those that
-- wait.
local function after_outcome(text)
  local after, name = match(text, '^(%w+):(.+)$')
  local s = schedule_fields(name)
  if not s then return end
  if after == 'q' then
    local id = redis.call('LPOP', P .. 'sq:' .. name)
    if id then submit_scheduled(name, s, id) end
  else
    redis.call('HSET', P .. 's:' .. name, 'next', now + after)
    redis.call('ZADD', P .. 'cronz', now + after, name)
    tell_changed()
  end
end

local DEAD_CAP = 10000

local function bury(task, data)
  task.s, task.e, task.w, task.paid, task.re = 'b', '', '', '0', ''
  keep(task, 'x', data)
  write(task)
  redis.call('ZADD', P .. 'dead', redis.call('HINCRBY', KEYS[1], 'seq', 1), task.id)
  local surplus = redis.call('ZCARD', P .. 'dead') - DEAD_CAP
  if surplus > 0 then
    for _, old in ipairs(redis.call('ZRANGE', P .. 'dead', 0, math.min(surplus, 100) - 1)) do
      redis.call('DEL', T .. old, E .. old)
      redis.call('ZREM', P .. 'dead', old)
    end
  end
end

-- Gives a task its outcome: state d, f, c or b, and the result or the failure. A finished record is one string, written and given
-- its end in one command: `state|name|data` for version 1 and one delivery without failure, else
-- `state+version|fence|failures|deaths|name|data`.
local function finish(task, state, data)
  local kind, old, watchers = task.kind, task.s, task.re
  if state == 'b' then
    bury(task, data)
  elseif kind.v == '1' and task.a == '1' and task.f == '0' and task.k == '0' then
    redis.call('SET', task.key, state .. '|' .. kind.n .. '|' .. data, 'PX', kind.ttl)
  else
    redis.call('SET', task.key, state .. '+' .. kind.v .. '|' .. task.a .. '|' .. task.f .. '|' .. task.k .. '|' .. kind.n .. '|' .. data,
      'PX', kind.ttl)
  end
  if state ~= 'b' and task.beside == '1' then redis.call('DEL', E .. task.id) end
  task.s = state
  moved(kind.n, old, state)
  if watchers ~= '' then reply(watchers, task.id, state, data) end
  if kind.sch then after_outcome(kind.sch) end
end

local function one_more(number) return number == '0' and '1' or string.format('%.0f', tonumber(number) + 1) end

local function waited_too_long(task) return task.kind.queue > 0 and now - tonumber(task.rs) > task.kind.queue end

-- Gives parked tasks of a type another try, as many as may run. One that was cancelled or has waited too long will not run, and takes
-- nobody's place. A tick goes on where the bound on those ends the search.
local function unpark(name)
  local most = tonumber(redis.call('HGET', P .. 'lim:' .. name, 'c') or '')
  local room = 200
  if most then room = math.min(room, most - tonumber(redis.call('HGET', P .. 'run', name) or 0)) end
  for _ = 1, 1000 do
    if room <= 0 then break end
    local id = redis.call('LPOP', P .. 'park:' .. name)
    if not id then break end
    local task = read(id)
    if task and task.s == 'r' then
      -- Whoever takes a task that has waited too long gives it its outcome.
      add_ready(task.kind.stream, id)
      if not waited_too_long(task) then room = room - 1 end
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
    -- 200 outcomes at most in one message: Lua cannot unpack a list of any length.
    for from = 1, #list, 400 do
      local part = #list <= 400 and list or { unpack(list, from, math.min(from + 399, #list)) }
      -- A client that does not listen reads them later.
      if not push(key, cmsgpack.pack(part)) then
        redis.call('XADD', key, 'MAXLEN', '~', 2000, '*', unpack(part))
        redis.call('PEXPIRE', key, 900000)
      end
    end
  end
  if fresh > 0 then wake(math.min(fresh, 8)) end
end

-- ARGV: for each report: id, fence, entry, kind (d done, f failed, b dead, r retry, p put back, u put back as unknown), data, delay.
-- Returns 'a' or 's' (stale) for each.
local acks = { ['0'] = {}, ['1'] = {}, ['2'] = {} }
for at = 1, #ARGV, 6 do
  local level, sid = string.match(ARGV[at + 2], '^(%d):(.+)$')
  if level then table.insert(acks[level], sid) end
end
-- First, also because these commands are allowed on a server that is full, and so is what follows them.
for level, sids in pairs(acks) do
  if #sids > 0 then
    grouped('XACK', P .. 'r' .. level, 'w', unpack(sids))
    redis.call('XDEL', P .. 'r' .. level, unpack(sids))
  end
end
local FINAL = { d = true, f = true, c = true, b = true }
local out = {}
for at = 1, #ARGV, 6 do
  local id, fence, kind, data = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 3], ARGV[at + 4]
  local key = P .. 't:' .. id
  local task = read(key)
  local current = task and task.s == 'x' and task.a == fence
  if not current and not (task and kind == 'd' and not FINAL[task.s]) then
    count('stale', 1)
    out[#out + 1] = 's'
  else
    out[#out + 1] = 'a'
    if kind == 'd' then
      count('done', 1)
      if task.s == 's' then redis.call('ZREM', P .. 'z', id) end
      finish(id, task, 'd', data)
    elseif kind == 'f' then
      count('failed', 1)
      task.f = task.f + 1
      finish(id, task, 'f', data)
    elseif kind == 'b' then
      count('dead', 1)
      finish(id, task, 'b', data)
    else
      redis.call('HDEL', key, 'w', 'e')
      if kind == 'r' then
        count('retried', 1)
        redis.call('HSET', key, 'f', task.f + 1, 'x', data)
      elseif kind == 'u' then
        redis.call('HSETNX', key, 'us', now)
      end
      enqueue(id, task.n, task.o, 'x', now + tonumber(ARGV[at + 5]))
    end
  end
end
flush()
return out

-- ARGV: for each report: id, fence, entry, kind (d done, f failed, b dead, r retry, p put back, u put back as unknown), data, delay.
-- Returns 'a' or 's' (stale) for each.
local acks = {}
for at = 3, #ARGV, 6 do
  local stream = STREAMS[(tonumber(sub(ARGV[at], 1, 1)) or 9) + 1]
  if stream then
    local sids = acks[stream]
    if not sids then sids = {}; acks[stream] = sids end
    sids[#sids + 1] = sub(ARGV[at], 3)
  end
end
-- First, also because these commands are allowed on a server that is full, and so is what follows them.
for stream, sids in pairs(acks) do
  grouped('XACK', stream, 'w', unpack(sids))
  redis.call('XDEL', stream, unpack(sids))
end
local out = {}
for at = 1, #ARGV, 6 do
  local id, kind, data = ARGV[at], ARGV[at + 3], ARGV[at + 4]
  local task = read(id)
  local answer = 'a'
  -- The first success counts whatever its fence; all else only from the current delivery.
  if not task or not ((task.s == 'x' and task.a == ARGV[at + 1]) or (kind == 'd' and task.s ~= 'b')) then
    count('stale', 1)
    answer = 's'
  elseif kind == 'd' then
    count('done', 1)
    if task.s == 's' then redis.call('ZREM', P .. 'z', id) end
    finish(task, 'd', data)
  elseif kind == 'f' then
    count('failed', 1)
    task.f = one_more(task.f)
    finish(task, 'f', data)
  elseif kind == 'b' then
    count('dead', 1)
    finish(task, 'b', data)
  else
    if kind == 'r' then
      count('retried', 1)
      task.f = one_more(task.f)
      redis.call('HSET', task.key, 'x', data)
    elseif kind == 'u' and task.us == '0' then
      task.us = NOW
    end
    enqueue(task, now + tonumber(ARGV[at + 5]))
  end
  out[#out + 1] = answer
end
flush()
return out

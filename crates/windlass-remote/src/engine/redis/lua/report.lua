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

-- Removes entries that were acknowledged. Entries are delivered in order, so all before the oldest one that is pending, or before any
-- of these if none is, have been acknowledged too; cutting whole blocks of them off takes a small part of the time of single removals.
-- A few stay until the next cut. If something runs for long nothing can be cut off before it, and so they are removed one by one.
local function remove(stream, sids)
  local oldest
  if #sids >= 8 then
    local last = sids[#sids]
    oldest = redis.call('XPENDING', stream, 'w')[2] or last
    -- These are times of submission: no more entries stay than were added in two seconds.
    if match(last, '^%d+') - match(oldest, '^%d+') > 2000 then oldest = nil end
  end
  if oldest then
    redis.call('XTRIM', stream, 'MINID', '~', oldest)
  else
    redis.call('XDEL', stream, unpack(sids))
  end
end

-- First, also because these commands are allowed on a server that is full, and so is what follows them.
for stream, sids in pairs(acks) do
  grouped('XACK', stream, 'w', unpack(sids))
  remove(stream, sids)
end
local ids, tasks, out = {}, {}, {}
for at = 1, #ARGV, 6 do ids[#ids + 1] = ARGV[at] end
for at, record in ipairs(read_all(ids)) do tasks[ids[at]] = parse(ids[at], record) end
for at = 1, #ARGV, 6 do
  local id, kind, data = ARGV[at], ARGV[at + 3], ARGV[at + 4]
  local task = tasks[id]
  local answer = 'a'
  -- The first success counts whatever its fence; all else only from the current delivery.
  if not task or not ((task.s == 'x' and task.a == ARGV[at + 1]) or (kind == 'd' and string.find('srx', task.s, 1, true))) then
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
      keep(task, 'x', data)
      -- It ran, so its type is known: a worker that does not know it begins to count anew.
      task.us = '0'
    elseif kind == 'u' and task.us == '0' then
      task.us = NOW
    end
    enqueue(task, now + tonumber(ARGV[at + 5]))
  end
  out[#out + 1] = answer
end
flush()
return out

-- ARGV: for each task: id, description, payload, delay, client (or '').
local cfg = redis.call('HMGET', P .. 'cfg', 'closed', 'cap')
local cap = tonumber(cfg[2] or '')
local waiting = 0
if cap then
  -- All that were taken and neither run nor have ended.
  local sums = redis.call('HMGET', KEYS[1], 'submitted', 'revived', 'done', 'failed', 'cancelled', 'dead')
  for at = 1, 6 do waiting = waiting + (at < 3 and 1 or -1) * tonumber(sums[at] or 0) end
  for _, n in ipairs(redis.call('HVALS', P .. 'run')) do waiting = waiting - n end
end
local READY, SCHEDULED = 'r|0|0|0|0|' .. NOW .. '|0||', 's|0|0|0|0|' .. NOW .. '|0||'
local out = {}
for at = 1, #ARGV, 5 do
  local id, description, delay, client = ARGV[at], ARGV[at + 1], ARGV[at + 3], ARGV[at + 4]
  local key = T .. id
  local answer
  if redis.call('EXISTS', key) == 1 then
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
    count('submitted', 1)
    local state = delay == '0' and READY or SCHEDULED
    if client == '' then
      redis.call('HSET', key, 'm', state, 'd', description, 'p', ARGV[at + 2])
    else
      redis.call('HSET', key, 'm', state, 'd', description, 'p', ARGV[at + 2], 're', client)
    end
    if delay == '0' then
      redis.call('XADD', P .. 'r' .. sub(description, 1, 1), '*', 'i', id)
    else
      count('scheduled', 1)
      add_due(id, now + tonumber(delay))
    end
  end
  out[#out + 1] = answer
end
flush()
return out

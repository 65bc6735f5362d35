-- ARGV: schedule, the time that has come, the next time (or ''), ids to submit. Returns 1 if it was done, 0 if somebody else was faster.
local name = ARGV[1]
local key = P .. 's:' .. name
local h = redis.call('HMGET', key, 'next', 'n', 'v', 'p', 'o', 'ov', 'af', 'last')
if h[1] ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', key, 'next')
  redis.call('ZREM', P .. 'cronz', name)
else
  redis.call('HSET', key, 'next', ARGV[3])
  redis.call('ZADD', P .. 'cronz', ARGV[3], name)
end
local last = h[8] and redis.call('HGET', P .. 't:' .. h[8], 's')
if (last == 's' or last == 'r' or last == 'x') and h[6] ~= '1' then return 1 end
for at = 4, #ARGV do
  local id = ARGV[at]
  local task = P .. 't:' .. id
  if redis.call('EXISTS', task) == 0 then
    count('submitted', 1)
    count('ready', 1)
    redis.call('HSET', task, 's', 'r', 'n', h[2], 'v', h[3], 'p', h[4], 'o', h[5], 'rs', now)
    if h[7] then redis.call('HSET', task, 'sch', h[7] .. ':' .. name) end
    redis.call('XADD', P .. 'r' .. string.sub(h[5], 1, 1), '*', 'i', id)
  end
  redis.call('HSET', key, 'last', id)
end
flush()
return 1

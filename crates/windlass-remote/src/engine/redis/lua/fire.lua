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
local last = h[8] and read(h[8])
if last and last.s ~= 'b' and h[6] ~= '1' then return 1 end
local description = h[5] .. '|' .. h[3] .. '|' .. (h[7] and (h[7] .. ':' .. name) or '') .. '|' .. h[2]
for at = 4, #ARGV do
  local id = ARGV[at]
  if redis.call('EXISTS', T .. id) == 0 then
    count('submitted', 1)
    count('ready', 1)
    redis.call('HSET', T .. id, 'm', 'r|0|0|0|0|' .. NOW .. '|0||', 'd', description, 'p', h[4])
    redis.call('XADD', P .. 'r' .. sub(h[5], 1, 1), '*', 'i', id)
  end
  redis.call('HSET', key, 'last', id)
end
flush()
return 1

-- ARGV: schedule, the time that has come, the next time (or ''), ids to submit. Returns 1 if it was done, 0 if somebody else was faster.
local name = ARGV[1]
local key = P .. 's:' .. name
local s = schedule_fields(name)
if not s or s.next ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', key, 'next')
  redis.call('ZREM', P .. 'cronz', name)
else
  redis.call('HSET', key, 'next', ARGV[3])
  redis.call('ZADD', P .. 'cronz', ARGV[3], name)
end
local last = s.last and read(s.last)
local busy = last and last.s ~= 'b'
if busy and s.overlap == '0' then return 1 end
for at = 4, #ARGV do
  if busy and s.overlap == '2' then
    if redis.call('RPUSH', P .. 'sq:' .. name, ARGV[at]) > 1000 then redis.call('LPOP', P .. 'sq:' .. name) end
  else
    submit_scheduled(name, s, ARGV[at])
    busy = true
  end
end
flush()
return 1

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
local submitted = false
if not (busy and s.overlap == '0') then
  for at = 4, #ARGV do
    if busy and s.overlap == '2' and not s.after then
      if redis.call('RPUSH', P .. 'sq:' .. name, ARGV[at]) > 1000 then redis.call('LPOP', P .. 'sq:' .. name) end
    elseif not busy or s.overlap ~= '2' then
      submitted = submit_scheduled(name, s, ARGV[at]) or submitted
      busy = true
    end
  end
end
if s.after and not submitted then
  -- No outcome will set the next time of this fixed delay: the task that runs is of the schedule that it replaced.
  redis.call('HSET', key, 'next', now + s.after)
  redis.call('ZADD', P .. 'cronz', now + s.after, name)
  tell_changed()
end
flush()
return 1

-- ARGV: task name, concurrency (or ''), interval in microseconds (or ''), burst.
local key = P .. 'lim:' .. ARGV[1]
redis.call('HDEL', key, 'c', 'i', 'b')
if ARGV[2] ~= '' then redis.call('HSET', key, 'c', ARGV[2]) end
if ARGV[3] ~= '' then redis.call('HSET', key, 'i', ARGV[3], 'b', ARGV[4]) end
redis.call('HSET', P .. 'cfg', 'limited', '1')
unpark(ARGV[1])
tell_changed()
if fresh > 0 then wake(math.min(fresh, 8)) end
return 1

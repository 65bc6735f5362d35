-- ARGV: name, rule, task name, version, payload, options, overlap (0 skip, 1 allow, 2 queue), delay after the outcome (or ''), next time.
local key = P .. 's:' .. ARGV[1]
redis.call('HSET', key, 'rule', ARGV[2], 'n', ARGV[3], 'v', ARGV[4], 'p', ARGV[5], 'o', ARGV[6], 'ov', ARGV[7])
if ARGV[8] == '' then redis.call('HDEL', key, 'af') else redis.call('HSET', key, 'af', ARGV[8]) end
if ARGV[9] == '' then
  redis.call('HDEL', key, 'next')
  redis.call('ZREM', P .. 'cronz', ARGV[1])
else
  redis.call('HSET', key, 'next', ARGV[9])
  redis.call('ZADD', P .. 'cronz', ARGV[9], ARGV[1])
end
redis.call('SADD', P .. 'cron', ARGV[1])
tell_changed()
return 1

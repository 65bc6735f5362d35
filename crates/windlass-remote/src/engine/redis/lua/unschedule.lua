-- ARGV: name. Returns 1 if there was such a schedule.
redis.call('ZREM', P .. 'cronz', ARGV[1])
redis.call('DEL', P .. 's:' .. ARGV[1], P .. 'sq:' .. ARGV[1])
return redis.call('SREM', P .. 'cron', ARGV[1])

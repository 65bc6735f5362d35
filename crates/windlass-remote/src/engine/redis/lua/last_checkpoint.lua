-- ARGV: id. Returns the bytes of the last checkpoint, or nothing.
return redis.call('HGET', E .. ARGV[1], 'c')

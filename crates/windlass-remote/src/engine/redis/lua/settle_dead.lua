-- ARGV: r (retry) or d (drop), then ids. Returns how many that was done for.
local done = 0
for at = 2, #ARGV do
  local id = ARGV[at]
  local key = P .. 't:' .. id
  local h = redis.call('HMGET', key, 's', 'n', 'o')
  if h[1] == 'b' then
    done = done + 1
    redis.call('ZREM', P .. 'dead', id)
    if ARGV[1] == 'd' then
      redis.call('DEL', key)
    else
      redis.call('HDEL', key, 'x', 'f', 'k', 'us')
      enqueue(id, h[2], h[3], 'b', now)
    end
  end
end
flush()
return done

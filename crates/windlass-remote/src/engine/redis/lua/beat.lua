-- ARGV: worker, what is known of it, then id, fence and entry of each delivery to renew. Returns h (held) or l (lost) for each.
redis.call('ZADD', P .. 'wk', now, ARGV[1])
redis.call('HSET', P .. 'wki', ARGV[1], ARGV[2])
local out = {}
for at = 3, #ARGV, 3 do
  local h = redis.call('HMGET', P .. 't:' .. ARGV[at], 's', 'a')
  if h[1] == 'x' and h[2] == ARGV[at + 1] then
    local level, sid = string.match(ARGV[at + 2], '^(%d):(.+)$')
    grouped('XCLAIM', P .. 'r' .. level, 'w', ARGV[1], 0, sid, 'JUSTID')
    out[#out + 1] = 'h'
  else
    out[#out + 1] = 'l'
  end
end
return out

-- ARGV: worker, what is known of it, then id, fence and entry of each delivery to renew. Returns h (held) or l (lost) for each.
redis.call('ZADD', P .. 'wk', NOW, ARGV[1])
redis.call('HSET', P .. 'wki', ARGV[1], ARGV[2])
local out = {}
for at = 3, #ARGV, 3 do
  local task = read(ARGV[at])
  if task and task.s == 'x' and task.a == ARGV[at + 1] then
    local entry = ARGV[at + 2]
    grouped('XCLAIM', P .. 'r' .. sub(entry, 1, 1), 'w', ARGV[1], 0, sub(entry, 3), 'JUSTID')
    out[#out + 1] = 'h'
  else
    out[#out + 1] = 'l'
  end
end
return out

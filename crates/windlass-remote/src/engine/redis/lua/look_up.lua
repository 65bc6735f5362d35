-- ARGV: a client that watches (or ''), then ids. Returns the fields of each record, or nothing.
local FINAL = { d = true, f = true, c = true, b = true }
local out = {}
for at = 2, #ARGV do
  local key = P .. 't:' .. ARGV[at]
  local record = redis.call('HGETALL', key)
  if ARGV[1] ~= '' and #record > 0 then
    local have = redis.call('HMGET', key, 's', 're')
    if not FINAL[have[1]] and not string.find(',' .. (have[2] or '') .. ',', ',' .. ARGV[1] .. ',', 1, true) then
      redis.call('HSET', key, 're', have[2] and (have[2] .. ',' .. ARGV[1]) or ARGV[1])
    end
  end
  out[#out + 1] = record
end
return out

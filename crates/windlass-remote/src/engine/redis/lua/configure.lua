-- ARGV: paused, closed, capacity; '' leaves a setting alone, and a capacity of '-' lifts the bound. Returns the three.
local changed = false
if ARGV[1] ~= '' then redis.call('HSET', P .. 'cfg', 'paused', ARGV[1]); changed = true end
if ARGV[2] ~= '' then redis.call('HSET', P .. 'cfg', 'closed', ARGV[2]); changed = true end
if ARGV[3] == '-' then
  redis.call('HDEL', P .. 'cfg', 'cap')
elseif ARGV[3] ~= '' then
  redis.call('HSET', P .. 'cfg', 'cap', ARGV[3])
end
if changed then tell_changed() end
if ARGV[1] == '0' then wake(200) end
local cfg = redis.call('HMGET', P .. 'cfg', 'paused', 'closed', 'cap')
return { cfg[1] or '0', cfg[2] or '0', cfg[3] or '' }

-- ARGV: for each task: id, name, version, payload, options, delay, client (or '').
local cfg = redis.call('HMGET', P .. 'cfg', 'closed', 'cap')
local cap = tonumber(cfg[2] or '')
local waiting = 0
if cap then
  local have = redis.call('HMGET', KEYS[1], 'ready', 'scheduled')
  waiting = (tonumber(have[1] or 0)) + (tonumber(have[2] or 0))
end
local out = {}
for at = 1, #ARGV, 7 do
  local id, name, opts, delay = ARGV[at], ARGV[at + 1], ARGV[at + 4], tonumber(ARGV[at + 5])
  local key = P .. 't:' .. id
  local answer
  if redis.call('EXISTS', key) == 1 then
    answer = 'd'
  elseif cfg[1] == '1' then
    answer = 'c'
    count('refused', 1)
  elseif cap and waiting >= cap then
    answer = 'f' .. cap
    count('refused', 1)
  else
    answer = 'a'
    waiting = waiting + 1
    count('submitted', 1)
    local fields = { 's', delay > 0 and 's' or 'r', 'n', name, 'v', ARGV[at + 2], 'p', ARGV[at + 3],
                     'o', opts, 'rs', now }
    if ARGV[at + 6] ~= '' then fields[#fields + 1] = 're'; fields[#fields + 1] = ARGV[at + 6] end
    redis.call('HSET', key, unpack(fields))
    if delay > 0 then
      count('scheduled', 1)
      add_due(id, now + delay)
    else
      count('ready', 1)
      redis.call('XADD', P .. 'r' .. string.sub(opts, 1, 1), '*', 'i', id)
    end
  end
  out[#out + 1] = answer
end
flush()
return out

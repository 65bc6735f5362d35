-- ARGV: where to begin, how many keys to look at, letters of states (or ''). Returns where to go on ('0' at the end), then ids.
local found = redis.call('SCAN', ARGV[1], 'MATCH', T .. '*', 'COUNT', ARGV[2])
local out = { found[1] }
for _, key in ipairs(found[2]) do
  -- The first letter of every record is its state; it is nothing if the record ends just now.
  local state = ARGV[3] ~= '' and redis.call('GETRANGE', key, 0, 0)
  if not state or (state ~= '' and string.find(ARGV[3], state, 1, true)) then out[#out + 1] = sub(key, #T + 1) end
end
return out

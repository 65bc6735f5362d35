-- Returns two texts for each level: how many entries wait, and how many milliseconds ago the first task among them became ready; ''
-- if there is none. What was handed out and has no outcome is pending and not counted. Entries with an outcome are cut off in whole blocks, so up to a block
-- of them may still be in the stream, and counted; the age is that of a task that is ready.
local LOOKED_AT = 100
local out = {}
for level, stream in ipairs(STREAMS) do
  local pending = redis.pcall('XPENDING', stream, 'w')
  -- A queue that nobody has fetched from has no consumer group.
  local handed_out, last = 0, false
  if not pending.err then handed_out, last = pending[1], pending[3] end
  local entries = redis.call('XRANGE', stream, last and ('(' .. last) or '-', '+', 'COUNT', LOOKED_AT)
  local ids = {}
  for at, entry in ipairs(entries) do ids[at] = entry[2][2] end
  local age = ''
  for at, value in ipairs(read_all(ids)) do
    local task = parse(ids[at], value)
    if task and task.s == 'r' then
      age = string.format('%.0f', math.max(now - tonumber(task.rs), 0))
      break
    end
  end
  out[level * 2 - 1] = string.format('%.0f', redis.call('XLEN', stream) - handed_out)
  out[level * 2] = age
end
return out

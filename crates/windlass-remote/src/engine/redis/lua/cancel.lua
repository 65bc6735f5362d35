-- ARGV: 1 to cancel running tasks too, then ids. Returns b (before its start), w (while it ran), r (it runs), f (it has ended).
local out = {}
for at = 2, #ARGV do
  local id = ARGV[at]
  local task = read(id)
  local state = task and task.s or 'f'
  local answer = 'f'
  if state == 's' or state == 'r' then
    answer = 'b'
    -- The entry of a ready task stays in its stream: whoever reads it finds a task that is not ready.
    if state == 's' then redis.call('ZREM', P .. 'z', id) end
  elseif state == 'x' then
    answer = ARGV[1] == '1' and 'w' or 'r'
  end
  if answer == 'b' or answer == 'w' then
    count('cancelled', 1)
    if answer == 'w' then
      drop_entry(task.e)
      tell('c' .. id)
    end
    finish(task, 'c', '')
  end
  out[#out + 1] = answer
end
flush()
return out

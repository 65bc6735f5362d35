-- ARGV: r (retry) or d (drop), then ids. Returns how many that was done for.
local done = 0
for at = 2, #ARGV do
  local task = read(ARGV[at])
  if task and task.s == 'b' then
    done = done + 1
    redis.call('ZREM', P .. 'dead', task.id)
    if ARGV[1] == 'd' then
      redis.call('DEL', task.key, E .. task.id)
    else
      redis.call('HDEL', E .. task.id, 'x')
      task.f, task.k, task.us = '0', '0', '0'
      count('revived', 1)
      enqueue(task, now)
    end
  end
end
flush()
return done

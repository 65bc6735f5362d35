-- ARGV: a client that watches (or ''), then ids. Returns fields and values for each record, or nothing: s state, n name, v version,
-- a fence, f failures, k deaths, w worker, r result, x failure, p payload.
local out = {}

local function finished(value)
  local state, mark = sub(value, 1, 1), sub(value, 2, 2)
  local version, fence, failures, deaths, rest = '1', '1', '0', '0', sub(value, 3)
  if mark == '+' then version, fence, failures, deaths, rest = match(rest, '^(%d+)|(%d+)|(%d+)|(%d+)|(.*)$') end
  local name, data = match(rest, '^([^|]*)|(.*)$')
  return { 's', state, 'n', name, 'v', version, 'a', fence, 'f', failures, 'k', deaths, state == 'd' and 'r' or 'x', data }
end

local function unfinished(task)
  local h = redis.call('HMGET', task.key, 'p', 'x')
  local record = { 's', task.s, 'n', task.kind.n, 'v', task.kind.v, 'a', task.a, 'f', task.f, 'k', task.k, 'p', h[1] or '' }
  if task.w ~= '' then record[#record + 1] = 'w'; record[#record + 1] = task.w end
  if h[2] then record[#record + 1] = 'x'; record[#record + 1] = h[2] end
  return record
end

for at = 2, #ARGV do
  local task = read(ARGV[at])
  if task then
    out[#out + 1] = unfinished(task)
    local watchers = task.re or ''
    if ARGV[1] ~= '' and task.s ~= 'b' and not string.find(',' .. watchers .. ',', ',' .. ARGV[1] .. ',', 1, true) then
      redis.call('HSET', task.key, 're', watchers ~= '' and (watchers .. ',' .. ARGV[1]) or ARGV[1])
    end
  else
    -- No record at all, or a finished one.
    local value = redis.pcall('GET', T .. ARGV[at])
    if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err) end
    out[#out + 1] = type(value) == 'string' and finished(value) or {}
  end
end
return out

-- ARGV: a client that watches (or ''), then ids. Returns fields and values for each record, or nothing: s state, n name, v version,
-- a fence, f failures, k deaths, w worker, r result, x failure, p payload (not for a client that watches: it waits for the outcome).
local out = {}

local function finished(value)
  local state, mark = sub(value, 1, 1), sub(value, 2, 2)
  local version, fence, failures, deaths, rest = '1', '1', '0', '0', sub(value, 3)
  if mark == '+' then version, fence, failures, deaths, rest = match(rest, '^(%d+)|(%d+)|(%d+)|(%d+)|(.*)$') end
  local name, data = match(rest, '^([^|]*)|(.*)$')
  return { 's', state, 'n', name, 'v', version, 'a', fence, 'f', failures, 'k', deaths, state == 'd' and 'r' or 'x', data }
end

local function unfinished(task)
  local record = { 's', task.s, 'n', task.kind.n, 'v', task.kind.v, 'a', task.a, 'f', task.f, 'k', task.k }
  local failure = kept(task, 'x')
  if task.w ~= '' then record[#record + 1] = 'w'; record[#record + 1] = task.w end
  if failure then record[#record + 1] = 'x'; record[#record + 1] = failure end
  if ARGV[1] == '' then record[#record + 1] = 'p'; record[#record + 1] = kept(task, 'p') or task.p end
  return record
end

local ids = {}
for at = 2, #ARGV do ids[at - 1] = ARGV[at] end
for at, value in ipairs(read_all(ids)) do
  local task = parse(ids[at], value)
  if task then
    out[at] = unfinished(task)
    if ARGV[1] ~= '' and task.s ~= 'b' and not string.find(',' .. task.re .. ',', ',' .. ARGV[1] .. ',', 1, true) then
      task.re = task.re ~= '' and (task.re .. ',' .. ARGV[1]) or ARGV[1]
      write(task)
    end
  else
    -- No record at all, or a finished one.
    out[at] = value and finished(value) or {}
  end
end
return out

-- ARGV: id, fence, bytes. Keeps the bytes with the task until its outcome, if the delivery still counts. Returns h (held) or l (lost).
local task = read(ARGV[1])
if not task or task.s ~= 'x' or task.a ~= ARGV[2] then return { 'l' } end
local noted = task.beside == '1'
keep(task, 'c', ARGV[3])
if not noted then write(task) end
return { 'h' }

-- ARGV: id. Returns the bytes of the last checkpoint, or nothing.
local h = fields(T .. ARGV[1], 'm', 'c')
return h and h[2]

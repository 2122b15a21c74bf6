-- Takes requests out of windows for one server, in the order of KEYS, up to the first window that refuses.
--
-- A key is a hash: `w` the start of the window in milliseconds since 1970, `all` the requests that servers hold,
-- and a field for each holder with the requests that it holds: a server, as long as it remembers the window. Only
-- this store's clock decides when a window begins and ends. Running the script twice takes nothing twice: a server
-- names totals, not increments.
--
-- ARGV[1] server, ARGV[2] servers of the fleet; then for each key:
--   number of the holder, limit, length (0: the UTC day), window and milliseconds left as the server knows them,
--   requests that it holds, requests of these that it used, requests that all its questions under way ask for,
--   requests wished for besides.
-- Returns the time, and for each key: window (0: not open), milliseconds left, held by the holder, held by others.
local DAY, SET_BACK = 86400000, 3600000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local servers = tonumber(ARGV[2])
local reply, passes = { now }, true
for i, key in ipairs(KEYS) do
  local arg = function(n) return tonumber(ARGV[2 + (i - 1) * 9 + n]) end
  local me = ARGV[1] .. ':' .. ARGV[3 + (i - 1) * 9]
  local limit, length, id, left = arg(2), arg(3), arg(4), arg(5)
  local mine, used, asked, wished = arg(6), arg(7), arg(8), arg(9)
  local found = redis.call('HMGET', key, 'w', 'all', me)
  local window, all, before = tonumber(found[1] or 0), tonumber(found[2] or 0), tonumber(found[3] or 0)
  local start, rest
  if length == 0 then
    start = now - now % DAY
    -- A clock that is set back by less than an hour does not bring the day before back.
    if window > start and window - now <= SET_BACK then start = window end
    rest = start + DAY - now
    if window ~= 0 and window ~= start then
      redis.call('DEL', key)
      window, all, before = 0, 0, 0
    end
  elseif window ~= 0 then
    start, rest = window, redis.call('PTTL', key)
  elseif left > 0 and id ~= 0 then
    start, rest = id, left
  else
    start, rest = now, left > 0 and left or length
  end
  -- What the server says it holds counts if it means this window, or opened its own while the store was away.
  if id == start or (left > 0 and id == 0) then
    mine = math.max(mine, before)
  else
    used, mine, wished = 0, before, 0
  end
  local others = all - before
  local short, free = used + asked - mine, limit - others - mine
  if passes and asked > 0 and short > 0 then
    if short > free then
      passes = false
    else
      local more = math.min(wished, math.floor((free - short) / (2 * servers)))
      mine = mine + short + more
    end
  end
  if window == 0 and mine > 0 then
    redis.call('HSET', key, 'w', start, 'all', others + mine, me, mine)
    redis.call('PEXPIRE', key, length == 0 and rest + SET_BACK or rest)
  elseif mine > before then
    redis.call('HSET', key, 'all', others + mine, me, mine)
  elseif window == 0 then
    start, rest = 0, 0
  end
  for _, number in ipairs({ start, rest, mine, others }) do reply[#reply + 1] = number end
end
return reply

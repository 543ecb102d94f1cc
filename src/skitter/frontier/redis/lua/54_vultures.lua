-- skitter2_bury_hosts: deletes hosts that have nothing to do and have rested for long.
--
-- KEYS[1] anchor
-- ARGV    now, ms since which they have rested, hosts
-- Result  how many were deleted
--
-- skitter2_bury_sessions: deletes the last answers to sessions that have not been here for long.
--
-- ARGV    now, ms since which they were missed
-- Result  how many were deleted
do
  local function is_idle(S, H, since)
    if not H.slot or H.f > 0 or H.later > 0 or H.n > since or H.place ~= '' or H.home then
      return false
    end
    if redis.call('EXISTS', S.P .. 'W:' .. H.name) == 1 then return false end
    for _, job in ipairs(jobs_of(H)) do
      for class = 0, 1 do
        if line_front(S, job .. ':' .. class .. ':' .. H.name) then return false end
      end
    end
    return true
  end

  local function bury_hosts(keys, args)
    local S = begin(keys, args)
    local since, buried = S.now - tonumber(args[2]), 0
    for at = 3, #args do
      if is_idle(S, host_of(S, args[at]), since) then
        redis.call('DEL', S.P .. 'h:' .. args[at])
        buried = buried + 1
      end
    end
    return buried
  end

  -- A session leaves answers in tags in which it owns nothing, and nobody ends it there. Field
  -- v:<session> says since when it has been missed.
  local function bury_sessions(keys, args)
    local S = begin(keys, args)
    local since, buried = S.now - tonumber(args[2]), 0
    local key = S.P .. 'Q'
    for _, field in ipairs(redis.call('HKEYS', key)) do
      local session = field:match('^[ac]:(.*)$')
      if session and redis.call('HEXISTS', S.P .. 'o', 'x:' .. session) == 0 then
        local missed = tonumber(redis.call('HGET', key, 'v:' .. session))
        if not missed then
          redis.call('HSET', key, 'v:' .. session, S.now)
        elseif missed <= since then
          buried = buried + redis.call('HDEL', key, 'a:' .. session, 'c:' .. session)
          redis.call('HDEL', key, 'v:' .. session)
        end
      end
    end
    return buried
  end

  register_frugal('bury_hosts', bury_hosts)
  register_frugal('bury_sessions', bury_sessions)
end

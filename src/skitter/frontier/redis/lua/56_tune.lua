-- skitter2_tune: changes how known hosts are asked because an operator says so; the rest that an
-- old delay made becomes as long as the new one.
--
-- KEYS[1] anchor
-- ARGV    now, then many times: host, delay ms, requests at once, ms for which its URLs are handed
--         out without its gate; each is "" to leave it, the first two may be "job" for its job's
-- Result  >I8, I8 as for offer, with all hosts taken for the caller's
--
-- skitter2_introduce: says how hosts are asked that are not known yet.
--
-- ARGV    now, then many times: host, slot, domain, delay ms or "", requests at once or ""
-- Result  nothing
--
-- skitter2_hurry: lets scheduled URLs come at once.
--
-- ARGV    now, then members of the schedule
-- Result  nothing
do
  local function as_said(S, H, word, field)
    if word ~= 'job' then return tonumber(word) end
    local J = jobs_of(H)[1] and job_of(S, jobs_of(H)[1])
    return J and J[field]
  end

  local function tune(keys, args)
    local S = begin(keys, args)
    for at = 2, #args, 4 do
      local H = host_of(S, args[at])
      if H.slot then
        local delay = as_said(S, H, args[at + 1], 'delay')
        if delay then set_delay(H, math.max(delay, H.floor)) end
        H.p = as_said(S, H, args[at + 2], 'per_host') or H.p
        local drain = tonumber(args[at + 3])
        if drain then H.drain = drain > 0 and S.now + drain or 0 end
        H.mine = true
        touch(S, H)
      end
    end
    settle(S)
    write_back(S)
    return struct.pack('>I8I8', hint(S))
  end

  local function introduce(keys, args)
    local S = begin(keys, args)
    for at = 2, #args, 5 do
      local H = meet(S, args[at], args[at + 1], args[at + 2])
      H.d = H.d or tonumber(args[at + 3])
      H.p = H.p or tonumber(args[at + 4])
    end
    write_back(S)
  end

  local function hurry(keys, args)
    local S = begin(keys, args)
    for at = 2, #args do redis.call('ZADD', S.P .. 'd', 'XX', S.now, args[at]) end
  end

  register_frugal('tune', tune)
  register_frugal('introduce', introduce)
  register_frugal('hurry', hurry)
end

-- skitter2_enter: takes the gate of a host for a redirect, or a place in line for it.
--
-- KEYS[1] anchor of the host's tag
-- ARGV    now, lease, job, host, slot, domain, the most ms to wait or -1, target: a fp or "",
--         ms that the gate is held unless it is kept
-- Result  ms to wait before the next question; 0 when the host may be asked; -1 when the target is
--         known already; or "NOJOB" and a job's number
--
-- skitter2_reserve: keeps the target of a redirect from being handed out, without its host's gate.
--
-- ARGV    now, lease, its fence or "" when it was found to be live, job, host, target, ms as above
-- Result  0, -1 or ms as above
--
-- skitter2_settle: marks hops as known and gives gates up, after the acks of other tags.
--
-- ARGV    now, gates: many times (>Bc0 lease, I2c0 host), then lease and hops, as for take_hops,
--         many times
-- Result  nothing
do
  local POLL_MS, LOST_MS, HELD_MS, KNOWN = 20, 1000, 250, -1

  local function is_held(S, ask, name)
    return holder_of(S, target_of(ask.job, ask.target, name)) == ask.lease
  end

  -- Reserves the target that is asked for; 0 when that is done, KNOWN, or ms to wait.
  local function hold(S, ask, name)
    if seen_has(S.P, ask.job, ask.target) then return KNOWN end
    local target = target_of(ask.job, ask.target, name)
    return reserve(S, target, ask.lease, name) and 0 or HELD_MS
  end

  local function keep(S, ask, value)
    redis.call('ZADD', S.P .. 'GX', ask.gate_until, ask.gate)
    redis.call('HSET', S.P .. 'G', ask.gate, cmsgpack.pack(value))
  end

  -- Takes a gate, or a place in line; answers 0 when the gate is taken.
  local function take(S, H, ask, value)
    local rest = H.n - S.now
    if ask.most >= 0 and rest > ask.most then return rest end
    if not value or value[1] == NO_GATE then
      value = value or { NO_GATE, ask.job }
      if ask.target ~= '' and not is_held(S, ask, H.name) then
        local refused = hold(S, ask, H.name)
        if refused ~= 0 then return refused end
        value[#value + 1] = ask.target
      end
      value[1] = IN_LINE
      keep(S, ask, value)
      if H.f >= (H.p or 1) then redis.call('RPUSH', S.P .. 'W:' .. H.name, ask.lease) end
    end
    if H.f >= (H.p or 1) then return math.max(POLL_MS, rest) end
    redis.call('LREM', S.P .. 'W:' .. H.name, 0, ask.lease)
    take_gate(S, H, ask.gate, value)
    return 0
  end

  local function enter(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local job, name = args[3], args[4]
    local ask = { lease = args[2], job = job, most = tonumber(args[7]), target = args[8],
      gate = args[2] .. ':' .. name, gate_until = S.now + tonumber(args[9]) }
    local J = job_of(S, job)
    if not J then return nojob(job) end
    if J.state == 'cancel' then return LOST_MS end
    local quiet, quiet_until = is_quiet(S)
    if quiet then return quiet_until - S.now end
    local H = meet(S, name, args[5], args[6], nil, J)
    H.n = rests_until(S, H)
    local packed = redis.call('HGET', S.P .. 'G', ask.gate)
    local value = packed and cmsgpack.unpack(packed) or nil
    local wait = 0
    if not value or value[1] < 0 then wait = take(S, H, ask, value) end
    if wait == 0 then
      value = cmsgpack.unpack(redis.call('HGET', S.P .. 'G', ask.gate))
      wait = value[1] - S.now
      if wait < 0 then
        -- It comes late for its turn: the next request keeps its distance from this one.
        value[1], wait = S.now, 0
        H.asked, H.n = S.now, math.max(H.n, S.now + (H.d or 0))
        redis.call('HSET', S.P .. 'G', ask.gate, cmsgpack.pack(value))
        touch(S, H)
      end
    end
    settle(S)
    write_back(S)
    return wait
  end

  -- When a lease of this tag ends; 0 when it has.
  local function end_of(S, id, fence)
    local lease = lease_of(S, id)
    if not lease or lease[FENCE] ~= tonumber(fence) then return 0 end
    return tonumber(redis.call('ZSCORE', S.P .. 'L', id) or 0)
  end

  local function reserve_only(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local id, fence, job, name = args[2], args[3], args[4], args[5]
    local ask = { lease = id, job = job, target = args[6], gate = id .. ':' .. name,
      gate_until = S.now + tonumber(args[7]) }
    local J = job_of(S, job)
    if not J then return nojob(job) end
    if fence ~= '' then ask.gate_until = math.min(ask.gate_until, end_of(S, id, fence)) end
    if J.state == 'cancel' or ask.gate_until <= S.now then return LOST_MS end
    if is_held(S, ask, name) then return 0 end
    local refused = hold(S, ask, name)
    if refused ~= 0 then return refused end
    local packed = redis.call('HGET', S.P .. 'G', ask.gate)
    local value = packed and cmsgpack.unpack(packed) or { NO_GATE, job }
    value[#value + 1] = ask.target
    keep(S, ask, value)
    return 0
  end

  local function settle_visit(keys, args)
    sets_begin()
    local S = begin(keys, args)
    for place = 3, #args, 2 do bring(S, args[place], args[place + 1]) end
    local gates, at = args[2], 1
    while at <= #gates do
      local id, name
      id, name, at = struct.unpack('>Bc0I2c0', gates, at)
      drop_gate(S, id .. ':' .. name)
    end
    for place = 3, #args, 2 do take_hops(S, args[place + 1]) end
    settle(S)
    write_back(S)
    add_known(S)
  end

  register('enter', enter)
  register('reserve', reserve_only)
  register_frugal('settle', settle_visit)
end

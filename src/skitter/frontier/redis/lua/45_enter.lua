-- skitter1_enter: takes the gate of a host for a redirect, or a place in line for it.
--
-- KEYS[1] anchor of the host's tag
-- ARGV    now, lease, job, host, slot, domain, the most ms to wait or -1, target: a fp or "",
--         ms that the lease lasts, ms that the gate is held unless it is kept
-- Result  ms to wait before the next question; 0 when the host may be asked; -1 when the target is
--         known already; or "NOJOB" and a job's number
--
-- skitter1_settle: marks hops as known and gives gates up, after the acks of other tags.
--
-- ARGV    now, gates: many times (>Bc0 lease, I2c0 host), hops, as for take_hops
-- Result  nothing
do
  local POLL_MS, LOST_MS, HELD_MS, KNOWN = 20, 1000, 250, -1

  -- Keeps a URL from being handed out; 0 when that is done, KNOWN, or ms to wait: while another
  -- redirect leads there it is not known what comes of it.
  local function reserve(S, job, fp, name, until_ms)
    if seen_has(S.P, job, fp) then return KNOWN end
    local member = job .. ':' .. fp .. ':' .. name
    local expiry = redis.call('ZSCORE', S.P .. 'H', member)
    if expiry and tonumber(expiry) > S.now then return HELD_MS end
    redis.call('ZADD', S.P .. 'H', until_ms, member)
    return 0
  end

  -- Takes a gate, or a place in line; answers 0 when the gate is taken.
  local function take(S, H, ask, value)
    local rest = H.n - S.now
    if ask.most >= 0 and rest > ask.most then return rest end
    if not value then
      if ask.target ~= '' then
        local refused = reserve(S, ask.job, ask.target, H.name, ask.until_ms)
        if refused ~= 0 then return refused end
      end
      value = { -1, ask.job, ask.target }
      redis.call('ZADD', S.P .. 'GX', ask.gate_until, ask.gate)
      redis.call('HSET', S.P .. 'G', ask.gate, cmsgpack.pack(value))
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
      gate = args[2] .. ':' .. name, until_ms = S.now + tonumber(args[9]),
      gate_until = S.now + tonumber(args[10]) }
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

  local function settle_visit(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local gates, at = args[2], 1
    while at <= #gates do
      local id, name
      id, name, at = struct.unpack('>Bc0I2c0', gates, at)
      drop_gate(S, id .. ':' .. name)
    end
    take_hops(S, args[3])
    settle(S)
    write_back(S)
    add_known(S)
  end

  register('enter', enter)
  register_frugal('settle', settle_visit)
end

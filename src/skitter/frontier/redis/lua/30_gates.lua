-- The gates of hosts: let go when a response arrives, taken by a redirect on its way there; and the
-- URLs that redirects lead to, which nobody else is given before their lease has ended.
--
--   G    hash  <lease>:<host> -> cmsgpack {ms of its turn, IN_LINE, or NO_GATE, job, targets: fps}
--   GX   zset  the same, by expiry; W:<host> list of the leases in line
--   T    hash  <job>:<fp>:<host> -> lease whose redirect leads there, or BROUGHT: it was queued
--              meanwhile, and is not to be handed out, since its page is there
local IN_LINE, NO_GATE, BROUGHT = -1, -2, ''
local let_go, take_gate, leave_gate, drop_gate, drop_gates, reap_gates, gate_parts
local target_of, holder_of, reserve, unbring

do
  -- Answers lease and host of a gate.
  function gate_parts(gate)
    return gate:match('^(%d+):(.*)$')
  end

  -- Holds a host in flight for a redirect, from its next-allowed time on.
  function take_gate(S, H, gate, value)
    H.f = H.f + 1
    value[1] = math.max(S.now, H.n)
    H.asked = value[1]
    H.n = value[1] + (H.d or 0)
    redis.call('HSET', S.P .. 'G', gate, cmsgpack.pack(value))
    touch(S, H)
  end

  -- Counts one request of a host as answered; its next one waits for its delay. Where nobody knows
  -- when the request ended (`unknown`) that holds for any number in flight. `unasked` is until when
  -- the host would rest for a request that was not made after all.
  function let_go(S, H, unknown, unasked)
    if unasked then
      if H.n == unasked then H.n = S.now end
    else
      H.asked = math.max(H.asked, S.now)
      if H.p == 1 or unknown then H.n = math.max(H.n, S.now + (H.d or 0)) end
    end
    H.f = math.max(0, H.f - 1)
    while H.f < (H.p or 1) do
      local id = redis.call('LPOP', S.P .. 'W:' .. H.name)
      if not id then break end
      local gate = id .. ':' .. H.name
      local value = redis.call('HGET', S.P .. 'G', gate)
      if value then take_gate(S, H, gate, cmsgpack.unpack(value)) end
    end
    touch(S, H)
  end

  -- The name of a URL among the targets; `schedule` uses the same.
  function target_of(job, fp, name)
    return job .. ':' .. fp .. ':' .. name
  end

  -- Answers which lease has a target, or BROUGHT; nil for a URL that is none.
  function holder_of(S, target)
    if S.targets == nil then S.targets = redis.call('HLEN', S.P .. 'T') > 0 end
    return S.targets and redis.call('HGET', S.P .. 'T', target) or nil
  end

  -- Keeps a URL from being handed out; true when that is done, false when another redirect leads
  -- there: then it is not known what comes of it.
  function reserve(S, target, id, name)
    local holder = holder_of(S, target)
    if holder and holder ~= id then
      local expiry = redis.call('ZSCORE', S.P .. 'GX', holder .. ':' .. name)
      if expiry and tonumber(expiry) > S.now then return false end
    end
    redis.call('HSET', S.P .. 'T', target, id)
    S.targets = true
    return true
  end

  -- Takes note that a URL is not waiting any more: who offers it anew wants it fetched.
  function unbring(S, job, fp, name)
    local target = target_of(job, fp, name)
    if holder_of(S, target) == BROUGHT then redis.call('HDEL', S.P .. 'T', target) end
  end

  -- Lets a gate go; what is reserved with it stays so.
  function leave_gate(S, gate)
    local packed = redis.call('HGET', S.P .. 'G', gate)
    local value = packed and cmsgpack.unpack(packed)
    if not value or value[1] < 0 then return end
    if #value < 3 then
      drop_gate(S, gate)
      return
    end
    value[1] = NO_GATE
    redis.call('HSET', S.P .. 'G', gate, cmsgpack.pack(value))
    local _, name = gate_parts(gate)
    let_go(S, host_of(S, name))
  end

  -- Gives up a gate or a place in line, and the targets that came with it.
  function drop_gate(S, gate, unknown)
    local packed = redis.call('HGET', S.P .. 'G', gate)
    redis.call('ZREM', S.P .. 'GX', gate)
    if not packed then return false end
    redis.call('HDEL', S.P .. 'G', gate)
    local id, name = gate_parts(gate)
    local value = cmsgpack.unpack(packed)
    for at = 3, #value do
      local target = target_of(value[2], value[at], name)
      if holder_of(S, target) == id then redis.call('HDEL', S.P .. 'T', target) end
    end
    if value[1] == NO_GATE then return true end
    if value[1] == IN_LINE then
      redis.call('LREM', S.P .. 'W:' .. name, 0, id)
    else
      let_go(S, host_of(S, name), unknown)
    end
    return true
  end

  -- Gives up gates together: places in line first, or one of them would get a gate before its own
  -- end has come.
  function drop_gates(S, gates, unknown)
    local held = {}
    for _, gate in ipairs(gates) do
      local packed = redis.call('HGET', S.P .. 'G', gate)
      if packed and cmsgpack.unpack(packed)[1] >= 0 then
        held[#held + 1] = gate
      else
        drop_gate(S, gate)
      end
    end
    for _, gate in ipairs(held) do drop_gate(S, gate, unknown) end
  end

  -- Gives up the gates of leases that are over, at most 64 at once.
  function reap_gates(S)
    local over = redis.call('ZRANGE', S.P .. 'GX', '-inf', S.now, 'BYSCORE', 'LIMIT', 0, 64)
    drop_gates(S, over)
    return #over == 64
  end
end

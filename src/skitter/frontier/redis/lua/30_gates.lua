-- The gates of hosts: let go when a response arrives, taken by a redirect on its way there.
--
--   G    hash  <lease>:<host> -> cmsgpack {ms of its turn or -1 while in line, job, target}
--   GX   zset  the same, by expiry; W:<host> list of the leases in line
--   H    zset  <job>:<fp>:<host> -> expiry: URLs that a redirect leads to right now
local let_go, take_gate, drop_gate, drop_gates, reap_gates, gate_parts

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

  -- Gives up a gate or a place in line, and the target that came with it.
  function drop_gate(S, gate, unknown)
    local packed = redis.call('HGET', S.P .. 'G', gate)
    redis.call('ZREM', S.P .. 'GX', gate)
    if not packed then return false end
    redis.call('HDEL', S.P .. 'G', gate)
    local id, name = gate_parts(gate)
    local value = cmsgpack.unpack(packed)
    if value[3] ~= '' then
      redis.call('ZREM', S.P .. 'H', value[2] .. ':' .. value[3] .. ':' .. name)
    end
    if value[1] < 0 then
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

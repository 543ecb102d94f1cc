-- skitter2_renew: prolongs leases, and the gates of this tag that leases hold.
--
-- KEYS[1] anchor
-- ARGV    now, lease ms, gate ms, n, n lease ids, then gates as <lease>:<host>
-- Result  for each lease 1, or 0 when it is gone
--
-- skitter2_hold: tells which leases are live, and keeps those from ending in the next moments.
--
-- ARGV    now, ms, leases: many times (>Bc0 id, I4 fence, c8 fp as bytes), "" or 1 for a number
-- Result  for each lease 1 or 0; then, if it is asked for, a blank and the order of what these leases
--         bring: more than that of every call before
--
-- skitter2_left: tells how long a lease lasts.
--
-- ARGV    now, id, fence
-- Result  ms, or -1 when it is gone
do
  local function is_live(S, id)
    local expiry = redis.call('ZSCORE', S.P .. 'L', id)
    return expiry and tonumber(expiry) > S.now
  end

  local function renew(keys, args)
    local S = begin(keys, args)
    local until_ms, n = S.now + tonumber(args[2]), tonumber(args[4])
    local gates_until = S.now + tonumber(args[3])
    local answer = {}
    for at = 5, 4 + n do
      if is_live(S, args[at]) then
        redis.call('ZADD', S.P .. 'L', 'XX', until_ms, args[at])
        answer[#answer + 1] = '1'
      else
        answer[#answer + 1] = '0'
      end
    end
    for at = 5 + n, #args do redis.call('ZADD', S.P .. 'GX', 'XX', gates_until, args[at]) end
    return table.concat(answer)
  end

  -- The time, unless it went back: then a number as little above the last one as can be.
  local function next_order(S)
    local last = tonumber(redis.call('HGET', S.anchor, 'noted')) or 0
    local order = string.format('%.0f', math.max(S.now, last + 1))
    redis.call('HSET', S.anchor, 'noted', order)
    return order
  end

  local function hold(keys, args)
    local S = begin(keys, args)
    local until_ms = S.now + tonumber(args[2])
    local answer, blob, at = {}, args[3], 1
    while at <= #blob do
      local id, fence, raw
      id, fence, raw, at = struct.unpack('>Bc0I4c8', blob, at)
      if same_lease(S, id, fence, raw) then
        redis.call('ZADD', S.P .. 'L', 'XX', 'GT', until_ms, id)
        answer[#answer + 1] = '1'
      else
        answer[#answer + 1] = '0'
      end
    end
    if args[4] == '1' then answer[#answer + 1] = ' ' .. next_order(S) end
    return table.concat(answer)
  end

  local function left(keys, args)
    local S = begin(keys, args)
    local lease = lease_of(S, args[2])
    if not lease or lease[FENCE] ~= tonumber(args[3]) or not is_live(S, args[2]) then return -1 end
    return tonumber(redis.call('ZSCORE', S.P .. 'L', args[2])) - S.now
  end

  register_frugal('renew', renew)
  register_frugal('hold', hold)
  register_question('left', left)
end

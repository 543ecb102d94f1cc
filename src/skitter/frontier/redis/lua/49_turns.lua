-- skitter2_turn: another request to a host whose gate is held already.
--
-- KEYS[1] anchor of the host's tag
-- ARGV    now, lease, host, delay in ms, the most ms to wait or -1
-- Result  ms until the request may be made; more than the most: nothing was taken
--
-- skitter2_lock: takes, keeps or gives back a lock that ends by itself.
--
--   K:<name>  text  ms of its end, a space, the holder; the server forgets it then
--
-- KEYS[1] anchor of the name's tag
-- ARGV    now, name, holder, ms it is to last; 0 gives it back
-- Result  0 when it is the caller's or was given back, else ms until another's ends
do
  local LOST_MS = 1000

  local function turn(keys, args)
    local S = begin(keys, args)
    local id, name, delay, most = args[2], args[3], tonumber(args[4]), tonumber(args[5])
    local gate = id .. ':' .. name
    local packed = redis.call('HGET', S.P .. 'G', gate)
    local entered = packed and cmsgpack.unpack(packed) or nil
    if entered and entered[1] < 0 then entered = nil end
    local lease = lease_of(S, id)
    if not entered and not (lease and lease[HOST] == name and lease[GATE]) then return LOST_MS end
    local H = host_of(S, name)
    local quiet, quiet_until = is_quiet(S)
    local at = math.max(rests_until(S, H), S.now + delay, quiet and quiet_until or 0)
    if most >= 0 and at - S.now > most then return at - S.now end
    H.d, H.asked, H.n = delay, at, at + delay
    if entered then
      entered[1] = at
      redis.call('HSET', S.P .. 'G', gate, cmsgpack.pack(entered))
    end
    touch(S, H)
    settle(S)
    write_back(S)
    return at - S.now
  end

  local function lock(keys, args)
    local S = begin(keys, args)
    local key, holder, ttl = S.P .. 'K:' .. args[2], args[3], tonumber(args[4])
    local held = redis.call('GET', key)
    local expiry, other = (held or ''):match('^(%d+) (.*)$')
    local left = (tonumber(expiry) or 0) - S.now
    if left > 0 and other ~= holder then return ttl > 0 and left or 0 end
    if ttl <= 0 then
      redis.call('DEL', key)
      return 0
    end
    local value = string.format('%d %s', S.now + ttl, holder)
    -- A time that a test has given is not the server's.
    if args[1] == '0' then
      redis.call('SET', key, value, 'PX', ttl)
    else
      redis.call('SET', key, value)
    end
    return 0
  end

  register_frugal('turn', turn)
  register_frugal('lock', lock)
end

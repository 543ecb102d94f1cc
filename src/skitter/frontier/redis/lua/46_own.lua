-- skitter2_own: takes or keeps slots for a session of a member.
--
-- KEYS[1] anchor
-- ARGV    now, session, member, ttl ms, wanted: 64 bytes, 1 for each slot asked for (slot tag + 256 *
--         place), and one that is 1 when the session claims from wide slots here; fences: what the caller holds already, as for peek, or ""
-- Result  {ms, "" when nothing changed or the fences that it holds now}
--
-- skitter2_disown: gives slots back. Leases in them wait again, without a loss counted.
--
-- ARGV    now, session, fences: those to be given back, 1 when it goes on with wide slots here
-- Result  nothing
--
-- skitter2_absent: ends a session that claims from wide slots of this tag, and owns none.
--
-- ARGV    now, session
-- Result  nothing
--
--   o  hash  <slot> -> session; x:<session> -> expiry ms; g:<session> -> its fences;
--            n:<session> -> member
do
  local NO_FENCE = '\0\0\0\0'
  local NOTHING = NO_FENCE:rep(64)
  local FENCE_EPOCH_S = 1700000000

  -- A number above all that were given out. Seconds are in it: a server that took over from another
  -- one and lacks its last numbers goes on above them all the same.
  local function next_fence(S)
    local fence = (tonumber(redis.call('HGET', S.anchor, 'fence')) or 0) + 1
    fence = math.max(fence, math.floor(S.now / 1000) - FENCE_EPOCH_S)
    redis.call('HSET', S.anchor, 'fence', fence)
    return fence
  end

  local function with_fence(fences, place, fence)
    return fences:sub(1, place * 4) .. fence .. fences:sub(place * 4 + 5)
  end

  -- Takes a session out of this tag, with everything that was kept for it.
  local function forget_session(S, session)
    redis.call('HDEL', S.P .. 'o', 'x:' .. session, 'g:' .. session, 'n:' .. session)
    redis.call('HDEL', S.P .. 'Q', 'c:' .. session, 'a:' .. session)
    local gates = {}
    for _, gate in ipairs(redis.call('HKEYS', S.P .. 'G')) do
      if gate:sub(1, #session) == session then gates[#gates + 1] = gate end
    end
    drop_gates(S, gates, true)
  end

  -- Takes slots (a set) out of the fences of a session; one with none left is gone, unless it stays.
  local function strip(S, session, slots, stays)
    local fences = redis.call('HGET', S.P .. 'o', 'g:' .. session)
    if not fences then return end
    for slot in pairs(slots) do
      fences = with_fence(fences, math.floor(tonumber(slot) / 256), NO_FENCE)
    end
    if fences == NOTHING and not stays then
      forget_session(S, session)
    else
      redis.call('HSET', S.P .. 'o', 'g:' .. session, fences)
    end
  end

  -- Lets the URLs that are leased in some slots wait again.
  local function return_leases(S, slots, lost)
    local all = redis.call('HGETALL', S.P .. 'l')
    for at = 1, #all, 2 do
      local lease = cmsgpack.unpack(all[at + 1])
      if slots['' .. lease[SLOT]] then return_lease(S, all[at], lease, lost, true) end
    end
  end

  local function is_live(S, session, member, lives)
    local live = lives[session]
    if live == nil then
      local kept = redis.call('HMGET', S.P .. 'o', 'x:' .. session, 'n:' .. session)
      -- A new session of the same name: the process of the old one is gone.
      live = (tonumber(kept[1]) or 0) > S.now and kept[2] ~= member
      lives[session] = live
    end
    return live
  end

  -- The slots for which there is a fence.
  local function slots_of(S, fences)
    local slots, tag = {}, tonumber(S.P:match(':(%d+)}:$'))
    for place = 0, 63 do
      if fences:sub(place * 4 + 1, place * 4 + 4) ~= NO_FENCE then
        slots[#slots + 1] = '' .. (tag + 256 * place)
      end
    end
    return slots
  end

  -- Chooses which of the wanted slots can be had: those of nobody alive but the caller.
  local function choose(S, session, member, wanted, mine)
    local slots = {}
    local tag = tonumber(S.P:match(':(%d+)}:$'))
    for place = 0, 63 do
      if wanted:byte(place + 1) == 1 then slots[#slots + 1] = '' .. (tag + 256 * place) end
    end
    if #slots == 0 then return {}, {} end
    local owners = redis.call('HMGET', S.P .. 'o', unpack(slots))
    local taken, lost, lives = {}, {}, {}
    for at, slot in ipairs(slots) do
      local owner = owners[at]
      if owner == session and not mine then
        taken[slot] = true
      elseif not owner then
        taken[slot] = true
      elseif owner ~= session and not is_live(S, owner, member, lives) then
        taken[slot] = true
        lost[owner] = lost[owner] or {}
        lost[owner][slot] = true
      end
    end
    return taken, lost
  end

  -- Lets slots go that a session held when its time ran out, and does not ask for again.
  local function give_up(S, session, fences, taken)
    local slots = {}
    for _, slot in ipairs(slots_of(S, fences)) do
      if not taken[slot] and redis.call('HGET', S.P .. 'o', slot) == session then
        slots[slot] = true
        redis.call('HDEL', S.P .. 'o', slot)
      end
    end
    if next(slots) then return_leases(S, slots, true) end
  end

  -- Ends earlier sessions of a member that has come anew: their process is gone.
  local function end_sessions(S, session, member)
    local all = redis.call('HGETALL', S.P .. 'o')
    for at = 1, #all, 2 do
      local other = all[at]:match('^n:(.*)$')
      if other and other ~= session and all[at + 1] == member then
        redis.call('HSET', S.P .. 'o', 'x:' .. other, 0)
      end
    end
  end

  local function own(keys, args)
    local S = begin(keys, args)
    -- Every member comes by soon after a change of servers.
    is_quiet(S)
    local session, member, wanted, fences = args[2], args[3], args[5], args[6]
    local until_ms = S.now + tonumber(args[4])
    local kept = redis.call('HMGET', S.P .. 'o', 'x:' .. session, 'g:' .. session)
    local mine = (tonumber(kept[1]) or 0) > S.now and kept[2] or nil
    if mine and mine == fences then
      local short = false
      for place = 0, 63 do
        if wanted:byte(place + 1) == 1 and mine:sub(place * 4 + 1, place * 4 + 4) == NO_FENCE then
          short = true
          break
        end
      end
      if not short then
        redis.call('HSET', S.P .. 'o', 'x:' .. session, until_ms)
        return { S.now, '' }
      end
    end
    if wanted:byte(65) == 1 then
      if not kept[1] then end_sessions(S, session, member) end
      reap_absent(S, true)
    end
    local taken, lost = choose(S, session, member, wanted, mine)
    if kept[2] and not mine then give_up(S, session, kept[2], taken) end
    local held = mine or NOTHING
    if next(taken) then
      local fence = struct.pack('>I4', next_fence(S))
      local rows = {}
      for slot in pairs(taken) do
        held = with_fence(held, math.floor(tonumber(slot) / 256), fence)
        rows[#rows + 1] = slot
        rows[#rows + 1] = session
      end
      redis.call('HSET', S.P .. 'o', unpack(rows))
      for owner, slots in pairs(lost) do strip(S, owner, slots) end
      return_leases(S, taken, true)
    end
    if held ~= NOTHING or wanted:byte(65) == 1 then
      redis.call('HSET', S.P .. 'o', 'x:' .. session, until_ms, 'g:' .. session, held,
        'n:' .. session, member)
    end
    settle(S)
    write_back(S)
    return { S.now, held }
  end

  local function disown(keys, args)
    local S = begin(keys, args)
    local session, fences = args[2], args[3]
    local mine = redis.call('HGET', S.P .. 'o', 'g:' .. session)
    if not mine then return end
    local slots = {}
    for _, slot in ipairs(slots_of(S, fences)) do
      if fence_at(fences, slot) == fence_at(mine, slot) then
        slots[slot] = true
        redis.call('HDEL', S.P .. 'o', slot)
      end
    end
    strip(S, session, slots, args[4] == '1')
    return_leases(S, slots, false)
    settle(S)
    write_back(S)
  end

  local function absent(keys, args)
    local S = begin(keys, args)
    forget_session(S, args[2])
    reap_absent(S, false)
    settle(S)
    write_back(S)
  end

  register_frugal('absent', absent)
  register_frugal('own', own)
  register_frugal('disown', disown)
end

-- skitter1_peek: when a tag has something for a member, and how urgent it is. Changes nothing.
--
-- KEYS[1] anchor
-- ARGV    now, session, fences: 64 times >I4, the caller's fence of slot tag + 256 * place, 0 for
--         none; and 16 bytes with a bit for each bucket of the caller's where wide slots are looked
--         at, too. A wide slot is tag + 256 * (64 + bucket); everyone has bucket 128
-- Result  "FENCED", or >I8 ms of the next thing to do, 2^53 - 1 for never; I8 front of the best ready host
local owns, next_event, fence_at, is_fenced

do
  local NO_FENCE, WIDE_FENCE = '\0\0\0\0', '\0\0\0\1'
  local PLACES, BUCKETS, FENCES = 64, 128, 256

  local function has_bucket(fences, bucket)
    if #fences == FENCES then return false end
    if bucket == BUCKETS then return true end
    local byte = fences:byte(FENCES + 1 + math.floor(bucket / 8))
    return bit.band(byte, 2 ^ (bucket % 8)) ~= 0
  end

  function fence_at(fences, slot)
    local place = math.floor(slot / 256)
    if place >= PLACES then
      return has_bucket(fences, place - PLACES) and WIDE_FENCE or NO_FENCE
    end
    return fences:sub(place * 4 + 1, place * 4 + 4)
  end

  function owns(fences, slot)
    return fence_at(fences, slot) ~= NO_FENCE
  end

  -- Tells whether a grant of the caller is not its own any more, or its time is over.
  function is_fenced(S, session, fences)
    local kept = redis.call('HMGET', S.P .. 'o', 'x:' .. session, 'g:' .. session)
    if not kept[1] or tonumber(kept[1]) <= S.now then return true end
    if kept[2] == fences:sub(1, FENCES) then return false end
    for at = 1, 256, 4 do
      local fence = fences:sub(at, at + 3)
      if fence ~= NO_FENCE and fence ~= kept[2]:sub(at, at + 3) then return true end
    end
    return false
  end

  local function first_owned(S, index, fences)
    local first = redis.call('ZRANGE', S.P .. index, 0, 0, 'WITHSCORES')
    if not first[1] or owns(fences, first[1]) then return first[1], tonumber(first[2]) end
    local all = redis.call('ZRANGE', S.P .. index, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
      if owns(fences, all[at]) then return all[at], tonumber(all[at + 1]) end
    end
  end

  local function first_time(S, key)
    local first = redis.call('ZRANGE', S.P .. key, 0, 0, 'WITHSCORES')
    return tonumber(first[2]) or LATER
  end

  -- Answers when something can be done next, and the front of the best host that is ready now.
  function next_event(S, fences)
    local slot = first_owned(S, 'Y', fences)
    if slot then
      local name = redis.call('ZRANGE', S.P .. 'y:' .. slot, 0, 0)[1]
      local place = name and redis.call('HGET', S.P .. 'h:' .. name, 'w')
      return S.now, place and tonumber(place:sub(2)) or 0
    end
    local _, at = first_owned(S, 'R', fences)
    at = math.min(at or LATER, first_time(S, 'd'), first_time(S, 'L'), first_time(S, 'GX'))
    if #fences > FENCES then at = math.min(at, first_absence(S)) end
    return at, LATER
  end

  local function peek(keys, args)
    local S = begin(keys, args)
    if is_fenced(S, args[2], args[3]) then return 'FENCED' end
    return struct.pack('>I8I8', next_event(S, args[3]))
  end

  register_question('peek', peek)
end

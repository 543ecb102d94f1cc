-- skitter2_peek: when a tag has something for a member, and how urgent it is. Changes nothing.
--
-- KEYS[1] anchor
-- ARGV    now, session, fences: 64 times >I4, the caller's fence of slot tag + 256 * place, 0 for
--         none; and 16 bytes with a bit for each bucket of the caller's where wide slots are looked
--         at, too. A wide slot is tag + 256 * (64 + bucket); everyone has bucket 128
-- Result  "FENCED", or >I8 ms of the next thing to do, 2^53 - 1 for never; I8 front of the best ready
--         host; B n, n times I4 job that has a host as urgent as that one
local owns, next_event, fence_at, is_fenced, lane_parts, pack_jobs

do
  local NO_FENCE, WIDE_FENCE = '\0\0\0\0', '\0\0\0\1'
  local PLACES, BUCKETS, FENCES = 64, 128, 256
  local MOST_JOBS, MOST_LANES = 16, 256

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

  -- Answers slot and job of a lane. One that an earlier version wrote has no job: its hosts are put
  -- where they belong when they are met.
  function lane_parts(lane)
    return lane:match('^(%d+):?(%d*)$')
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
    if not first[1] or owns(fences, first[1]:match('^%d+')) then
      return first[1], tonumber(first[2])
    end
    local all = redis.call('ZRANGE', S.P .. index, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
      if owns(fences, all[at]:match('^%d+')) then return all[at], tonumber(all[at + 1]) end
    end
  end

  local function first_time(S, key)
    local first = redis.call('ZRANGE', S.P .. key, 0, 0, 'WITHSCORES')
    return tonumber(first[2]) or LATER
  end

  -- The jobs that have lanes of the caller's as urgent as a score says.
  local function jobs_at(S, fences, score)
    local least = math.floor(score / TURNS) * TURNS
    local lanes = redis.call('ZRANGE', S.P .. 'Y', least, '(' .. (least + TURNS), 'BYSCORE',
      'LIMIT', 0, MOST_LANES)
    local jobs, met = {}, {}
    for _, lane in ipairs(lanes) do
      local slot, job = lane_parts(lane)
      if job ~= '' and not met[job] and #jobs < MOST_JOBS and owns(fences, slot) then
        met[job] = true
        jobs[#jobs + 1] = tonumber(job)
      end
    end
    return jobs
  end

  function pack_jobs(jobs)
    local parts = { string.char(#jobs) }
    for at, job in ipairs(jobs) do parts[at + 1] = struct.pack('>I4', job) end
    return table.concat(parts)
  end

  -- Answers when something can be done next, the front of the best host that is ready now, and the
  -- jobs that have one as urgent; S.only is the job that is known to have all lanes.
  function next_event(S, fences)
    local lane, score = first_owned(S, 'Y', fences)
    if lane then
      local name = redis.call('ZRANGE', S.P .. 'y:' .. lane, 0, 0)[1]
      local place = name and redis.call('HGET', S.P .. 'h:' .. name, 'w')
      local front = place and tonumber(place:match('^.(%d+)')) or 0
      return S.now, front, S.only and { tonumber(S.only) } or jobs_at(S, fences, score)
    end
    local _, at = first_owned(S, 'R', fences)
    at = math.min(at or LATER, first_time(S, 'd'), first_time(S, 'L'), first_time(S, 'GX'))
    if #fences > FENCES then at = math.min(at, first_absence(S)) end
    return at, LATER, {}
  end

  local function peek(keys, args)
    local S = begin(keys, args)
    if is_fenced(S, args[2], args[3]) then return 'FENCED' end
    local at, front, jobs = next_event(S, args[3])
    return struct.pack('>I8I8', at, front) .. pack_jobs(jobs)
  end

  register_question('peek', peek)
end

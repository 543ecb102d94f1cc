-- skitter2_clear: forgets the waiting URLs of one class on some hosts.
--
-- KEYS[1] anchor
-- ARGV    now, job, class, the most records, hosts
-- Result  {how many were forgotten, how many of the hosts are done, 1 when the next one waits for
--         the cold tier}
--
-- skitter2_clear_due: forgets the scheduled URLs of one class.
--
-- ARGV    now, job, class, cursor
-- Result  {cursor, how many were forgotten}; the cursor is 0 at the end
--
-- skitter2_forget: makes one URL unknown.
--
-- ARGV    now, job, host, fp, fp as bytes, how many records of its queue were searched before, 1 for
--         another visit: its note stays, and one that waits is left alone
-- Result  1 when it is forgotten, 0 when it is unknown or leased, 2 when it may be in the cold tier,
--         or -n: not among the first n
do
  local SEARCHED_AT_ONCE = 2000

  local function clear_list(S, H, job, class, band, left)
    local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
    local records, cold = pop_hot(S, list, left)
    for _, record in ipairs(records) do
      local fp = fp_text(record)
      seen_del(S.P, job, fp)
      unbring(S, job, fp, H.name)
      if band % RANKS < SCORED then redis.call('HDEL', S.P .. 'z:' .. job, fp) end
    end
    if redis.call('EXISTS', list) == 0 then
      forget_band(S, job .. ':' .. class .. ':' .. H.name, band)
      forget_cold(S, list)
    end
    count(S, job, H.domain, 'q', -#records)
    touch(S, H)
    return #records, cold
  end

  local function clear(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local job, class, left = args[2], args[3], tonumber(args[4])
    local removed, done, waits = 0, 0, false
    for at = 5, #args do
      local H = host_of(S, args[at])
      local bands = redis.call('ZRANGE', S.P .. 'b:' .. job .. ':' .. class .. ':' .. H.name, 0, -1)
      for _, band in ipairs(bands) do
        if left <= 0 or waits then break end
        local n
        n, waits = clear_list(S, H, job, class, tonumber(band), left)
        removed, left = removed + n, left - n
      end
      if left <= 0 or waits then break end
      done = done + 1
    end
    settle(S)
    write_back(S)
    sets_end()
    return { removed, done, waits and 1 or 0 }
  end

  local function unschedule(S, job, fp, name, member)
    redis.call('ZREM', S.P .. 'd', member)
    redis.call('HDEL', S.P .. 'D', member)
    seen_del(S.P, job, fp)
    unbring(S, job, fp, name)
    local H = host_of(S, name)
    H.later = H.later - 1
    count(S, job, H.domain, 's', -1)
  end

  local function clear_due(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local wanted = args[3] == '0' and 2 or 0
    local found = redis.call('HSCAN', S.P .. 'D', args[4], 'MATCH', args[2] .. ':*', 'COUNT', 300)
    local removed = 0
    for at = 1, #found[2], 2 do
      local member = found[2][at]
      if bit.band(found[2][at + 1]:byte(6), 2) == wanted then
        local job, fp, name = member:match('^(%d+):(-?%d+):(.*)$')
        -- A walk may meet a member twice.
        if redis.call('HEXISTS', S.P .. 'D', member) == 1 then
          unschedule(S, job, fp, name, member)
          removed = removed + 1
        end
      end
    end
    settle(S)
    write_back(S)
    sets_end()
    return { found[1], removed }
  end

  local function take_out(S, H, job, class, band, list, at)
    redis.call('LSET', list, at, '')
    redis.call('LREM', list, 1, '')
    if redis.call('EXISTS', list) == 0 then
      forget_band(S, job .. ':' .. class .. ':' .. H.name, band)
    end
    count(S, job, H.domain, 'q', -1)
    touch(S, H)
  end

  -- Looks for a URL in its queue and takes it out. Answers 1, 0 when it is not there, 2 when the
  -- rest of the queue is in the cold tier, or -n when it was not among the first n.
  local function find_queued(S, H, job, raw, skip)
    local passed, left, missing = 0, SEARCHED_AT_ONCE, 0
    for class = 0, 1 do
      local bands = redis.call('ZRANGE', S.P .. 'b:' .. job .. ':' .. class .. ':' .. H.name, 0, -1)
      for _, band in ipairs(bands) do
        local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
        local size = redis.call('LLEN', list)
        if S.cold and has_cold(S.P, list) then missing = 2 end
        local from = math.max(0, skip - passed)
        if from < size then
          local records = redis.call('LRANGE', list, from, from + left - 1)
          for at, record in ipairs(records) do
            if record:sub(14, 21) == raw then
              take_out(S, H, job, class, tonumber(band), list, from + at - 1)
              return 1
            end
          end
          left = left - #records
          if left <= 0 then return -(passed + from + #records) end
        end
        passed = passed + size
      end
    end
    return missing
  end

  -- What a URL counts as, if it has ended: its letter.
  local function ended_as(S, job, fp)
    if set_del(S.P, 'F', job, fp) then return 'd' end
    if set_del(S.P, 'X', job, fp) then return 'x' end
    if set_del(S.P, 'O', job, fp) then return 'o' end
  end

  local function forget_pending(S, H, J, job, fp, args)
    local member = job .. ':' .. fp .. ':' .. H.name
    if redis.call('HEXISTS', S.P .. 'D', member) == 1 then
      unschedule(S, job, fp, H.name, member)
      if J.state == 'cancel' then
        count(S, job, H.domain, 's', 1)
        count(S, job, H.domain, 'o', -1)
      end
      return 1
    end
    if J.state == 'cancel' then
      -- A filter alone does not tell it from a URL that was never there.
      if J.seen == 'bloom' then return 0 end
      count(S, job, H.domain, 'o', -1)
      seen_del(S.P, job, fp)
      return 1
    end
    local found = find_queued(S, H, job, args[5], tonumber(args[6]))
    if found == 1 then
      seen_del(S.P, job, fp)
      unbring(S, job, fp, H.name)
      redis.call('HDEL', S.P .. 'z:' .. job, fp)
    end
    return found
  end

  local function forget(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local job, fp = args[2], args[4]
    local J, H = job_of(S, job), host_of(S, args[3])
    if not J or not H.slot or not seen_has(S.P, job, fp) then return 0 end
    local answer
    local letter = ended_as(S, job, fp)
    if letter then
      count(S, job, H.domain, letter, -1)
      seen_del(S.P, job, fp)
      answer = 1
    elseif args[7] == '1' then
      answer = 0
    else
      answer = forget_pending(S, H, J, job, fp, args)
    end
    if answer == 1 and args[7] ~= '1' then redis.call('HDEL', S.P .. 'n:' .. job, fp) end
    settle(S)
    write_back(S)
    sets_end()
    return answer
  end

  register_frugal('clear', clear)
  register_frugal('clear_due', clear_due)
  register_frugal('forget', forget)
end

-- skitter2_claim: lets freed hosts go, returns what is over, and leases URLs of ready hosts.
-- skitter2_free: lets hosts go and no more; for tags in which the caller owns nothing.
--
-- KEYS[1] anchor
-- ARGV    now; session; call: the number of this call, in ten digits; fences, as for peek; k;
--         lease ms; cap: a job whose stream has that many records is passed over; limits: "" or
--         job:n with commas between, how many more URLs of a job may be leased (of one that is
--         limited and not named: none); freed: many times (>Bc0 lease, I2c0 host, I8 delay + 1 or 0
--         or UNASKED, I8 not before, I8 floor, I8 held until, B 1 for a delay that was set anew + 2
--         for a host of which nothing is asked, I2 requests at once or 0); served: urgency:job:n with
--         commas between, how often jobs were served beyond what is not owed to them
-- Result  "FENCED" with nothing changed, or >I8 ms of the next thing to do, I8 front, B whether lists wait for the
--         cold tier, I2 n, n times
--         (I4 job, I4 rank, I2 slot, I4 fence, B whether its gate is held, I2c0 host, I4c0 record);
--         the id of lease i is session, call and i in two digits; at the end jobs, as for peek
--
-- ARGV of free: now, freed. Result: nothing.
do
  local MOST_ASIDE = 8
  local HOLD_RANKS, HOLD_MS = 200, 2000
  local POLL_MS, STREAM_POLL_MS, TARGET_MS, COLD_MS = 20, 100, 1000, 200
  local MOST_WOKEN, MOST_PASSED = 128, 128
  local NAV_TURN = 4
  local UNASKED = 2 ^ 52
  local DRAIN_MS = 10000

  local function free(S, blob)
    local at, size = 1, #blob
    while at <= size do
      local id, name, delay, not_before, floor, held, signs, per_host
      id, name, delay, not_before, floor, held, signs, per_host, at =
        struct.unpack('>Bc0I2c0I8I8I8I8BI2', blob, at)
      local H = host_of(S, name)
      if H.slot then
        -- Without a delay it is a back-off and nothing else.
        H.held = math.max(H.held, held, delay == 0 and not_before or 0)
        if delay > 0 and delay ~= UNASKED then
          if signs % 2 == 1 then set_delay(H, delay - 1) end
          H.d, H.floor = delay - 1, floor
        end
        H.n = math.max(H.n, not_before)
        if signs >= 2 then H.drain = S.now + DRAIN_MS end
        if per_host > 0 then H.p = per_host end
        touch(S, H)
        local lease = lease_of(S, id)
        if lease and lease[HOST] == name and lease[GATE] then
          local rests_until = delay == UNASKED and lease[GATE]
          lease[GATE] = false
          redis.call('HSET', S.P .. 'l', id, cmsgpack.pack(lease))
          let_go(S, H, false, rests_until)
        else
          leave_gate(S, id .. ':' .. name)
        end
      end
    end
  end

  -- Makes hosts ready that have rested, at most 128 at once; true when there may be more.
  local function wake_resting(S, fences)
    local left = MOST_WOKEN
    local slots = redis.call('ZRANGE', S.P .. 'R', '-inf', S.now, 'BYSCORE')
    for _, slot in ipairs(slots) do
      if left > 0 and owns(fences, slot) then
        local names = redis.call('ZRANGE', S.P .. 'r:' .. slot, '-inf', S.now, 'BYSCORE',
          'LIMIT', 0, left)
        for _, name in ipairs(names) do touch(S, host_of(S, name)) end
        if #names == 0 then S.slots_r[slot] = true end
        left = left - #names
      end
    end
    return left <= 0
  end

  -- The ready lanes of the caller: lane -> score of its best host, and lane -> job; true when some
  -- are left out because their records have nowhere to go. S.only is the job that has them all.
  local function ready_lanes(S, ask, blocked)
    local ready, jobs, left_out, full = {}, {}, {}, false
    local all = redis.call('ZRANGE', S.P .. 'Y', 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
      local lane = all[at]
      local slot, job = lane_parts(lane)
      if owns(ask.fences, slot) then
        if left_out[job] == nil then
          local J = job_of(S, job)
          left_out[job] = J and J.state == 'run' and blocked(S, job, J, ask.cap) or false
          S.only = next(left_out, next(left_out)) == nil and job or nil
          full = full or left_out[job]
        end
        if not left_out[job] then ready[lane], jobs[lane] = tonumber(all[at + 1]), job end
      end
    end
    return ready, jobs, full
  end

  -- How often a job was served at an urgency, beyond what is not owed to it.
  local function served_of(S, job, urgency)
    local of = S.served[job]
    return of and of[urgency] or 0
  end

  local function count_served(S, job, urgency)
    local of = S.served[job]
    if not of then
      of = {}
      S.served[job] = of
    end
    of[urgency] = (of[urgency] or 0) + 1
  end

  local function read_served(S, text)
    S.served = {}
    for urgency, job, n in text:gmatch('(%d+):(%d+):(%d+)') do
      S.served[job] = S.served[job] or {}
      S.served[job][tonumber(urgency)] = tonumber(n)
    end
  end

  local function first_lane(ready)
    local best, best_score
    for lane, score in pairs(ready) do
      if not best or score < best_score then best, best_score = lane, score end
    end
    return best, best and math.floor(best_score / TURNS)
  end

  -- Chooses the lane to serve: the most urgent, then the one whose job was served least, in turns.
  local function best_lane(S, ready, jobs)
    if S.only then return first_lane(ready) end
    local best, best_score, best_urgency, best_served
    for lane, score in pairs(ready) do
      local urgency = math.floor(score / TURNS)
      if not best or urgency <= best_urgency then
        local served = served_of(S, jobs[lane], urgency)
        if not best or urgency < best_urgency or served < best_served
          or (served == best_served and score < best_score) then
          best, best_score, best_urgency, best_served = lane, score, urgency, served
        end
      end
    end
    return best, best_urgency
  end

  -- Takes over the limits of jobs. One that is at its limit is as good as paused: its hosts are set
  -- aside until there is room again.
  local function read_limits(S, limits)
    for job, room in limits:gmatch('(%d+):(%d+)') do
      local J = job_of(S, job)
      if J and J.state == 'run' then
        J.room = tonumber(room)
        if J.room == 0 then J.state = 'full' end
      end
    end
  end

  local function blocked(S, job, J, cap)
    if J.limited and (J.room or 0) <= 0 then return true end
    local is = S.blocked[job]
    if is == nil then
      is = redis.call('XLEN', S.P .. 's:' .. job) >= cap
      S.blocked[job] = is
    end
    return is
  end

  -- The front of a job on a host; nil when it has nothing there.
  local function front_of(S, H, job)
    local data = line_front(S, job .. ':1:' .. H.name) or LATER
    local nav = line_front(S, job .. ':0:' .. H.name) or LATER
    local front = math.min(data, nav)
    return front < LATER and front or nil
  end

  -- Tells whether a host lets a busy one go first whose next URL scores much better.
  local function holds_back(S, H, job)
    local front = front_of(S, H, job)
    local rank = front and front % RANKS or SCORED
    if rank < HOLD_RANKS or rank >= SCORED then return false end
    if not S.busy then
      S.busy = {}
      for _, packed in ipairs(redis.call('HVALS', S.P .. 'l')) do
        S.busy[cmsgpack.unpack(packed)[HOST]] = true
      end
      for _, name in ipairs(S.taken) do S.busy[name] = true end
    end
    local field = S.P .. 'h:' .. H.name
    for name in pairs(S.busy) do
      local other = host_front(S, host_of(S, name))
      if other and other < front - HOLD_RANKS then
        local since = tonumber(redis.call('HGET', field, 'k')) or S.now
        if S.now - since < HOLD_MS then
          redis.call('HSETNX', field, 'k', S.now)
          return true
        end
        break
      end
    end
    redis.call('HDEL', field, 'k')
    return false
  end

  -- Chooses the line to serve: data first, but nav gets its turn.
  local function choose_class(S, H, job)
    local data = line_front(S, job .. ':1:' .. H.name)
    local nav = line_front(S, job .. ':0:' .. H.name)
    if not data then return 0, nav end
    if not nav then return 1, data end
    local turn = redis.call('HINCRBY', S.P .. 'h:' .. H.name, 't' .. job, 1)
    if turn % NAV_TURN == 0 then return 0, nav end
    return 1, data
  end

  -- Takes the first record of a line; nil when there is none after all, or, with true behind it,
  -- when it is not here but in the cold tier.
  local function pop(S, H, job, class, band)
    local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
    if S.cold then
      local is_next = is_marker(redis.call('LINDEX', list, 0))
      if is_next or is_marker(redis.call('LINDEX', list, S.cold.warm)) then want_back(S, list) end
      if is_next then return nil, true end
    end
    local record = redis.call('LPOP', list)
    if not record or redis.call('EXISTS', list) == 0 then
      forget_band(S, job .. ':' .. class .. ':' .. H.name, band)
    end
    if record and band % RANKS < SCORED then
      redis.call('HDEL', S.P .. 'z:' .. job, fp_text(record))
    end
    return record
  end

  -- Puts a URL aside that a redirect leads to, and ends one that a redirect has brought. False for
  -- any other.
  local function is_target(S, H, job, rank, record)
    if S.targets == false then return false end
    local fp = fp_text(record)
    local target = target_of(job, fp, H.name)
    local holder = holder_of(S, target)
    if not holder then return false end
    if holder == BROUGHT then
      redis.call('HDEL', S.P .. 'T', target)
      set_add(S.P, 'F', job, fp)
      count(S, job, H.domain, 'd', 1)
    else
      schedule(S, H, job, fp, rank, record, S.now + TARGET_MS)
    end
    return true
  end

  -- Leases the first URL of a job on a host; "full" when its job is at its limit, "cold" when the URL
  -- has to be brought first.
  local function take(S, H, job, ask, leases)
    local J = job_of(S, job)
    if not J or J.state ~= 'run' or not front_of(S, H, job) then return nil end
    if blocked(S, job, J, ask.cap) then return 'full' end
    local class, band = choose_class(S, H, job)
    local record, cold = pop(S, H, job, class, band)
    if not record then return cold and 'cold' or nil end
    local plain, seq = plain_record(record)
    local rank = band % RANKS
    count(S, job, H.domain, 'q', -1)
    if is_target(S, H, job, rank, plain) then return nil end
    if not seq then
      S.seq = S.seq + 1
      seq = S.seq
    end
    local gated = not drains(S, H)
    if gated then
      H.f, H.asked = H.f + 1, S.now
      H.n = S.now + (H.d or 0)
    end
    count(S, job, H.domain, 'l', 1)
    if J.room then J.room = J.room - 1 end
    local slot = tonumber(H.slot)
    local fence = struct.unpack('>I4', fence_at(ask.fences, slot))
    local lease = { H.name, job, class, (band - rank) / RANKS, rank, slot, fence, plain,
      gated and H.n, ask.session, seq }
    leases[#leases + 1] = lease
    if S.busy then S.busy[H.name] = true else S.taken[#S.taken + 1] = H.name end
  end

  -- Takes a host out of the lanes in which it waits beside the one it was popped from.
  local function leave_lanes(S, H, popped)
    local left = H.lanes
    for job in left:gmatch('%d+') do
      if job ~= popped then
        local lane = H.slot .. ':' .. job
        redis.call('ZREM', S.P .. 'y:' .. lane, H.name)
        S.slots_y[lane] = true
      end
    end
    H.place, H.at, H.lanes = '', 0, ''
    return left
  end

  -- Reads again who is first in the lanes that a host has left or come into.
  local function look_again(S, H, left, lane, ready, jobs)
    local function look(one, job)
      local first = redis.call('ZRANGE', S.P .. 'y:' .. one, 0, 0, 'WITHSCORES')
      ready[one], jobs[one] = tonumber(first[2]), job
    end
    look(lane, jobs[lane])
    if not H or left == jobs[lane] and (H.lanes == '' or H.lanes == left) then return end
    for job in (left .. ',' .. H.lanes):gmatch('%d+') do
      local one = H.slot .. ':' .. job
      -- One that is left out for its records stays so.
      if one ~= lane and jobs[one] then look(one, job) end
    end
  end

  local function hand_out(S, ask, leases)
    local ready, jobs, full = ready_lanes(S, ask, blocked)
    local aside, passed = {}, 0
    while #leases < ask.k and #aside < MOST_ASIDE and passed < MOST_PASSED do
      local lane, urgency = best_lane(S, ready, jobs)
      if not lane then break end
      local job = jobs[lane]
      local name = redis.call('ZPOPMIN', S.P .. 'y:' .. lane)[1]
      S.slots_y[lane] = true
      local H, left
      if name then
        H = host_of(S, name)
        left = leave_lanes(S, H, job)
        local before = #leases
        count_served(S, job, urgency)
        if not drains(S, H) then H.n = rests_until(S, H) end
        if not drains(S, H) and (H.n > S.now or H.f >= (H.p or 1)) then
          enlist(S, H)
        elseif holds_back(S, H, job) then
          aside[#aside + 1] = H
        else
          local why = take(S, H, job, ask, leases)
          if why == 'full' then
            aside[#aside + 1] = H
            full = true
          elseif why == 'cold' then
            rest_briefly(S, H, COLD_MS)
          else
            enlist(S, H)
          end
        end
        if #leases == before then passed = passed + 1 end
      end
      look_again(S, H, left, lane, ready, jobs)
    end
    for _, H in ipairs(aside) do touch(S, H) end
    return #aside > 0 or full, full
  end

  local function pack_leases(leases)
    local parts = {}
    for at, lease in ipairs(leases) do
      parts[at] = struct.pack('>I4I4I2I4BI2c0I4c0', lease[JOB], lease[RANK], lease[SLOT],
        lease[FENCE], lease[GATE] and 1 or 0, #lease[HOST], lease[HOST], #lease[RECORD],
        lease[RECORD])
    end
    return table.concat(parts)
  end

  local function lease_id(ask, at)
    return ask.session .. ask.call .. string.format('%02d', at)
  end

  local function keep_leases(S, ask, leases, lease_ms)
    local rows, ends = {}, {}
    for at, lease in ipairs(leases) do
      local id = lease_id(ask, at)
      rows[2 * at - 1], rows[2 * at] = id, cmsgpack.pack(lease)
      ends[2 * at - 1], ends[2 * at] = S.now + lease_ms, id
    end
    if #leases > 0 then
      redis.call('HSET', S.P .. 'l', unpack(rows))
      redis.call('ZADD', S.P .. 'L', unpack(ends))
    end
    redis.call('HSET', S.P .. 'Q', 'c:' .. ask.session, ask.call .. ':' .. #leases)
  end

  -- The leases of a call that was made before: its answer was lost on the way.
  local function leases_of_call(S, ask)
    local last = redis.call('HGET', S.P .. 'Q', 'c:' .. ask.session)
    if not last or last:sub(1, #ask.call) ~= ask.call then return nil end
    local leases = {}
    local n, whole = tonumber(last:sub(#ask.call + 2)), true
    for at = 1, n do
      leases[at] = lease_of(S, lease_id(ask, at)) or false
      whole = whole and leases[at]
    end
    if whole then return leases end
    -- Some have ended in between: the rest is given back rather than told by halves.
    for at = 1, n do
      if leases[at] then return_lease(S, lease_id(ask, at), leases[at], false, true) end
    end
    settle(S)
    write_back(S)
    return {}
  end

  local function claim(keys, args)
    local S = begin(keys, args)
    local ask = { session = args[2], call = args[3], fences = args[4], k = tonumber(args[5]),
      cap = tonumber(args[7]), limits = args[8] }
    local served = args[10]
    if is_fenced(S, ask.session, ask.fences) then return 'FENCED' end
    local leases = leases_of_call(S, ask)
    local more, waits, full = false, false, false
    local quiet, quiet_until
    if not leases then
      leases = {}
      sets_begin()
      S.blocked, S.taken = {}, {}
      free(S, args[9])
      local gates_left = reap_gates(S)
      local leases_left = reap_leases(S)
      if #ask.fences > 256 then reap_absent(S, true) end
      local due_left = wake_due(S)
      settle(S)
      local resting_left = wake_resting(S, ask.fences)
      settle(S)
      more = leases_left or gates_left or due_left or resting_left
      quiet, quiet_until = is_quiet(S)
      if ask.k > 0 and not quiet then
        read_limits(S, ask.limits)
        read_served(S, served)
        waits, full = hand_out(S, ask, leases)
      end
      settle(S)
      write_back(S)
      keep_leases(S, ask, leases, tonumber(args[6]))
      sets_end()
    end
    local at, front, jobs = next_event(S, ask.fences)
    if quiet then
      at = quiet_until
    elseif more then
      at = S.now
    elseif waits and #leases == 0 then
      at = S.now + (full and STREAM_POLL_MS or POLL_MS)
    end
    local cold = S.cold and redis.call('EXISTS', S.P .. 'KW', S.P .. 'KL') > 0 and 1 or 0
    return struct.pack('>I8I8BI2', at, front, cold, #leases) .. pack_leases(leases)
      .. pack_jobs(jobs)
  end

  local function free_only(keys, args)
    local S = begin(keys, args)
    free(S, args[2])
    settle(S)
    write_back(S)
  end

  register('claim', claim)
  register_frugal('free', free_only)
end

-- skitter2_put_job: makes a job known to this tag, or changes it.
--
-- KEYS[1] anchor
-- ARGV    now, job, then fields and values; `state` and those of `seen` are written when it is new
-- Result  nothing
--
-- skitter2_job_state: lets a job run, pause or end. Ending it drops everything that is not finished:
-- the counters follow at once and its leases are void; what waits is deleted by drop_lines.
--
-- ARGV    now, job, state
-- Result  nothing
--
-- skitter2_unpark: enlists hosts that were set aside because their job was paused.
--
-- ARGV    now, job, the most hosts
-- Result  >I8, I8 as for offer, with all hosts taken for the caller's; I4 hosts that are left
--
-- skitter2_job_hosts: changes how many requests known hosts take at once.
--
-- ARGV    now, requests, hosts
-- Result  nothing
--
-- skitter2_drop_lines: deletes the lines of an ended job; its hosts leave its lanes.
--
-- ARGV    now, job, the most records, hosts
-- Result  {how many of the hosts are done, 1 when the next one waits for the cold tier}
--
-- skitter2_job_number: the number of a job's id, given when it is first asked for and never again.
--
-- KEYS[1] the hash of numbers
-- ARGV    id, key of a hash that keeps the last number
-- Result  number
--
-- skitter2_drop_job: deletes what an ended job has left, when its lines are gone.
--
-- KEYS[1] anchor
-- ARGV    now, job
-- Result  how many keys may be left
do
  local function job_number(keys, args)
    local number = redis.call('HGET', keys[1], args[1])
    if not number then
      number = redis.call('HINCRBY', args[2], 'last_job', 1)
      redis.call('HSET', keys[1], args[1], number)
    end
    return tonumber(number)
  end

  local function put_job(keys, args)
    local S = begin(keys, args)
    local key = S.P .. 'j:' .. args[2]
    local first = redis.call('EXISTS', key) == 0
    local fields = {}
    for at = 3, #args, 2 do
      if first or (args[at] ~= 'state' and args[at]:sub(1, 4) ~= 'seen') then
        fields[#fields + 1] = args[at]
        fields[#fields + 1] = args[at + 1]
      end
    end
    redis.call('HSET', key, unpack(fields))
  end

  local function drop_counts(S, job)
    local key = S.P .. 'c:' .. job
    local all = redis.call('HGETALL', key)
    local dropped, gone = {}, {}
    for at = 1, #all, 2 do
      local letter, rest = all[at]:sub(1, 1), all[at]:sub(2)
      if letter == 'q' or letter == 'l' or letter == 's' then
        dropped[rest] = (dropped[rest] or 0) + tonumber(all[at + 1])
        gone[#gone + 1] = all[at]
      end
    end
    for rest, n in pairs(dropped) do
      if n ~= 0 then redis.call('HINCRBY', key, 'o' .. rest, n) end
    end
    for at = 1, #gone, 4000 do
      redis.call('HDEL', key, unpack(gone, at, math.min(#gone, at + 3999)))
    end
  end

  local function void_leases(S, job, keeps_rows)
    local gates, mine = redis.call('HGETALL', S.P .. 'G'), {}
    for at = 1, #gates, 2 do
      if cmsgpack.unpack(gates[at + 1])[2] == job then mine[#mine + 1] = gates[at] end
    end
    drop_gates(S, mine)
    for _, target in ipairs(redis.call('HKEYS', S.P .. 'T')) do
      if target:sub(1, #job + 1) == job .. ':' then redis.call('HDEL', S.P .. 'T', target) end
    end
    local all = redis.call('HGETALL', S.P .. 'l')
    for at = 1, #all, 2 do
      local lease = cmsgpack.unpack(all[at + 1])
      if lease[JOB] == job then
        if keeps_rows then set_add(S.P, 'O', job, fp_text(lease[RECORD])) end
        end_lease(S, all[at])
        local H = host_of(S, lease[HOST])
        if lease[GATE] then let_go(S, H) end
        touch(S, H)
      end
    end
  end

  local function job_state(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local job, state = args[2], args[3]
    local J = job_of(S, job)
    if not J then return nojob(job) end
    local ends = state == 'cancel' and J.state ~= 'cancel'
    redis.call('HSET', S.P .. 'j:' .. job, 'state', state)
    J.state = state
    if ends then
      drop_counts(S, job)
      void_leases(S, job, J.seen == 'bloom')
      redis.call('UNLINK', S.P .. 'park:' .. job, S.P .. 'z:' .. job)
      settle(S)
      write_back(S)
      sets_end()
    end
  end

  local function unpark(keys, args)
    local S = begin(keys, args)
    local key = S.P .. 'park:' .. args[2]
    for _, name in ipairs(redis.call('SPOP', key, args[3])) do
      local H = host_of(S, name)
      H.mine = true
      touch(S, H)
    end
    settle(S)
    write_back(S)
    local at, front = hint(S)
    return struct.pack('>I8I8I4', at, front, redis.call('SCARD', key))
  end

  local function job_hosts(keys, args)
    local S = begin(keys, args)
    for at = 3, #args do
      local H = host_of(S, args[at])
      -- One that is not there any more asks its job when it comes back.
      if H.slot then
        H.p = tonumber(args[2])
        touch(S, H)
      end
    end
    settle(S)
    write_back(S)
  end

  -- Deletes one list, or the first part of it; answers how many records went, and whether the
  -- next ones are in the cold tier.
  local function drop_list(S, job, list, keeps_rows, left)
    if not keeps_rows then
      redis.call('UNLINK', list)
      return 1, false
    end
    local records, cold = pop_hot(S, list, left)
    for _, record in ipairs(records) do set_add(S.P, 'O', job, fp_text(record)) end
    return #records, cold
  end

  local function drop_lines(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local job, left = args[2], tonumber(args[3])
    local J = job_of(S, job)
    local keeps_rows = J and J.seen == 'bloom'
    local done, waits = 0, false
    for at = 4, #args do
      for class = 0, 1 do
        local bands = S.P .. 'b:' .. job .. ':' .. class .. ':' .. args[at]
        for _, band in ipairs(redis.call('ZRANGE', bands, 0, -1)) do
          if left <= 0 or waits then break end
          local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. args[at]
          local n
          n, waits = drop_list(S, job, list, keeps_rows, left)
          left = left - n
          if redis.call('EXISTS', list) == 0 then
            redis.call('ZREM', bands, band)
            forget_cold(S, list)
          end
        end
      end
      if left <= 0 or waits then break end
      local H = host_of(S, args[at])
      if H.place == 'y' then touch(S, H) end
      done = done + 1
    end
    settle(S)
    write_back(S)
    sets_end()
    return { done, waits and 1 or 0 }
  end

  -- Deletes some of the buckets of a job's sets. The field `dropped` says how far that has got.
  local function drop_buckets(S, job, key, left)
    local kept = redis.call('HMGET', key, 'S:l', 'S:p', 'F:l', 'F:p', 'X:l', 'X:p', 'O:l', 'O:p',
      'seen', 'seen_buckets', 'seen_groups', 'B:s', 'dropped')
    local names = {}
    for at, letter in ipairs({ 'S', 'F', 'X', 'O' }) do
      local base = letter == 'S' and kept[9] == 'compact' and tonumber(kept[10]) or 1
      local buckets = base * 2 ^ (tonumber(kept[2 * at - 1]) or 0) + (tonumber(kept[2 * at]) or 0)
      names[#names + 1] = { letter, buckets }
    end
    if kept[9] == 'bloom' then
      names[#names + 1] = { 'B', tonumber(kept[11]) * ((tonumber(kept[12]) or 0) + 1) }
    end
    local skip, passed, done = tonumber(kept[13]) or 0, 0, 0
    for _, name in ipairs(names) do
      for bucket = math.max(0, skip - passed), name[2] - 1 do
        if done == left then break end
        redis.call('UNLINK', S.P .. name[1] .. ':' .. job .. ':' .. bucket)
        done = done + 1
      end
      passed = passed + name[2]
    end
    redis.call('HSET', key, 'dropped', skip + done)
    return passed - skip - done
  end

  local function drop_job(keys, args)
    local S = begin(keys, args)
    local job = args[2]
    local key = S.P .. 'j:' .. job
    if redis.call('EXISTS', key) == 0 then return 0 end
    local left = drop_buckets(S, job, key, 1000)
    if left > 0 then return left end
    for _, name in ipairs({ 'm:', 'c:', 't:', 'n:', 'e:', 's:', 'park:', 'z:' }) do
      redis.call('UNLINK', S.P .. name .. job)
    end
    redis.call('DEL', key)
    return 0
  end

  register_frugal('drop_job', drop_job)
  register('job_number', job_number)
  register('put_job', put_job)
  register_frugal('job_state', job_state)
  register_frugal('unpark', unpark)
  register_frugal('job_hosts', job_hosts)
  register_frugal('drop_lines', drop_lines)
end

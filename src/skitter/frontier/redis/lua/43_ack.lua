-- skitter2_ack: ends leases with their results, and queues what their pages linked to in this tag.
--
-- KEYS[1] anchor
-- ARGV    now; session; request: the number of this call; then for each ack three texts:
--         - >Bc0 lease, I4 fence, c8 fp as bytes, Bc0 fp, B result, B 1 if the note is a record for
--           the outputs plus 2 if the page index is elsewhere, I8 when to try again or 0, I4c0 note,
--           B n, n times (I2c0 counter, i8 what is added), B n, n times I2c0 host of this tag whose
--           gate the lease may hold
--         - hops, as for take_hops
--         - links, as for offer
-- A note that the page index elsewhere should have is refused.
-- Result  >I4 new, I4 beyond the bound, I4 queued, I8, I8, B as for offer, then for each ack A
--         (accepted) or S (stale); or "NOJOB" and a job's number, with nothing changed
do
  local DONE, RETRY, DEAD, DEFER = 0, 1, 2, 3
  local ELSEWHERE = 2

  local function again(record, result)
    if result == RETRY then
      return with_byte(record, 4, math.min(255, record:byte(4) + 1))
    elseif result == DONE then
      local visit = math.min(65535, struct.unpack('>I2', record, 8) + 1)
      return record:sub(1, 3) .. '\0\0' .. record:sub(6, 7) .. struct.pack('>I2', visit)
        .. record:sub(10)
    end
    return record
  end

  local function follow_result(S, H, lease, fp, result, at)
    local job, record = lease[JOB], lease[RECORD]
    count(S, job, H.domain, 'l', -1)
    if result == DEAD then
      count(S, job, H.domain, 'x', 1)
      set_add(S.P, 'X', job, fp)
    elseif result == DONE and (lease[CLASS] == 1 or at == 0) then
      count(S, job, H.domain, 'd', 1)
      set_add(S.P, 'F', job, fp)
    elseif result == DEFER and at == 0 then
      give_back(S, H, lease, record)
    elseif at > S.now then
      schedule(S, H, job, fp, lease[RANK], again(record, result), at)
    else
      local band = lease[URGENCY] * RANKS + lease[RANK]
      enqueue(S, H, job, lease[CLASS], band, again(record, result), fp)
    end
  end

  local function add_tally(S, job, head, at)
    local n
    n, at = struct.unpack('>B', head, at)
    for _ = 1, n do
      local name, amount
      name, amount, at = struct.unpack('>I2c0i8', head, at)
      local tally = S.tally[job]
      if not tally then
        tally = {}
        S.tally[job] = tally
      end
      tally[name] = (tally[name] or 0) + amount
    end
    return at
  end

  local function leave_gates(S, id, head, at)
    local n
    n, at = struct.unpack('>B', head, at)
    for _ = 1, n do
      local name
      name, at = struct.unpack('>I2c0', head, at)
      drop_gate(S, id .. ':' .. name)
    end
  end

  -- Ends one lease; false when it had ended before.
  local function accept(S, head, hops)
    local id, fence, raw, fp, result, listed, when, note, at =
      struct.unpack('>Bc0I4c8Bc0BBI8I4c0', head)
    local lease = same_lease(S, id, fence, raw)
    if not lease then return false end
    local H, job = host_of(S, lease[HOST]), lease[JOB]
    H.mine = true
    follow_result(S, H, lease, fp, result, when)
    if note ~= '' and listed < ELSEWHERE then redis.call('HSET', S.P .. 'n:' .. job, fp, note) end
    local J = listed % 2 == 1 and job_of(S, job)
    if J and J.outbox then
      local visit = struct.unpack('>I2', lease[RECORD], 8)
      redis.call('XADD', S.P .. 's:' .. job, '*', 'r', note, 'k',
        fp .. ':' .. visit .. ':' .. string.format('%d', fence))
    end
    at = add_tally(S, job, head, at)
    bring(S, id, hops)
    leave_gates(S, id, head, at)
    if lease[GATE] then let_go(S, H) end
    touch(S, H)
    end_lease(S, id)
    return true
  end

  -- Ends the call if it would keep here what belongs into the page index elsewhere.
  local function refuse_notes(S, args)
    if not S.index then return end
    for place = 4, #args, 3 do
      local _, _, _, _, _, listed, _, note = struct.unpack('>Bc0I4c8Bc0BBI8I4c0', args[place])
      if note ~= '' and listed < ELSEWHERE then
        refuse('INDEXED', 'the page index is elsewhere')
      end
    end
  end

  local function missing_job(S, args)
    for place = 6, #args, 3 do
      local at, size = 1, #args[place]
      while at <= size do
        local job, _, _, _, _, _, bytes, after = struct.unpack('>I4I2BI2I2c0I2c0I4', args[place], at)
        if not job_of(S, '' .. job) then return job end
        at = after + bytes
      end
    end
  end

  local function ack(keys, args)
    local S = begin(keys, args)
    local session, request = args[2], args[3]
    local last = redis.call('HGET', S.P .. 'Q', 'a:' .. session)
    if last and last:sub(1, #request + 1) == request .. ' ' then return last:sub(#request + 2) end
    refuse_notes(S, args)
    local missing = missing_job(S, args)
    if missing then return nojob(missing) end
    sets_begin()
    S.tally = {}
    local statuses = {}
    for place = 4, #args, 3 do
      statuses[#statuses + 1] = accept(S, args[place], args[place + 1]) and 'A' or 'S'
    end
    for at, status in ipairs(statuses) do
      if status == 'A' then take_hops(S, args[3 * at + 2]) end
    end
    local got = { new = 0, over = 0, queued = 0 }
    for at, status in ipairs(statuses) do
      if status == 'A' then take_links(S, args[3 * at + 3], got) end
    end
    settle(S)
    write_back(S)
    for job, tally in pairs(S.tally) do
      for name, amount in pairs(tally) do redis.call('HINCRBY', S.P .. 't:' .. job, name, amount) end
    end
    add_known(S)
    local at, front = hint(S)
    local long = S.long and 1 or 0
    local answer = struct.pack('>I4I4I4I8I8B', got.new, got.over, got.queued, at, front, long)
      .. table.concat(statuses)
    redis.call('HSET', S.P .. 'Q', 'a:' .. session, request .. ' ' .. answer)
    return answer
  end

  register('ack', ack)
end

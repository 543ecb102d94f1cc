-- Leases: their parts, how one is given back, and what falls due.
--
--   l  hash  id -> cmsgpack {host, job, class, urgency, rank, slot, fence, record, gate,
--            session, seq}; gate is until when the host rests for the request, false when let go
--   L  zset  id -> expiry ms
--
-- A URL that is given back takes its old place: before everything that still waits in its band, and
-- behind what was handed out before it and is given back as well. For that it carries the number
-- of its hand-out (seq) at its end while it waits, and RETURNED among its flags.
local HOST, JOB, CLASS, URGENCY, RANK, SLOT, FENCE, RECORD, GATE, SESSION, SEQ =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local RETURNED = 128
local lease_of, end_lease, give_back, return_lease, plain_record, with_byte
local reap_leases, wake_due, same_lease, reap_absent, first_absence

do
  function with_byte(record, at, value)
    return record:sub(1, at - 1) .. string.char(value) .. record:sub(at + 1)
  end

  -- Answers a record as it was queued first, and its place if it was given back.
  function plain_record(record)
    local flags = record:byte(2)
    if flags < RETURNED then return record, nil end
    return with_byte(record:sub(1, -9), 2, flags - RETURNED), struct.unpack('>I8', record, #record - 7)
  end

  function lease_of(S, id)
    local packed = redis.call('HGET', S.P .. 'l', id)
    return packed and cmsgpack.unpack(packed) or nil
  end

  -- Answers the lease of that id if it is the one meant and not over.
  function same_lease(S, id, fence, raw)
    local lease = lease_of(S, id)
    if not lease or lease[FENCE] ~= fence or lease[RECORD]:sub(14, 21) ~= raw then return nil end
    local expiry = redis.call('ZSCORE', S.P .. 'L', id)
    if not expiry or tonumber(expiry) <= S.now then return nil end
    return lease, tonumber(expiry)
  end

  function end_lease(S, id)
    redis.call('HDEL', S.P .. 'l', id)
    redis.call('ZREM', S.P .. 'L', id)
  end

  -- Puts a record back into its place.
  function give_back(S, H, lease, record)
    local job, class = lease[JOB], lease[CLASS]
    local band = lease[URGENCY] * RANKS + lease[RANK]
    local line = job .. ':' .. class .. ':' .. H.name
    local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
    local seq = lease[SEQ]
    local marked = with_byte(record, 2, record:byte(2) + RETURNED) .. struct.pack('>I8', seq)
    local at, before = 0, nil
    while true do
      local other = redis.call('LINDEX', list, at)
      if not other then break end
      local _, place = plain_record(other)
      if not place or place > seq then break end
      at, before = at + 1, other
    end
    if before then
      redis.call('LINSERT', list, 'AFTER', before, marked)
    else
      redis.call('LPUSH', list, marked)
    end
    redis.call('ZADD', S.P .. 'b:' .. line, band, band)
    local front = S.fronts[line]
    if front ~= nil and (not front or band < front) then S.fronts[line] = band end
    if lease[RANK] < SCORED then
      redis.call('HSET', S.P .. 'z:' .. job, fp_text(record), class .. ':' .. band)
    end
    count(S, job, H.domain, 'q', 1)
    touch(S, H)
  end

  -- Ends a lease without a result: its URL waits again. `lost` counts the loss, `unknown` is for
  -- a request that may still be under way.
  function return_lease(S, id, lease, lost, unknown)
    local H = host_of(S, lease[HOST])
    local record = lease[RECORD]
    if lost then record = with_byte(record, 5, math.min(255, record:byte(5) + 1)) end
    local J = job_of(S, lease[JOB])
    if J and J.state ~= 'cancel' then
      give_back(S, H, lease, record)
      count(S, lease[JOB], H.domain, 'l', -1)
    end
    end_lease(S, id)
    if lease[GATE] then let_go(S, H, unknown) end
  end

  -- Returns the URLs of leases that are over, at most 64 at once; true when there may be more.
  function reap_leases(S)
    local over = redis.call('ZRANGE', S.P .. 'L', '-inf', S.now, 'BYSCORE', 'LIMIT', 0, 64)
    for _, id in ipairs(over) do
      local lease = lease_of(S, id)
      if lease then
        return_lease(S, id, lease, true)
      else
        redis.call('ZREM', S.P .. 'L', id)
      end
    end
    return #over == 64
  end

  -- When the first session that has leases in wide slots will be missed.
  function first_absence(S)
    local first, met = LATER, {}
    for _, packed in ipairs(redis.call('HVALS', S.P .. 'l')) do
      local lease = cmsgpack.unpack(packed)
      local session = lease[SESSION]
      if lease[SLOT] >= WIDE and not met[session] then
        met[session] = true
        first = math.min(first, tonumber(redis.call('HGET', S.P .. 'o', 'x:' .. session)) or 0)
      end
    end
    return first
  end

  -- Returns the URLs of wide slots whose session has not been heard of in its time: there is no
  -- next owner who would do it.
  function reap_absent(S, lost)
    local all, live = redis.call('HGETALL', S.P .. 'l'), {}
    for at = 1, #all, 2 do
      local lease = cmsgpack.unpack(all[at + 1])
      if lease[SLOT] >= WIDE then
        local session = lease[SESSION]
        if live[session] == nil then
          local expiry = redis.call('HGET', S.P .. 'o', 'x:' .. session)
          live[session] = expiry and tonumber(expiry) > S.now or false
        end
        if not live[session] then return_lease(S, all[at], lease, lost, true) end
      end
    end
  end

  -- Queues the URLs whose time has come, at most 64 at once; true when there may be more.
  function wake_due(S)
    local due = redis.call('ZRANGE', S.P .. 'd', '-inf', S.now, 'BYSCORE', 'LIMIT', 0, 64)
    for _, member in ipairs(due) do
      local job, fp, name = member:match('^(%d+):(-?%d+):(.*)$')
      local value = redis.call('HGET', S.P .. 'D', member)
      local J = job_of(S, job)
      local H = host_of(S, name)
      H.later = H.later - 1
      if value and J and J.state ~= 'cancel' then
        local record = value:sub(5)
        local band = (9 - record:byte(3)) * RANKS + struct.unpack('>I4', value)
        local class = bit.band(record:byte(2), 2) == 2 and 0 or 1
        enqueue(S, H, job, class, band, record, fp)
        count(S, job, H.domain, 's', -1)
      elseif value and J and J.seen == 'bloom' then
        -- Its entry is what told it from a false positive; a row does so from here on.
        set_add(S.P, 'O', job, fp)
      end
    end
    if #due > 0 then
      settle(S)
      redis.call('HDEL', S.P .. 'D', unpack(due))
      redis.call('ZREM', S.P .. 'd', unpack(due))
    end
    return #due == 64
  end
end

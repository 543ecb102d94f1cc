-- skitter2_offer: queues the links that are new to their job.
--
-- KEYS[1] anchor
-- ARGV    now; room: "" or how many more URLs the queue of the (one) job takes before its bound;
--         links: groups of  >I4 job, I2 slot, B whether the slot is the caller's, I2 n,
--         I2c0 domain, I2c0 host, I4 bytes of what follows, n times (I4 rank, I8 not before,
--         B digits of fp, I4 bytes of record, record, fp)
-- Result  >I4 new, I4 beyond the bound, I4 queued, I8 when one of the caller's hosts that were
--         touched may be asked, I8 its front, B whether a list is too long now; or "NOJOB" and a
--         job's number
local take_links, take_hops, bring, add_known, hint, nojob

do
  local MOST_WALKS = 16

  -- When the caller's touched hosts may be asked, and the best front among them.
  function hint(S)
    local at, front = S.due, LATER
    for _, H in pairs(S.hosts) do
      if H.mine and H.front then
        at = math.min(at, drains(S, H) and S.now or math.max(S.now, H.n))
        front = math.min(front, H.front)
      end
    end
    return at, front
  end

  function nojob(job)
    return 'NOJOB' .. job
  end

  -- Gives a URL that waits under a worse score a better place, if one does.
  local function move_up(S, H, job, fp, rank, raw)
    local place = redis.call('HGET', S.P .. 'z:' .. job, fp)
    if not place then return end
    local class, band = place:match('^(%d):(%d+)$')
    band = tonumber(band)
    if rank >= band % RANKS then return end
    -- A walk over a long list takes a while: only so many a call.
    S.walks = (S.walks or 0) + 1
    if S.walks > MOST_WALKS then return end
    local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
    for at, record in ipairs(redis.call('LRANGE', list, 0, 999)) do
      if record:sub(14, 21) == raw then
        enqueue(S, H, job, class, band - band % RANKS + rank, plain_record(record), fp)
        settle(S)
        redis.call('LSET', list, at - 1, '')
        redis.call('LREM', list, 1, '')
        if redis.call('EXISTS', list) == 0 then
          forget_band(S, job .. ':' .. class .. ':' .. H.name, band)
          touch(S, H)
        end
        count(S, job, H.domain, 'q', -1)
        return
      end
    end
  end

  local function take_new(S, H, got, job, J, rank, not_before, fp, record)
    got.new = got.new + 1
    if not_before > S.now then
      schedule(S, H, job, fp, rank, record, not_before)
      return
    end
    local over = got.room and got.room <= 0
    if over then got.over = got.over + 1 end
    if over and J.overflow == 'drop' then
      set_add(S.P, 'O', job, fp)
      count(S, job, H.domain, 'o', 1)
      return
    end
    local class = bit.band(record:byte(2), 2) == 2 and 0 or 1
    enqueue(S, H, job, class, (9 - record:byte(3)) * RANKS + rank, record, fp)
    got.queued = got.queued + 1
    if got.room then got.room = got.room - 1 end
  end

  -- What this call has made known so far: that is written last.
  local function offered_of(S, job)
    local offered = S.offered[job]
    if not offered then
      offered = {}
      S.offered[job] = offered
    end
    return offered
  end

  -- Takes groups of links. Answers a job this tag does not know, else nil.
  function take_links(S, blob, got)
    local at, size, P = 1, #blob, S.P
    while at <= size do
      local job, slot, mine, n, domain, name, bytes
      job, slot, mine, n, domain, name, bytes, at = struct.unpack('>I4I2BI2I2c0I2c0I4', blob, at)
      job = '' .. job
      local J = job_of(S, job)
      if not J then return job end
      if J.state == 'cancel' then
        at = at + bytes
      else
        local H
        local offered = offered_of(S, job)
        for _ = 1, n do
          local rank, not_before, digits, length, from = struct.unpack('>I4I8BI4', blob, at)
          local to = from + length
          at = to + digits
          local fp = blob:sub(to, at - 1)
          local known = offered[fp] or seen_has(P, job, fp)
          if not H and (not known or rank < SCORED) then
            H = meet(S, name, slot, domain, job, J)
            H.mine = H.mine or mine == 1
          end
          if not known then
            take_new(S, H, got, job, J, rank, not_before, fp, blob:sub(from, to - 1))
            offered[fp] = true
            S.fresh[#S.fresh + 1] = job
            S.fresh[#S.fresh + 1] = fp
          elseif rank < SCORED then
            move_up(S, H, job, fp, rank, blob:sub(from + 13, from + 20))
          end
        end
      end
    end
  end

  -- Calls a function with each of the hops of redirects: groups of  >I4 job, I2 slot, I2 n,
  -- I2c0 domain, I2c0 host, I2c0 what the page index keeps of them, n times Bc0 fp.
  local function each_hop(blob, visit)
    local at, size = 1, #blob
    while at <= size do
      local job, slot, n, domain, name, pointer
      job, slot, n, domain, name, pointer, at = struct.unpack('>I4I2I2I2c0I2c0I2c0', blob, at)
      for _ = 1, n do
        local fp
        fp, at = struct.unpack('>Bc0', blob, at)
        visit('' .. job, fp, name, slot, domain, pointer)
      end
    end
  end

  -- Keeps a pointer to where the record of a hop is, unless the hop has a record of its own.
  local function point(S, job, fp, pointer)
    local key = S.P .. 'n:' .. job
    local kept = redis.call('HGET', key, fp)
    if not kept or kept:byte() == 62 then redis.call('HSET', key, fp, pointer) end
  end

  -- Makes hops known as done.
  function take_hops(S, blob)
    each_hop(blob, function(job, fp, name, slot, domain, pointer)
      local J, offered = job_of(S, job), offered_of(S, job)
      if J and pointer ~= '' then point(S, job, fp, pointer) end
      if J and not offered[fp] and not seen_has(S.P, job, fp) then
        local H = meet(S, name, slot, domain, job, J)
        set_add(S.P, 'F', job, fp)
        count(S, job, H.domain, 'd', 1)
        offered[fp] = true
        S.fresh[#S.fresh + 1] = job
        S.fresh[#S.fresh + 1] = fp
      end
    end)
  end

  local function has_ended(S, job, fp)
    return set_has(S.P, 'F', job, fp) or set_has(S.P, 'X', job, fp) or set_has(S.P, 'O', job, fp)
  end

  -- Takes note of the hops that were queued while they were reserved for a lease, whose ack has
  -- been accepted: nobody could have been given them. Call it before the gates of the lease go.
  function bring(S, id, blob)
    each_hop(blob, function(job, fp, name)
      local target = target_of(job, fp, name)
      if holder_of(S, target) == id and seen_has(S.P, job, fp) and not has_ended(S, job, fp) then
        redis.call('HSET', S.P .. 'T', target, BROUGHT)
      end
    end)
  end

  -- Marks what was taken as known: the last step, so that a call that is cut short loses nothing.
  function add_known(S)
    for at = 1, #S.fresh, 2 do seen_add(S.P, S.fresh[at], S.fresh[at + 1]) end
    sets_end()
  end

  local function offer(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local got = { new = 0, over = 0, queued = 0, room = tonumber(args[2]) }
    local missing = take_links(S, args[3], got)
    settle(S)
    write_back(S)
    add_known(S)
    if missing then return nojob(missing) end
    local at, front = hint(S)
    return struct.pack('>I4I4I4I8I8B', got.new, got.over, got.queued, at, front, S.long and 1 or 0)
  end

  register('offer', offer)
end

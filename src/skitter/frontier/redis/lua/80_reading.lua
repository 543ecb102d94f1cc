-- Questions, which change nothing.
--
-- KEYS[1] is the anchor of a tag, ARGV[1] the time in ms or 0.
do
  -- In a queued record: version, flags, priority, attempts, lost (a byte each), depth, visit
  -- (two), found (four), then the eight bytes of the fingerprint.
  local FP_FROM, FP_TO = 14, 21
  local CHUNK = 100

  local function start(keys, args)
    sets_begin()
    return begin(keys, args).P
  end

  local function has_fp(record, raw)
    return record:sub(FP_FROM, FP_TO) == raw
  end

  -- Leases have no index by URL: there are never many in a tag.
  local function find_lease(P, job, raw)
    for _, packed in ipairs(redis.call('HVALS', P .. 'l')) do
      local lease = cmsgpack.unpack(packed)
      if lease[JOB] == job and has_fp(lease[RECORD], raw) then return lease end
    end
    return nil
  end

  -- Answers band and record of a queued URL. Without one it tells whether all were looked at.
  local function find_queued(P, job, host, raw, limit)
    local left, whole = limit, true
    for class = 1, 0, -1 do
      local line = job .. ':' .. class .. ':'
      for _, band in ipairs(redis.call('ZRANGE', P .. 'b:' .. line .. host, 0, -1)) do
        local queue, at = P .. 'q:' .. line .. band .. ':' .. host, 0
        if has_cold(P, queue) then whole = false end
        repeat
          if left <= 0 then return nil, nil, false end
          local most = math.min(CHUNK, left)
          local records = redis.call('LRANGE', queue, at, at + most - 1)
          for _, record in ipairs(records) do
            if has_fp(record, raw) then return band, plain_record(record), true end
          end
          at, left = at + #records, left - #records
        until #records < most
      end
    end
    return nil, nil, whole
  end

  -- Finds a known URL that has not ended. Answers state, record or '', rank, due time or '', and 1
  -- when only a filter speaks for it.
  local function find_waiting(P, job, fp, raw, host, limit)
    local lease = find_lease(P, job, raw)
    if lease then return 'l', lease[RECORD], lease[RANK], '', 0 end
    local member = job .. ':' .. fp .. ':' .. host
    local due = redis.call('ZSCORE', P .. 'd', member)
    if due then
      local kept = redis.call('HGET', P .. 'D', member)
      return 's', kept:sub(5), struct.unpack('>I4', kept), due, 0
    end
    local band, record, searched = find_queued(P, job, host, raw, limit)
    if record then return 'q', record, tonumber(band) % RANKS, '', 0 end
    local kind = seen_kind(P, job)
    -- The store holds nothing of it: others have its place in the filter, or its 32 bits.
    if searched and kind ~= 'exact' then return 'u', '', 0, '', 1 end
    return 'q', '', 0, '', kind == 'bloom' and 1 or 0
  end

  -- ARGV: now, job, fingerprint, the same as eight bytes, host, how many queued URLs to search.
  -- Result: state (u q l s d x o), note, record or '', rank, due time in ms or '', presumed.
  local function look(keys, args)
    local P = start(keys, args)
    local job, fp, raw, host = args[2], args[3], args[4], args[5]
    if not seen_has(P, job, fp) then return { 'u', '', '', 0, '', 0 } end
    local note = redis.call('HGET', P .. 'n:' .. job, fp) or ''
    if set_has(P, 'F', job, fp) then return { 'd', note, '', 0, '', 0 } end
    if set_has(P, 'X', job, fp) then return { 'x', note, '', 0, '', 0 } end
    if set_has(P, 'O', job, fp) then return { 'o', note, '', 0, '', 0 } end
    local cancelled = redis.call('HGET', P .. 'j:' .. job, 'state') == 'cancel'
    -- What a cancelled job had waiting is gone; of what a filter knows, rows are left.
    if cancelled and seen_kind(P, job) ~= 'bloom' then return { 'o', note, '', 0, '', 0 } end
    local state, record, rank, due, presumed =
      find_waiting(P, job, fp, raw, host, tonumber(args[6]))
    if cancelled and state ~= 'u' then return { 'o', note, '', 0, '', presumed } end
    return { state, note, record, rank, due, presumed }
  end

  -- ARGV: now, job, fingerprints. Result: a text with 1 for each that is known, 0 for others.
  local function seen(keys, args)
    local P = start(keys, args)
    local known = {}
    for at = 3, #args do known[#known + 1] = seen_has(P, args[2], args[at]) and '1' or '0' end
    return table.concat(known)
  end

  -- How many hosts are ready; one that waits in the lanes of several jobs counts once.
  local function ready_hosts(P)
    local count, lanes = 0, {}
    for _, lane in ipairs(redis.call('ZRANGE', P .. 'Y', 0, -1)) do
      local slot = lane:match('^%d+')
      lanes[slot] = lanes[slot] or {}
      table.insert(lanes[slot], lane)
    end
    for _, of_slot in pairs(lanes) do
      if #of_slot == 1 then
        count = count + redis.call('ZCARD', P .. 'y:' .. of_slot[1])
      else
        local met = {}
        for _, lane in ipairs(of_slot) do
          for _, name in ipairs(redis.call('ZRANGE', P .. 'y:' .. lane, 0, -1)) do
            if not met[name] then
              met[name] = true
              count = count + 1
            end
          end
        end
      end
    end
    return count
  end

  -- ARGV: now. Result: how many hosts of the tag rest or are ready, or have a request in flight.
  local function hosts(keys, args)
    local P = start(keys, args)
    local count, slots = 0, {}
    for _, slot in ipairs(redis.call('ZRANGE', P .. 'R', 0, -1)) do slots[slot] = true end
    for slot in pairs(slots) do count = count + redis.call('ZCARD', P .. 'r:' .. slot) end
    local met = {}
    count = count + ready_hosts(P)
    for _, packed in ipairs(redis.call('HVALS', P .. 'l')) do
      local lease = cmsgpack.unpack(packed)
      local host = lease[HOST]
      if not met[host] then
        met[host] = true
        local where = redis.call('HGET', P .. 'h:' .. host, 'w')
        if not where or where == '' then count = count + 1 end
      end
    end
    return count
  end

  local function question(name, callback)
    redis.register_function({
      function_name = 'skitter2_' .. name, callback = callback, flags = { 'no-writes' },
    })
  end

  question('look', look)
  question('seen', seen)
  question('hosts', hosts)
end

-- skitter2_cold_pick: what the next chunk should be.
--
-- KEYS[1] anchor
-- ARGV    now
-- Result  nothing, or a list and the records to take out of it
--
-- skitter2_cold_put: puts a marker in the place of records that are stored elsewhere.
--
-- ARGV    now, list, marker, the first record, SHA-1 of them all, how many
-- Result  1, or 0 when they do not stand there any more
--
-- skitter2_cold_wanted: which chunks should come back.
--
-- ARGV    now, the most
-- Result  list and marker of each
--
-- skitter2_cold_warm: puts records in the place of their marker.
--
-- ARGV    now, list, marker, records
-- Result  >I8, I8 as for offer, with the host taken for the caller's
--
-- skitter2_cold_swap: puts a marker in the place of another one, whose chunk lacks one URL of the
-- new one: that URL is forgotten.
--
-- ARGV    now, list, marker, marker to come, fp of the URL
-- Result  1, or 0 when the marker does not stand there any more
do
  local MOST_ARGUMENTS, MOST_TRIED = 4000, 64

  local function list_key(S, name)
    return S.P .. 'q:' .. name
  end

  local function parts_of(name)
    local job, class, band, host = name:match('^(%d+):(%d):(%d+):(.*)$')
    return job, class, tonumber(band), host
  end

  local function position(list, record, rank)
    return redis.call('LPOS', list, record, 'RANK', rank or 1) or nil
  end

  -- The first whole chunk at or behind a place; those given back to the queue's head stay here.
  local function find_chunk(S, list, from, length)
    local size = S.cold.chunk
    while length - from >= size do
      local records = redis.call('LRANGE', list, from, from + size - 1)
      local skip
      for at, record in ipairs(records) do
        if is_marker(record) or record:byte(2) >= RETURNED then skip = at end
      end
      if not skip then return records end
      from = from + skip
    end
  end

  local function pick(keys, args)
    local S = begin(keys, args)
    if not S.cold then return {} end
    for _ = 1, MOST_TRIED do
      local name = redis.call('SRANDMEMBER', S.P .. 'KL')
      if not name then break end
      local list = list_key(S, name)
      local records = find_chunk(S, list, tail_of(S, name), redis.call('LLEN', list))
      if records then
        table.insert(records, 1, name)
        return records
      end
      redis.call('SREM', S.P .. 'KL', name)
    end
    return {}
  end

  local function push_all(command, list, records)
    for from = 1, #records, MOST_ARGUMENTS do
      local to = math.min(#records, from + MOST_ARGUMENTS - 1)
      redis.call(command, list, unpack(records, from, to))
    end
  end

  local function put(keys, args)
    local S = begin(keys, args)
    local name, marker, n = args[2], args[3], tonumber(args[6])
    local list = list_key(S, name)
    local at = position(list, args[4], -1)
    -- With nothing before it the list would be gone for a moment, and its place in a move with it.
    if not at or at == 0 then return 0 end
    local records = redis.call('LRANGE', list, at, at + n - 1)
    if redis.sha1hex(table.concat(records)) ~= args[5] then return 0 end
    local behind = redis.call('LRANGE', list, at + n, -1)
    redis.call('LTRIM', list, 0, at - 1)
    redis.call('RPUSH', list, marker)
    push_all('RPUSH', list, behind)
    local last = true
    for _, record in ipairs(behind) do last = last and not is_marker(record) end
    if last then redis.call('HSET', S.P .. 'K', name, marker) end
    if #behind < S.cold.chunk then redis.call('SREM', S.P .. 'KL', name) end
    local job, _, band = parts_of(name)
    if band % RANKS < SCORED then
      for _, record in ipairs(records) do redis.call('HDEL', S.P .. 'z:' .. job, fp_text(record)) end
    end
    return 1
  end

  local function wanted(keys, args)
    local S = begin(keys, args)
    local found = {}
    if not S.cold then return found end
    for _, name in ipairs(redis.call('SRANDMEMBER', S.P .. 'KW', args[2])) do
      local marker
      for _, record in ipairs(redis.call('LRANGE', list_key(S, name), 0, S.cold.warm)) do
        if not marker and is_marker(record) then marker = record end
      end
      if marker then
        found[#found + 1] = name
        found[#found + 1] = marker
      else
        redis.call('SREM', S.P .. 'KW', name)
      end
    end
    return found
  end

  -- Takes out some elements of a list behind a place.
  local function cut(list, from, n)
    for at = from, from + n - 1 do redis.call('LSET', list, at, '') end
    redis.call('LREM', list, n, '')
  end

  local function warm(keys, args)
    local S = begin(keys, args)
    local name, marker = args[2], args[3]
    local list = list_key(S, name)
    local job, class, band, host = parts_of(name)
    local H = host_of(S, host)
    redis.call('SREM', S.P .. 'KW', name)
    local at = position(list, marker)
    if at then
      local head = at > 0 and redis.call('LRANGE', list, 0, at - 1) or {}
      local back = {}
      for place = #args, 4, -1 do back[#back + 1] = args[place] end
      for place = #head, 1, -1 do back[#back + 1] = head[place] end
      -- First all that comes, then away with what stands there twice.
      push_all('LPUSH', list, back)
      cut(list, #back, at + 1)
      if redis.call('HGET', S.P .. 'K', name) == marker then redis.call('HDEL', S.P .. 'K', name) end
      if redis.call('EXISTS', list) == 0 then
        forget_band(S, job .. ':' .. class .. ':' .. host, band)
      end
      if band % RANKS < SCORED then
        for place = 4, #args do
          redis.call('HSET', S.P .. 'z:' .. job, fp_text(args[place]), class .. ':' .. band)
        end
      end
    end
    H.mine = true
    touch(S, H)
    settle(S)
    write_back(S)
    local when, front = hint(S)
    return struct.pack('>I8I8', when, front)
  end

  local function swap(keys, args)
    sets_begin()
    local S = begin(keys, args)
    local name, marker, other, fp = args[2], args[3], args[4], args[5]
    local list = list_key(S, name)
    local at = position(list, marker)
    if not at then return 0 end
    redis.call('LSET', list, at, other)
    if redis.call('HGET', S.P .. 'K', name) == marker then
      redis.call('HSET', S.P .. 'K', name, other)
    end
    local job, _, _, host = parts_of(name)
    count(S, job, host_of(S, host).domain, 'q', -1)
    seen_del(S.P, job, fp)
    redis.call('HDEL', S.P .. 'n:' .. job, fp)
    write_back(S)
    sets_end()
    return 1
  end

  register_frugal('cold_pick', pick)
  register_frugal('cold_put', put)
  register('cold_wanted', wanted)
  register('cold_warm', warm)
  register_frugal('cold_swap', swap)
end

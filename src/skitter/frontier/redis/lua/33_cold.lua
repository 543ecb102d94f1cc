-- The cold tier: the tail of a long queue is kept in another store, in chunks of many records. In
-- its place the list holds one marker per chunk, so that the order stays what it was.
--
--   marker     \255 \0, >I4 how many records, 8 bytes of the chunk's id; records begin with \1 or \2
--   anchor     field `cold`: head:chunk:warm. A list keeps its first `head` records and gives away
--              `chunk` at a time from behind them; a marker among the first `warm` is called back
--   K   hash   list -> its last marker; only lists that have one
--   KL  set    lists that are too long
--   KW  set    lists whose first marker is wanted back
--
-- A list is named job:class:band:host here. A chunk is written before its marker takes the place of
-- the records, and deleted long after they are back: a call that is cut short leaves a chunk too
-- many, never one too few.
local is_marker, want_back, forget_cold, tail_of, pop_hot, has_cold

do
  local MARKER = 255

  function is_marker(record)
    return record and record:byte(1) == MARKER
  end

  -- Where the records begin that a list can do without: behind its head, or its last marker.
  function tail_of(S, name)
    local last = redis.call('HGET', S.P .. 'K', name)
    local at = last and redis.call('LPOS', S.P .. 'q:' .. name, last, 'RANK', -1)
    return at and at + 1 or S.cold.head
  end

  -- Takes note of the length of a list that grew.
  function note_length(S, list, length)
    if length < S.cold.head + S.cold.chunk then return end
    local name = list:sub(#S.P + 3)
    if length - tail_of(S, name) >= S.cold.chunk then
      redis.call('SADD', S.P .. 'KL', name)
      S.long = true
    end
  end

  -- Asks for the first chunk of a list.
  function want_back(S, list)
    redis.call('SADD', S.P .. 'KW', list:sub(#S.P + 3))
  end

  -- Leaves nothing here of a list that is deleted.
  function forget_cold(S, list)
    if not S.cold then return end
    local name = list:sub(#S.P + 3)
    redis.call('HDEL', S.P .. 'K', name)
    redis.call('SREM', S.P .. 'KL', name)
    redis.call('SREM', S.P .. 'KW', name)
  end

  -- Takes the first records of a list, up to a marker. Answers them, and whether a marker comes
  -- next; that one is asked for.
  function pop_hot(S, list, most)
    if not S.cold then return redis.call('LPOP', list, most) or {}, false end
    local n = 0
    for _, record in ipairs(redis.call('LRANGE', list, 0, most - 1)) do
      if is_marker(record) then break end
      n = n + 1
    end
    local records = n > 0 and redis.call('LPOP', list, n) or {}
    local waits = is_marker(redis.call('LINDEX', list, 0)) or false
    if waits then want_back(S, list) end
    return records, waits
  end

  -- Tells whether a list has a part in the cold tier.
  function has_cold(P, list)
    return redis.call('HEXISTS', P .. 'K', list:sub(#P + 3)) == 1
  end
end

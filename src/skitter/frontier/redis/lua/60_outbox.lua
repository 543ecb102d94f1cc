-- The one process that writes a job's records to files: who it is, and how far its files are.
--
--   writer:<job>  hash  session, until (ms), who: a lease, so that two never write the same files
--
-- KEYS[1] is always the key of the writer; ARGV[1] the time in ms, 0 for the server's.
do
  local function here(keys, args)
    local now = tonumber(args[1])
    if now == 0 then
      local time = redis.call('TIME')
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return keys[1], now
  end

  -- Takes or keeps the lease. ARGV: now, session, ttl in ms, who.
  -- Result: {1}, or {0, ms the other has left, who it is}.
  local function write_lease(keys, args)
    local writer, now = here(keys, args)
    local held = redis.call('HMGET', writer, 'session', 'until', 'who')
    local left = (tonumber(held[2]) or 0) - now
    if held[1] and held[1] ~= args[2] and left > 0 then
      return {0, left, held[3]}
    end
    redis.call('HSET', writer, 'session', args[2], 'until', now + tonumber(args[3]),
      'who', args[4])
    return {1}
  end

  -- Gives the lease back. ARGV: now, session.
  local function write_end(keys, args)
    local writer = here(keys, args)
    if redis.call('HGET', writer, 'session') == args[2] then
      redis.call('DEL', writer)
    end
    return 1
  end

  -- Stores marks if the caller is still the writer. ARGV: now, session, key of the marks,
  -- then name and value of each.
  -- Result: 1; 0 when another process has become the writer.
  local function write_keep(keys, args)
    local writer = here(keys, args)
    if redis.call('HGET', writer, 'session') ~= args[2] then
      return 0
    end
    for i = 4, #args, 2 do
      redis.call('HSET', args[3], args[i], args[i + 1])
    end
    return 1
  end

  -- A full server must be able to make room: records leave it when they are in the files.
  register_frugal('write_lease', write_lease)
  register_frugal('write_end', write_end)
  register_frugal('write_keep', write_keep)
end

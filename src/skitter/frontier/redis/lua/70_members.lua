-- Who is there, who has control, and which plan is in force: all in the common group.
--
--   control  hash  session, epoch, until: who has control, how often it was taken, its end in ms
--   members  hash  name -> cmsgpack {session, ms of its beat, beat,
--                                    ms of the last beat of the session it took its name from, or 0}
--   plan     hash  epoch, by (the epoch of the control that made it), members, places, weights
--
-- KEYS[1] is always the key of control; ARGV[1] the time in ms, 0 for the server's.
do
  local DEAD_MS, HEIR_MS, FORGET_MS = 4000, 2000, 60000

  local function here(keys, args)
    local now = tonumber(args[1])
    if now == 0 then
      local time = redis.call('TIME')
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return keys[1], string.sub(keys[1], 1, -8), now
  end

  -- ARGV: now, name, session, beat.
  -- Result: {0, beat of the session that has the name}, or {1, epoch of the plan, session in
  -- control, ms the earlier session was silent or -1, and for each living member: beat, silence};
  -- nothing of members while another session has control: only that one has to know them, and
  -- what each of n members is told of n members would be the dearest call of all.
  local function beat(keys, args)
    local control, common, now = here(keys, args)
    local name, session = args[2], args[3]
    local earlier = redis.call('HGET', common .. 'members', name)
    local heir_of = 0
    if earlier then
      earlier = cmsgpack.unpack(earlier)
      heir_of = earlier[4]
      if earlier[1] ~= session then
        if now - earlier[2] < HEIR_MS then
          return {0, earlier[3]}
        end
        heir_of = earlier[2]
      end
    end
    local entry = cmsgpack.pack({session, now, args[4], heir_of})
    redis.call('HSET', common .. 'members', name, entry)

    local state = redis.call('HMGET', control, 'session', 'until')
    local in_control = (tonumber(state[2]) or 0) > now and state[1] or ''
    local epoch = tonumber(redis.call('HGET', common .. 'plan', 'epoch')) or 0
    local view = {1, epoch, in_control, heir_of > 0 and now - heir_of or -1}
    if in_control ~= '' and in_control ~= session then return view end
    local all = redis.call('HGETALL', common .. 'members')
    for i = 1, #all, 2 do
      local member = cmsgpack.unpack(all[i + 1])
      local silent = now - member[2]
      if silent >= FORGET_MS then
        redis.call('HDEL', common .. 'members', all[i])
      elseif silent < DEAD_MS then
        view[#view + 1] = member[3]
        view[#view + 1] = silent
      end
    end
    return view
  end

  -- ARGV: now, name, session.
  local function leave(keys, args)
    local control, common = here(keys, args)
    local entry = redis.call('HGET', common .. 'members', args[2])
    if entry and cmsgpack.unpack(entry)[1] == args[3] then
      redis.call('HDEL', common .. 'members', args[2])
    end
    if redis.call('HGET', control, 'session') == args[3] then
      redis.call('HSET', control, 'until', 0)
    end
    return 1
  end

  -- ARGV: now, session, ttl in ms. Result: the epoch, 0 when another session has control.
  local function lead(keys, args)
    local control, _, now = here(keys, args)
    local state = redis.call('HMGET', control, 'session', 'epoch', 'until')
    local epoch = tonumber(state[2]) or 0
    if (tonumber(state[3]) or 0) <= now then
      epoch = epoch + 1
    elseif state[1] ~= args[2] then
      return 0
    end
    redis.call('HSET', control, 'session', args[2], 'epoch', epoch, 'until', now + args[3])
    return epoch
  end

  -- ARGV: now, epoch of control, epoch of the plan, members, places, weights. Result: 1, or 0 for
  -- too late.
  local function publish(keys, args)
    local control, common = here(keys, args)
    if redis.call('HGET', control, 'epoch') ~= args[2] then
      return 0
    end
    local held = redis.call('HMGET', common .. 'plan', 'epoch', 'by')
    local later = tonumber(args[3]) - (tonumber(held[1]) or 0)
    if later < 0 or (later == 0 and held[2] ~= args[2]) then
      return 0
    end
    redis.call('HSET', common .. 'plan', 'epoch', args[3], 'by', args[2], 'members', args[4],
      'places', args[5], 'weights', args[6])
    return 1
  end

  redis.register_function('skitter2_beat', beat)
  redis.register_function('skitter2_leave', leave)
  redis.register_function('skitter2_lead', lead)
  redis.register_function('skitter2_publish', publish)
end

-- skitter2_crowded: the hosts of crowded slots: those in which at least two have many URLs waiting.
--
-- KEYS[1] anchor
-- ARGV    now, how many URLs are many
-- Result  slot, host and number of waiting URLs, many times
do
  local MOST_HOSTS = 16

  local function waiting(S, H)
    local sum = 0
    for _, job in ipairs(jobs_of(H)) do
      local J = job_of(S, job)
      if J and J.state == 'run' then
        for class = 0, 1 do
          local line = job .. ':' .. class .. ':'
          for _, band in ipairs(redis.call('ZRANGE', S.P .. 'b:' .. line .. H.name, 0, -1)) do
            sum = sum + redis.call('LLEN', S.P .. 'q:' .. line .. band .. ':' .. H.name)
          end
        end
      end
    end
    return sum
  end

  local function add(found, slot, name)
    local hosts = found[slot]
    if not hosts then
      hosts = { names = {} }
      found[slot] = hosts
    end
    if not hosts.names[name] and #hosts < MOST_HOSTS then
      hosts.names[name] = true
      hosts[#hosts + 1] = name
    end
  end

  -- The hosts that have something to give, now or later, and those with a request in flight.
  local function hosts_by_slot(S)
    local found = {}
    for index, hosts in pairs({ Y = 'y:', R = 'r:' }) do
      for _, lane in ipairs(redis.call('ZRANGE', S.P .. index, 0, -1)) do
        local slot = lane:match('^%d+')
        if tonumber(slot) < WIDE then
          for _, name in ipairs(redis.call('ZRANGE', S.P .. hosts .. lane, 0, MOST_HOSTS - 1)) do
            add(found, slot, name)
          end
        end
      end
    end
    for _, packed in ipairs(redis.call('HVALS', S.P .. 'l')) do
      local lease = cmsgpack.unpack(packed)
      if lease[SLOT] < WIDE then
        add(found, '' .. lease[SLOT], lease[HOST])
      end
    end
    return found
  end

  local function crowded(keys, args)
    local S = begin(keys, args)
    local many, answer = tonumber(args[2]), {}
    for slot, names in pairs(hosts_by_slot(S)) do
      local large = {}
      for _, name in ipairs(names) do
        local H = host_of(S, name)
        local n = #names > 1 and waiting(S, H) or 0
        if n >= many and H.slot == slot then large[#large + 1] = { name, n } end
      end
      if #large > 1 then
        for _, one in ipairs(large) do
          answer[#answer + 1] = slot
          answer[#answer + 1] = one[1]
          answer[#answer + 1] = one[2]
        end
      end
    end
    return answer
  end

  register_question('crowded', crowded)
end

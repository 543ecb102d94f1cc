-- What every function shares: one call's view of the hosts, lines and counters it touches.
--
-- A call reads a host once, changes it in memory and writes it back once. `begin` makes the state
-- of a call, `settle` puts the hosts it touched where they belong, `write_back` stores the rest.
--
-- A host is in at most one place: resting (r:<slot>, by next-allowed ms), ready, or nowhere. A ready
-- host waits for its turn in a lane for each of its jobs that have something (y:<slot>:<job>, by
-- urgency, then turn); Y has all lanes by the best of their hosts, as R has the slots. Field `w` of
-- the host says where it is: r<ms>, y<front>:<jobs, with commas between>, or nothing.
-- A front is urgency * 2^32 + rank of a waiting URL, as one number; it names its band, too.
local RANKS = 4294967296
local TURNS = 281474976710656
local SCORED = 1024
local TURNS_PER_RANK = 4
local LATER = 9007199254740991
local WIDE = 16384

-- Field `a` of a host is when it was asked last, or answered, or is to be asked in a turn that was
-- promised: what its delay counts from. What is rare to have of a host is in field `g`: of its delay,
-- what no setting goes below; a back-off, which no change of the delay cuts short; and up to when its
-- URLs are handed out without its gate, because nothing is asked of it.
local begin, write_back, refuse, register, register_frugal, register_question
local drains, set_delay
local job_of, host_of, meet, jobs_of, set_jobs, touch, settle, withdraw, enlist
local rest_briefly, settle_in, go_home, note_wide
local line_front, host_front, enqueue, forget_band, schedule, count, fp_text, note_length

do
  -- Ends the call, before it has changed anything, while its hash slot is moved key by key: then a
  -- key that is not there may be there already, and a call that meets one is cut short. This key never
  -- is.
  local function in_one_place(callback)
    return function(keys, args)
      redis.call('EXISTS', keys[1] .. ':nowhere')
      return callback(keys, args)
    end
  end

  function register(verb, callback)
    redis.register_function('skitter2_' .. verb, in_one_place(callback))
  end

  -- For what must go on when the store is full: it takes next to no room, or makes some.
  function register_frugal(verb, callback)
    redis.register_function({
      function_name = 'skitter2_' .. verb, callback = in_one_place(callback),
      flags = { 'allow-oom' },
    })
  end

  -- For what changes nothing.
  function register_question(verb, callback)
    redis.register_function({
      function_name = 'skitter2_' .. verb, callback = callback, flags = { 'no-writes' },
    })
  end

  -- Ends the call with an error whose first word says what kind it is.
  function refuse(word, why)
    error({ err = word .. ' ' .. why })
  end

  local function cold_sizes(text)
    local head, chunk, warm = text:match('^(%d+):(%d+):(%d+)$')
    return { head = tonumber(head), chunk = tonumber(chunk), warm = tonumber(warm) }
  end

  -- Answers the state of a call. KEYS[1] is the anchor, ARGV[1] the time in ms or 0.
  function begin(keys, args)
    local anchor = keys[1]
    local now = tonumber(args[1])
    if now == 0 then
      local time = redis.call('TIME')
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    local kept = redis.call('HMGET', anchor, 'frozen', 'turn', 'seq', 'cold', 'wide', 'index')
    if kept[1] and kept[1] ~= '0' then refuse('FROZEN', 'this part of the store is being moved') end
    return {
      P = anchor:sub(1, -2),
      anchor = anchor,
      now = now,
      turn = tonumber(kept[2]) or 0,
      seq = tonumber(kept[3]) or 0,
      kept_turn = kept[2],
      kept_seq = kept[3],
      jobs = {},
      hosts = {},
      touched = {},
      fronts = {},
      pushes = {},
      counts = {},
      slots_y = {},
      slots_r = {},
      fresh = {},
      offered = {},
      due = LATER,
      cold = kept[4] and cold_sizes(kept[4]) or nil,
      wide = kept[5],
      index = kept[6],
    }
  end

  -- A fingerprint in a record (eight bytes) as the text of a signed number. Numbers are doubles
  -- here, so it is divided by hand in four limbs.
  function fp_text(record)
    local a, b, c, d = struct.unpack('>I2I2I2I2', record, 14)
    local sign = ''
    if a >= 32768 then
      sign = '-'
      a, b, c, d = 65535 - a, 65535 - b, 65535 - c, 65536 - d
      if d == 65536 then d, c = 0, c + 1 end
      if c == 65536 then c, b = 0, b + 1 end
      if b == 65536 then b, a = 0, a + 1 end
    end
    local limbs, parts = { a, b, c, d }, {}
    for part = 1, 3 do
      local rest = 0
      for at = 1, 4 do
        local value = rest * 65536 + limbs[at]
        limbs[at] = math.floor(value / 1000000000)
        rest = value - limbs[at] * 1000000000
      end
      parts[part] = rest
    end
    local text = string.format('%d%09d%09d', parts[3], parts[2], parts[1])
    return sign .. text:gsub('^0+(%d)', '%1')
  end

  -- A job as this tag knows it; nil when it does not.
  function job_of(S, job)
    local found = S.jobs[job]
    if found == nil then
      local kept = redis.call('HMGET', S.P .. 'j:' .. job,
        'state', 'delay', 'per_host', 'overflow', 'seen', 'limited', 'outbox')
      found = kept[1] and {
        state = kept[1],
        delay = tonumber(kept[2]),
        per_host = tonumber(kept[3]),
        overflow = kept[4],
        seen = kept[5],
        limited = kept[6] == '1',
        outbox = kept[7] ~= '0',
      } or false
      S.jobs[job] = found
    end
    return found or nil
  end

  function host_of(S, name)
    local H = S.hosts[name]
    if H then return H end
    local kept = redis.call('HMGET', S.P .. 'h:' .. name, 's', 'D', 'd', 'p', 'n', 'f', 'J', 'w',
      'm', 'S', 'g', 'a')
    H = {
      name = name,
      slot = kept[1] or nil,
      domain = kept[2] or nil,
      d = tonumber(kept[3]),
      p = tonumber(kept[4]),
      n = tonumber(kept[5]) or 0,
      f = tonumber(kept[6]) or 0,
      J = kept[7] or '',
      w = kept[8] or '',
      home = kept[9] and kept[9] ~= '' and kept[9] or nil,
      later = tonumber(kept[10]) or 0,
      asked = tonumber(kept[12]) or 0,
      floor = 0,
      held = 0,
      drain = 0,
      kept = kept,
    }
    if kept[11] then
      local floor, held, drain = kept[11]:match('^(%d+),(%d+),(%d+)$')
      H.floor, H.held, H.drain = tonumber(floor), tonumber(held), tonumber(drain)
    end
    H.place = H.w:sub(1, 1)
    H.at = tonumber(H.w:match('^.(%d+)')) or 0
    H.lanes = H.w:match(':(.*)$') or ''
    S.hosts[name] = H
    return H
  end

  -- The jobs a host has met, in the order in which they get their turns.
  function jobs_of(H)
    if not H.jobs then
      H.jobs = {}
      for job in H.J:gmatch('%d+') do H.jobs[#H.jobs + 1] = job end
    end
    return H.jobs
  end

  function set_jobs(H, jobs)
    H.jobs = jobs
    H.J = table.concat(jobs, ',')
  end

  -- Says in the anchor that there are wide slots here: that goes where the hosts in them go, while a
  -- list of such tags may be lost with another server.
  function note_wide(S, slot)
    if S.wide or tonumber(slot) < WIDE then return end
    S.wide = '1'
    redis.call('HSET', S.anchor, 'wide', S.wide)
  end

  -- A host in its slot, made on first use; what was not set for it comes from its first job.
  function meet(S, name, slot, domain, job, J)
    local H = host_of(S, name)
    slot = '' .. slot
    note_wide(S, slot)
    if not H.slot then
      H.slot, H.domain = slot, domain
    elseif H.slot ~= slot and tonumber(H.slot) < tonumber(slot) then
      -- One of its jobs lets more members have it: then all of them do.
      settle_in(S, H, slot)
    end
    if not J then return H end
    H.d = H.d or J.delay
    H.p = H.p or J.per_host
    if job and H.J ~= job then
      for _, other in ipairs(jobs_of(H)) do
        if other == job then return H end
      end
      redis.call('SADD', S.P .. 'm:' .. job, name)
      local jobs = jobs_of(H)
      jobs[#jobs + 1] = job
      set_jobs(H, jobs)
    end
    return H
  end

  -- Adds to the counters of a job and of a registered domain in it.
  function count(S, job, domain, letter, n)
    local counts = S.counts[job]
    if not counts then
      counts = {}
      S.counts[job] = counts
    end
    counts[letter] = (counts[letter] or 0) + n
    local field = letter .. ':' .. domain
    counts[field] = (counts[field] or 0) + n
  end

  -- The front of one line (job:class:host); false when nothing waits there.
  function line_front(S, line)
    local front = S.fronts[line]
    if front == nil then
      local first = redis.call('ZRANGE', S.P .. 'b:' .. line, 0, 0)[1]
      front = first and tonumber(first) or false
      S.fronts[line] = front
    end
    return front
  end

  local function job_front(S, job, name)
    local data = line_front(S, job .. ':1:' .. name)
    local nav = line_front(S, job .. ':0:' .. name)
    if data and nav then return math.min(data, nav) end
    return data or nav
  end

  -- The front of a host over its running jobs, which are the lanes that are wanted for it; nil when
  -- it has nothing to give.
  function host_front(S, H)
    local best, asleep, gone, lanes
    for _, job in ipairs(jobs_of(H)) do
      local J = job_of(S, job)
      if not J or J.state == 'cancel' then
        gone = true
      elseif J.state == 'run' then
        local front = job_front(S, job, H.name)
        if front then
          lanes = lanes and lanes .. ',' .. job or job
          if not best or front < best then best = front end
        end
      else
        asleep = asleep or {}
        asleep[#asleep + 1] = job
      end
    end
    if gone then
      local jobs = {}
      for _, job in ipairs(H.jobs) do
        local J = job_of(S, job)
        if J and J.state ~= 'cancel' then jobs[#jobs + 1] = job end
      end
      set_jobs(H, jobs)
    end
    H.wanted = lanes
    if asleep then
      for _, job in ipairs(asleep) do
        if job_front(S, job, H.name) then redis.call('SADD', S.P .. 'park:' .. job, H.name) end
      end
    end
    return best
  end

  -- Queues a record at the end of its band; it is written by `settle`.
  function enqueue(S, H, job, class, band, record, fp)
    local line = job .. ':' .. class .. ':' .. H.name
    local list = S.P .. 'q:' .. job .. ':' .. class .. ':' .. band .. ':' .. H.name
    local push = S.pushes[list]
    if not push then
      push = { line = line, band = band }
      S.pushes[list] = push
    end
    push[#push + 1] = record
    if band % RANKS < SCORED then
      redis.call('HSET', S.P .. 'z:' .. job, fp, class .. ':' .. band)
    end
    count(S, job, H.domain, 'q', 1)
    touch(S, H)
  end

  local function write_pushes(S)
    for list, push in pairs(S.pushes) do
      local length
      for from = 1, #push, 4000 do
        length = redis.call('RPUSH', list, unpack(push, from, math.min(#push, from + 3999)))
      end
      if S.cold then note_length(S, list, length) end
      redis.call('ZADD', S.P .. 'b:' .. push.line, push.band, push.band)
      local front = S.fronts[push.line]
      if front ~= nil and (not front or push.band < front) then
        S.fronts[push.line] = push.band
      end
    end
    S.pushes = {}
  end

  -- Takes note that a band has nothing left.
  function forget_band(S, line, band)
    redis.call('ZREM', S.P .. 'b:' .. line, band)
    S.fronts[line] = nil
  end

  -- Lets a record wait for a time.
  function schedule(S, H, job, fp, rank, record, at)
    local member = job .. ':' .. fp .. ':' .. H.name
    redis.call('HSET', S.P .. 'D', member, struct.pack('>I4', rank) .. record)
    redis.call('ZADD', S.P .. 'd', at, member)
    count(S, job, H.domain, 's', 1)
    H.later = H.later + 1
    S.due = math.min(S.due, at)
  end

  -- Remembers that a host's work, gate or jobs changed.
  function touch(S, H)
    if not H.touched then
      H.touched = true
      S.touched[#S.touched + 1] = H
    end
  end

  function withdraw(S, H)
    if H.place == 'y' then
      for job in H.lanes:gmatch('%d+') do
        local lane = H.slot .. ':' .. job
        redis.call('ZREM', S.P .. 'y:' .. lane, H.name)
        S.slots_y[lane] = true
      end
    elseif H.place == 'r' then
      redis.call('ZREM', S.P .. 'r:' .. H.slot, H.name)
      S.slots_r[H.slot] = true
    end
    H.place, H.at, H.lanes = '', 0, ''
  end

  local function note_best(slots, slot, score)
    local best = slots[slot]
    if best == nil or (best ~= true and score < best) then slots[slot] = score end
  end

  local function make_ready(S, H, front)
    withdraw(S, H)
    S.turn = S.turn + 1
    for job in H.wanted:gmatch('%d+') do
      -- A worse score costs turns, so that such a host waits long but not for ever.
      local first = job_front(S, job, H.name)
      local rank = first % RANKS
      local score = (first - rank) / RANKS * TURNS + S.turn
      if rank < SCORED then score = score + rank * TURNS_PER_RANK end
      local lane = H.slot .. ':' .. job
      redis.call('ZADD', S.P .. 'y:' .. lane, score, H.name)
      note_best(S.slots_y, lane, score)
    end
    H.place, H.at, H.lanes = 'y', front, H.wanted
  end

  local function let_rest(S, H)
    withdraw(S, H)
    redis.call('ZADD', S.P .. 'r:' .. H.slot, H.n, H.name)
    H.place, H.at = 'r', H.n
    note_best(S.slots_r, H.slot, H.n)
  end

  -- Gives a host another slot of its tag.
  function settle_in(S, H, slot)
    withdraw(S, H)
    H.slot = slot
    touch(S, H)
  end

  -- Puts a host that was moved back into its own slot.
  function go_home(S, H)
    withdraw(S, H)
    H.slot, H.home = H.home, nil
    redis.call('HDEL', S.P .. 'M', H.name)
  end

  -- Lets a host wait that could be asked, but whose URLs are on their way; the next change of it
  -- wakes it before its time.
  function rest_briefly(S, H, ms)
    withdraw(S, H)
    H.place, H.at = 'r', S.now + ms
    redis.call('ZADD', S.P .. 'r:' .. H.slot, H.at, H.name)
    note_best(S.slots_r, H.slot, H.at)
  end

  -- Tells whether the URLs of a host are handed out without its gate.
  function drains(S, H)
    return H.drain > S.now
  end

  -- Changes the delay of a host, and with it the rest that the old one made.
  function set_delay(H, delay)
    H.n = math.max(H.held, H.asked + delay)
    H.d = delay
  end

  -- Puts a host where it belongs.
  function enlist(S, H)
    local front
    if drains(S, H) or H.f < (H.p or 1) then front = host_front(S, H) end
    H.front = front
    if not front then
      if H.place ~= '' then withdraw(S, H) end
      if H.home and H.f == 0 then go_home(S, H) end
    elseif drains(S, H) or H.n <= S.now then
      if H.place ~= 'y' or front < H.at or H.lanes ~= H.wanted then make_ready(S, H, front) end
    elseif H.place ~= 'r' or H.at ~= H.n then
      let_rest(S, H)
    end
  end

  local function write_slots(S, index, hosts, slots)
    for slot, best in pairs(slots) do
      if best == true then
        local first = redis.call('ZRANGE', S.P .. hosts .. slot, 0, 0, 'WITHSCORES')
        if first[1] then
          redis.call('ZADD', S.P .. index, first[2], slot)
        else
          redis.call('ZREM', S.P .. index, slot)
        end
      else
        redis.call('ZADD', S.P .. index, 'LT', best, slot)
      end
      slots[slot] = nil
    end
  end

  -- Writes what was queued and puts the hosts that were touched where they belong.
  function settle(S)
    write_pushes(S)
    for at, H in ipairs(S.touched) do
      H.touched = false
      enlist(S, H)
      S.touched[at] = nil
    end
    write_slots(S, 'Y', 'y:', S.slots_y)
    write_slots(S, 'R', 'r:', S.slots_r)
  end

  local function write_host(S, H)
    local kept, fields = H.kept, {}
    local function put(name, value, old)
      if value ~= old then
        fields[#fields + 1] = name
        fields[#fields + 1] = value
      end
    end
    if H.slot then put('s', H.slot, kept[1] or nil) end
    if H.slot and not kept[1] then put('D', H.domain) end
    if H.d then put('d', H.d, tonumber(kept[3])) end
    if H.p then put('p', H.p, tonumber(kept[4])) end
    put('n', H.n, tonumber(kept[5]) or 0)
    put('a', H.asked, tonumber(kept[12]) or 0)
    put('f', H.f, tonumber(kept[6]) or 0)
    put('J', H.J, kept[7] or '')
    local where = H.place == '' and '' or H.place .. H.at
    put('w', H.lanes == '' and where or where .. ':' .. H.lanes, kept[8] or '')
    put('m', H.home or '', kept[9] or '')
    put('S', math.max(0, H.later), tonumber(kept[10]) or 0)
    if kept[11] or H.floor > 0 or H.held > 0 or H.drain > 0 then
      put('g', string.format('%d,%d,%d', H.floor, H.held, H.drain), kept[11])
    end
    if #fields > 0 then redis.call('HSET', S.P .. 'h:' .. H.name, unpack(fields)) end
  end

  -- Stores hosts, counters and the numbers of the anchor; call `settle` before.
  function write_back(S)
    for _, H in pairs(S.hosts) do write_host(S, H) end
    for job, counts in pairs(S.counts) do
      local key = S.P .. 'c:' .. job
      for field, n in pairs(counts) do
        if n ~= 0 then redis.call('HINCRBY', key, field, n) end
      end
    end
    if S.turn ~= (tonumber(S.kept_turn) or 0) or S.seq ~= (tonumber(S.kept_seq) or 0) then
      redis.call('HSET', S.anchor, 'turn', S.turn, 'seq', S.seq)
    end
  end
end

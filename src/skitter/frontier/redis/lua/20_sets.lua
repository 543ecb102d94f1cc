-- Which URLs are known, and which have ended.
--
-- S holds every URL a job has accepted, F those that are done, X the dead and O the dropped. A
-- fingerprint is the text of a signed 64-bit number. It is never made a number as a whole: numbers
-- are doubles here and would lose bits.
--
-- A set is many small sets of integers, because Redis packs those: 8 bytes a member and nothing
-- between them, as long as none outgrows set-max-intset-entries (512 unless the server is told
-- otherwise). One that does takes ten times the memory and never goes back. So a set grows one
-- bucket at a time (linear hashing): with `base` buckets to begin with, a member is in bucket
-- h % (base * 2^level), or, where that bucket has been split in this round, in
-- h % (base * 2^(level + 1)). Level and split pointer are fields `<letter>:l` and `<letter>:p` of
-- the job, the number of members is `<letter>:n`. Sets never shrink back: URLs that are forgotten
-- make room for others.
--
-- A bucket that waits for its split holds up to twice the mean. At 192 a bucket that is 384, and
-- six and a half standard deviations more are 512.
local sets_begin, sets_end
local set_has, set_add, set_del
local seen_kind, seen_has, seen_add, seen_del

do
  local SET_MEAN = 192

  -- Jobs of this call: key of the job's hash -> its sets, read once and written back once. Most
  -- links are of the job of the link before.
  local sets_open, last_tag, last_job, last_sets = {}, nil, nil, nil

  local SET_FIELDS = {
    'seen', 'seen_buckets', 'seen_groups', 'seen_hashes', 'seen_bits', 'seen_room', 'B:s', 'B:n',
    'S:l', 'S:p', 'S:n', 'F:l', 'F:p', 'F:n', 'X:l', 'X:p', 'X:n', 'O:l', 'O:p', 'O:n',
  }

  -- Every function begins with this: what an aborted call left behind must not be believed.
  function sets_begin()
    sets_open, last_tag, last_job, last_sets = {}, nil, nil, nil
  end

  local function sets_of(P, job)
    if P == last_tag and job == last_job then return last_sets end
    local key = P .. 'j:' .. job
    last_tag, last_job, last_sets = P, job, sets_open[key]
    if last_sets then return last_sets end
    local kept = redis.call('HMGET', key, unpack(SET_FIELDS))
    local sets = { key = key, kind = kept[1] or 'exact', changed = {} }
    for at = 9, 20, 3 do
      local letter = SET_FIELDS[at]:sub(1, 1)
      local base = 1
      if letter == 'S' and sets.kind == 'compact' then base = tonumber(kept[2]) end
      local level = tonumber(kept[at] or 0)
      sets[letter] = {
        letter = letter,
        name = P .. letter .. ':' .. job .. ':',
        base = base,
        level = level,
        round = base * 2 ^ level,
        pointer = tonumber(kept[at + 1] or 0),
        size = tonumber(kept[at + 2] or 0),
      }
    end
    if sets.kind == 'bloom' then
      sets.bloom = {
        name = P .. 'B:' .. job .. ':',
        groups = tonumber(kept[3]),
        hashes = tonumber(kept[4]),
        counters = tonumber(kept[5]),
        room = tonumber(kept[6]),
        stage = tonumber(kept[7] or 0),
        size = tonumber(kept[8] or 0),
        denied = {},
      }
    end
    sets_open[key], last_sets = sets, sets
    return sets
  end

  -- Every function that changes a set ends with this. Only sizes are written here, and they only
  -- say when to split: a call that is aborted before leaves them a little too small, no more.
  function sets_end()
    for key, sets in pairs(sets_open) do
      local fields = {}
      for letter in pairs(sets.changed) do
        fields[#fields + 1] = letter .. ':n'
        fields[#fields + 1] = (letter == 'B' and sets.bloom or sets[letter]).size
      end
      if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
      sets.changed = {}
    end
  end

  -- Nine digits are a hash for as many buckets as there can be; fingerprints are random.
  local function hash_of(fp)
    return tonumber(fp:sub(-9))
  end

  local function bucket_of(set, h)
    local bucket = h % set.round
    if bucket < set.pointer then bucket = h % (2 * set.round) end
    return set.name .. bucket
  end

  -- What is given to a command at once is bounded in a script.
  local function change(command, bucket, members)
    for from = 1, #members, 1000 do
      redis.call(command, bucket, unpack(members, from, math.min(#members, from + 999)))
    end
  end

  -- Splits one bucket. The order matters if the call is aborted half way: the members are in the
  -- new bucket before the pointer sends anyone there, and leave the old one last. Copies of an
  -- aborted attempt are no members, so the new bucket begins empty.
  local function split(sets, set, hash_in)
    local from, to = set.pointer, set.pointer + set.round
    local stay, move = set.name .. from, set.name .. to
    local moved, gone = {}, {}
    for _, member in ipairs(redis.call('SMEMBERS', stay)) do
      local bucket = hash_in(set, member, from) % (2 * set.round)
      if bucket == to then moved[#moved + 1] = member end
      if bucket ~= from then gone[#gone + 1] = member end
    end
    redis.call('DEL', move)
    change('SADD', move, moved)
    set.pointer = from + 1
    if set.pointer == set.round then
      set.level, set.pointer, set.round = set.level + 1, 0, 2 * set.round
    end
    redis.call('HSET', sets.key, set.letter .. ':l', set.level, set.letter .. ':p', set.pointer)
    change('SREM', stay, gone)
  end

  local function hash_of_member(_, member)
    return hash_of(member)
  end

  local function put_in(sets, set, h, member, hash_in)
    if redis.call('SADD', bucket_of(set, h), member) == 0 then return false end
    set.size = set.size + 1
    sets.changed[set.letter] = true
    if set.size > SET_MEAN * (set.round + set.pointer) then split(sets, set, hash_in) end
    return true
  end

  local function take_out(sets, set, h, member)
    if redis.call('SREM', bucket_of(set, h), member) == 0 then return false end
    set.size = math.max(0, set.size - 1)
    sets.changed[set.letter] = true
    return true
  end

  -- Tells whether the exact set of a letter has a fingerprint.
  function set_has(P, letter, job, fp)
    return redis.call('SISMEMBER', bucket_of(sets_of(P, job)[letter], hash_of(fp)), fp) == 1
  end

  -- Adds a fingerprint; true when it is new.
  function set_add(P, letter, job, fp)
    local sets = sets_of(P, job)
    return put_in(sets, sets[letter], hash_of(fp), fp, hash_of_member)
  end

  -- Removes a fingerprint; true when it was there.
  function set_del(P, letter, job, fp)
    local sets = sets_of(P, job)
    return take_out(sets, sets[letter], hash_of(fp), fp)
  end

  -- Compact: 32 bits of a fingerprint in one of `seen_buckets` groups chosen by the others. A new
  -- URL is taken for known when its group has those 32 bits already: at 192 a group once in twenty
  -- million. Groups are sized for the URLs that are expected, shared evenly by the tags; where
  -- there are more, the buckets of a group split by the bits that they hold, so that memory stays
  -- what it is, and the rate grows with the size of the group.
  --
  -- The last nine digits are less than 2^30; two more bits come from the rest of the number, whose
  -- lowest bit is the sign. Nothing here is larger than 2^53.
  local function compact_parts(fp)
    local sign = 0
    if fp:byte() == 45 then fp, sign = fp:sub(2), 1 end
    local high = 2 * tonumber('0' .. fp:sub(1, -10)) + sign
    local two = high % 4
    return (high - two) / 4, tonumber(fp:sub(-9)) + two * 1073741824
  end

  local function compact_place(set, fp)
    local high, low = compact_parts(fp)
    return high % set.base + set.base * low, low - 2147483648
  end

  local function hash_of_residue(set, member, bucket)
    return bucket % set.base + set.base * (tonumber(member) + 2147483648)
  end

  -- Bloom: `seen_groups` filters that must agree, each with counters of two bits. A counter that
  -- has reached 3 stays there, because how many URLs it stands for is not known any more. Each URL
  -- costs a command a group, and these are eight to eleven times as dear as a look into a set.
  --
  -- A filter cannot grow, and a tag may get far more than its share: one large site is in one tag.
  -- So when `seen_room` URLs are in it, the next ones go to another of twice the size, and so on
  -- (stages). Groups are numbered through the stages. Each stage is wrong at the rate of one.
  local function bloom_hashes(fp, groups)
    local found, text = {}, ''
    for group = 0, groups - 1 do
      local half = group % 2
      if half == 0 then text = redis.sha1hex(fp .. ':' .. group) end
      local at = 20 * half
      found[group + 1] = {
        tonumber(text:sub(at + 1, at + 10), 16), tonumber(text:sub(at + 11, at + 20), 16),
      }
    end
    return found
  end

  local function bloom_place(counter)
    return string.format('#%.0f', counter)
  end

  local function bloom_places(bloom, stage, pair)
    local counters = bloom.counters * 2 ^ stage
    local at, step = pair[1] % counters, 1 + pair[2] % (counters - 1)
    local places = {}
    for n = 1, bloom.hashes do
      places[n] = bloom_place(at)
      at = (at + step) % counters
    end
    return places
  end

  local function bloom_fields(places, op, by, args)
    args = args or {}
    for _, place in ipairs(places) do
      args[#args + 1] = op
      args[#args + 1] = 'u2'
      args[#args + 1] = place
      args[#args + 1] = by
    end
    return args
  end

  local function bloom_key(bloom, stage, group)
    return bloom.name .. (stage * bloom.groups + group - 1)
  end

  -- Answers the counters of one stage, by group; nil when a group denies the URL.
  local function bloom_look(bloom, stage, hashes)
    local found = {}
    for group, pair in ipairs(hashes) do
      local places = bloom_places(bloom, stage, pair)
      local key = bloom_key(bloom, stage, group)
      local values = redis.call('BITFIELD_RO', key, unpack(bloom_fields(places, 'GET')))
      for _, value in ipairs(values) do
        if value == 0 then return nil end
      end
      found[group] = { places = places, values = values }
    end
    return found
  end

  local function bloom_has(bloom, fp)
    local hashes = bloom_hashes(fp, bloom.groups)
    for stage = bloom.stage, 0, -1 do
      if bloom_look(bloom, stage, hashes) then return true end
    end
    bloom.denied[fp] = hashes
    return false
  end

  local function bloom_add(sets, fp)
    local bloom = sets.bloom
    -- Whoever adds a URL has asked for it just before, as a rule.
    if not bloom.denied[fp] and bloom_has(bloom, fp) then return false end
    local hashes = bloom.denied[fp]
    bloom.denied[fp] = nil
    if bloom.size >= bloom.room * 2 ^ bloom.stage then
      bloom.stage, bloom.size = bloom.stage + 1, 0
      redis.call('HSET', sets.key, 'B:s', bloom.stage, 'B:n', 0)
    end
    for group, pair in ipairs(hashes) do
      local places = bloom_places(bloom, bloom.stage, pair)
      local fields = bloom_fields(places, 'INCRBY', 1)
      -- Redis gives a text that begins at its full length no room to spare, and one that grows
      -- twice its length.
      if bloom.size == 0 then
        local last = bloom_place(bloom.counters * 2 ^ bloom.stage - 1)
        fields = bloom_fields({ last }, 'INCRBY', 0, fields)
      end
      local key = bloom_key(bloom, bloom.stage, group)
      redis.call('BITFIELD', key, 'OVERFLOW', 'SAT', unpack(fields))
    end
    bloom.size = bloom.size + 1
    sets.changed.B = true
    return true
  end

  -- Takes a URL out that is certain to be in. When more than one stage has it, all but one are
  -- wrong and nobody knows which: it stays, since taking others out would lose them.
  local function bloom_del(sets, fp)
    local bloom, hashes = sets.bloom, bloom_hashes(fp, sets.bloom.groups)
    local found, at
    for stage = bloom.stage, 0, -1 do
      local counters = bloom_look(bloom, stage, hashes)
      if counters and found then return false end
      if counters then found, at = counters, stage end
    end
    if not found then return false end
    for group, counters in ipairs(found) do
      local places = {}
      for n, value in ipairs(counters.values) do
        if value < 3 then places[#places + 1] = counters.places[n] end
      end
      if #places > 0 then
        redis.call('BITFIELD', bloom_key(bloom, at, group),
          'OVERFLOW', 'SAT', unpack(bloom_fields(places, 'INCRBY', -1)))
      end
    end
    if at == bloom.stage then
      bloom.size = math.max(0, bloom.size - 1)
      sets.changed.B = true
    end
    return true
  end

  -- Answers how a job remembers what it knows: exact, compact or bloom.
  function seen_kind(P, job)
    return sets_of(P, job).kind
  end

  -- Tells whether a job knows a URL.
  function seen_has(P, job, fp)
    local sets = sets_of(P, job)
    if sets.kind == 'exact' then
      return redis.call('SISMEMBER', bucket_of(sets.S, hash_of(fp)), fp) == 1
    elseif sets.kind == 'compact' then
      local h, member = compact_place(sets.S, fp)
      return redis.call('SISMEMBER', bucket_of(sets.S, h), member) == 1
    end
    return bloom_has(sets.bloom, fp)
  end

  -- Makes a URL known; true when it was not.
  function seen_add(P, job, fp)
    local sets = sets_of(P, job)
    if sets.kind == 'exact' then
      return put_in(sets, sets.S, hash_of(fp), fp, hash_of_member)
    elseif sets.kind == 'compact' then
      local h, member = compact_place(sets.S, fp)
      return put_in(sets, sets.S, h, member, hash_of_residue)
    end
    return bloom_add(sets, fp)
  end

  -- Makes a URL unknown that is certain to be known: another with the same bits goes with it, or
  -- the counters of others. True when it was known.
  function seen_del(P, job, fp)
    local sets = sets_of(P, job)
    if sets.kind == 'exact' then
      return take_out(sets, sets.S, hash_of(fp), fp)
    elseif sets.kind == 'compact' then
      local h, member = compact_place(sets.S, fp)
      return take_out(sets, sets.S, h, member)
    end
    return bloom_del(sets, fp)
  end
end

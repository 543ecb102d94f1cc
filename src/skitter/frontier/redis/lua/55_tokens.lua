-- skitter2_tokens: takes, keeps or gives back tokens for what bears only so much.
--
--   T:<name>  hash  holder -> cmsgpack {held, wanted, ms of its end}
--
-- KEYS[1] anchor of the name's tag
-- ARGV    now, holder, ms they are to last, wishes: msgpack of a list of {name, most, used, wanted}
-- Result  how many the holder may use of each; those it uses beyond that stay held until it says
--         that they are not in use any more
do
  local TURN_MS = 2000

  local function by_wish(one, other)
    if one.wanted ~= other.wanted then return one.wanted < other.wanted end
    return one.name < other.name
  end

  -- Who wants little gets it, the others share what is left evenly; where there are fewer tokens
  -- than holders they take turns.
  local function fair_share(most, rivals, holder, turn)
    table.sort(rivals, by_wish)
    local at = 1
    while rivals[at] and rivals[at].wanted <= math.floor(most / (#rivals - at + 1)) do
      if rivals[at].name == holder then return rivals[at].wanted end
      most = most - rivals[at].wanted
      at = at + 1
    end
    local names = {}
    for place = at, #rivals do names[#names + 1] = rivals[place].name end
    table.sort(names)
    local each = math.floor(most / #names)
    local odd = most % #names
    local shift = each > 0 and 0 or turn * odd
    for place, name in ipairs(names) do
      if name == holder then
        return each + ((place - 1 - shift) % #names < odd and 1 or 0)
      end
    end
    return 0
  end

  local function take(S, holder, ttl, wish)
    local key = S.P .. 'T:' .. wish[1]
    local most, used, wanted = wish[2], wish[3], wish[4]
    local kept = redis.call('HGETALL', key)
    local rivals, free = { { name = holder, wanted = wanted } }, most
    for at = 1, #kept, 2 do
      local held = cmsgpack.unpack(kept[at + 1])
      if held[3] <= S.now then
        redis.call('HDEL', key, kept[at])
      elseif kept[at] ~= holder then
        free = free - held[1]
        if held[2] > 0 then rivals[#rivals + 1] = { name = kept[at], wanted = held[2] } end
      end
    end
    local share = fair_share(most, rivals, holder, math.floor(S.now / TURN_MS))
    local allowed = math.max(0, math.min(wanted, share, free))
    if S.quiet then allowed = math.min(allowed, used) end
    local held = math.max(used, allowed)
    if held > 0 or wanted > 0 then
      redis.call('HSET', key, holder, cmsgpack.pack({ held, wanted, S.now + ttl }))
      if S.real then redis.call('PEXPIRE', key, ttl) end
    else
      redis.call('HDEL', key, holder)
    end
    return allowed
  end

  local function tokens(keys, args)
    local S = begin(keys, args)
    S.real = args[1] == '0'
    S.quiet = is_quiet(S)
    local answers = {}
    for at, wish in ipairs(cmsgpack.unpack(args[4])) do
      answers[at] = take(S, args[2], tonumber(args[3]), wish)
    end
    return answers
  end

  register_frugal('tokens', tokens)
end

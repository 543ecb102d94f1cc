-- skitter2_count: adds to counters over time.
--
-- KEYS[1] how the keys of buckets begin
-- ARGV    the most hosts in a bucket; then for each bucket a text: msgpack of the rest of its key, for
--         how many ms it is kept, and names with what is added to them, in turns
-- A field "#<name>" says of how many hosts a bucket has that name.
--
-- skitter2_count_urls: counts how often URLs were submitted.
--
-- KEYS[1] sorted set
-- ARGV    how many are kept, how many more there may be for a while; URLs and numbers, in turns
do
  local function field_of(key, name, most)
    local kind = name:match('^(.-)|host=')
    if not kind or redis.call('HEXISTS', key, name) == 1 then return name end
    if tonumber(redis.call('HGET', key, '#' .. kind) or 0) >= most then
      return kind .. '|host=other'
    end
    redis.call('HINCRBY', key, '#' .. kind, 1)
    return name
  end

  local function count(keys, args)
    local most = tonumber(args[1])
    for place = 2, #args do
      local bucket = cmsgpack.unpack(args[place])
      local key = keys[1] .. bucket[1]
      for at = 3, #bucket, 2 do
        redis.call('HINCRBY', key, field_of(key, bucket[at], most), bucket[at + 1])
      end
      redis.call('PEXPIRE', key, bucket[2])
    end
  end

  local function count_urls(keys, args)
    for at = 3, #args, 2 do redis.call('ZINCRBY', keys[1], args[at + 1], args[at]) end
    local kept, spare = tonumber(args[1]), tonumber(args[2])
    local there = redis.call('ZCARD', keys[1])
    if there > kept + spare then redis.call('ZREMRANGEBYRANK', keys[1], 0, there - kept - 1) end
  end

  register('count', count)
  register('count_urls', count_urls)
end

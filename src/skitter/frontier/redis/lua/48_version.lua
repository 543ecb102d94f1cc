-- skitter2_version: the number that grows when jobs or news change.
--
-- KEYS[1] its key
-- Result  the number
do
  local function version(keys)
    return tonumber(redis.call('GET', keys[1])) or 0
  end

  register_question('version', version)
end

-- skitter2_permit: grants requests that rate windows allow.
--
--   w:<domain> <window>  list  ms of the grants, oldest first
--   v:<domain> <window>  text  the longest span it was asked by of late: grants are kept for that long
--
-- KEYS[1] anchor of the domain's tag
-- ARGV    now, wishes: msgpack of a list of {domain, {{window, most, span in ms}, ...}, ms of a grant
--         that was not used or 0}
-- Result  for each wish the ms of its grant, or minus the ms at which there may be one
--
-- A repeated call grants once more: too few requests are made then, never too many.
do
  local STEPPED_MS = 1000
  local MOST_TRIMMED = 64

  local function text(ms) return string.format('%d', ms) end

  -- The clock was set back: what is ahead of it was granted a moment ago.
  local function step_back(S, log)
    local last = tonumber(redis.call('LINDEX', log.key, -1)) or 0
    if last <= S.now + STEPPED_MS then return end
    local times = redis.call('LRANGE', log.key, 0, -1)
    redis.call('DEL', log.key)
    for _, time in ipairs(times) do
      redis.call('RPUSH', log.key, text(math.min(tonumber(time), S.now)))
    end
  end

  local function open_log(S, logs, name)
    local log = logs[name]
    if log then return log end
    log = { key = S.P .. 'w:' .. name, span_key = S.P .. 'v:' .. name, refused = 0 }
    step_back(S, log)
    log.size = redis.call('LLEN', log.key)
    log.keep = tonumber(redis.call('GET', log.span_key)) or 0
    logs[name] = log
    return log
  end

  -- Jobs may know one window by different spans: nothing is forgotten that one of them asks for.
  local function trim(S, log, span)
    if span >= log.keep then
      log.keep = span
      if S.real then
        redis.call('SET', log.span_key, text(span), 'PX', text(2 * span))
      else
        redis.call('SET', log.span_key, text(span))
      end
    end
    for _ = 1, MOST_TRIMMED do
      local first = redis.call('LINDEX', log.key, 0)
      if not first or tonumber(first) > S.now - log.keep then break end
      redis.call('LPOP', log.key)
      log.size = log.size - 1
    end
  end

  -- When a grant may be given, if so many others get theirs before; 0 for now.
  local function opens(S, log, window, before)
    local most, span = window[2], window[3]
    local place = before % most
    local at = log.size - most + place
    if at < 0 then return 0 end
    local rounds = (before - place) / most + 1
    local ms = tonumber(redis.call('LINDEX', log.key, at)) + rounds * span
    return ms > S.now and ms or 0
  end

  local function grant(S, log)
    redis.call('RPUSH', log.key, text(S.now))
    log.size = log.size + 1
    if S.real then redis.call('PEXPIRE', log.key, text(log.keep + STEPPED_MS)) end
  end

  local function answer(S, logs, wish)
    local windows, used, refused = wish[2], {}, false
    for at, window in ipairs(windows) do
      local log = open_log(S, logs, wish[1] .. ' ' .. window[1])
      if wish[3] > 0 then
        log.size = log.size - redis.call('LREM', log.key, 1, text(wish[3]))
      end
      trim(S, log, window[3])
      refused = refused or opens(S, log, window, 0) > 0
      used[at] = log
    end
    if not refused then
      for _, log in ipairs(used) do grant(S, log) end
      return S.now
    end
    -- Those who are refused together come back one after the other.
    local ms = 0
    for at, log in ipairs(used) do
      ms = math.max(ms, opens(S, log, windows[at], log.refused))
      log.refused = log.refused + 1
    end
    return -ms
  end

  local function permit(keys, args)
    local S = begin(keys, args)
    S.real = args[1] == '0'
    local quiet, quiet_until = is_quiet(S)
    local logs, answers = {}, {}
    for at, wish in ipairs(cmsgpack.unpack(args[2])) do
      answers[at] = quiet and -quiet_until or answer(S, logs, wish)
    end
    return answers
  end

  register_frugal('permit', permit)
end

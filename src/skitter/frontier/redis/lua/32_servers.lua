-- Whether another server has this tag than before: after a restart, a failover or a move.
--
-- The one before may have given out leases, and let hosts be asked, that this one never heard of. So
-- nothing is handed out until the rights that came with them have ended, and no host is asked sooner
-- than its delay after the change. Fields of the anchor: `server`, `since` (ms, 0 for ever).
local is_quiet, rests_until

do
  local QUIET_MS = 5000
  local run_id

  -- Tells whether nothing is to be handed out yet; answers also until when.
  function is_quiet(S)
    if not run_id then run_id = redis.call('INFO', 'server'):match('run_id:(%x+)') end
    local kept = redis.call('HMGET', S.anchor, 'server', 'since')
    S.since = tonumber(kept[2]) or 0
    if kept[1] ~= run_id then
      S.since = kept[1] and S.now or 0
      redis.call('HSET', S.anchor, 'server', run_id, 'since', S.since)
    end
    return S.since > 0 and S.now < S.since + QUIET_MS, S.since + QUIET_MS
  end

  -- When a host may be asked, whatever was forgotten.
  function rests_until(S, H)
    if S.since == 0 then return H.n end
    return math.max(H.n, S.since + (H.d or 0))
  end
end

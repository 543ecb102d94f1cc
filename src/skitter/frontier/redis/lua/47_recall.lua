-- skitter2_recall: returns leases of a session that it has ended, after the store forgot about it.
--
-- A server that lost its last second, or a replica that never had it, still holds leases that were
-- acked in it. Nobody works on them: without this their hosts would wait until they run out.
--
-- KEYS[1] anchor
-- ARGV    now, session, ids of the leases it still has, with commas between
-- Result  how many were returned
do
  local function recall(keys, args)
    local S = begin(keys, args)
    sets_begin()
    local held, count = {}, 0
    for id in args[3]:gmatch('%d+') do held[id] = true end
    local all = redis.call('HGETALL', S.P .. 'l')
    for at = 1, #all, 2 do
      local lease = cmsgpack.unpack(all[at + 1])
      if lease[SESSION] == args[2] and not held[all[at]] then
        return_lease(S, all[at], lease, false, true)
        count = count + 1
      end
    end
    settle(S)
    write_back(S)
    sets_end()
    return count
  end

  register_frugal('recall', recall)
end

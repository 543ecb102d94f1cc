-- skitter2_set_host: changes how a host is asked, also before its first URL.
--
-- KEYS[1] anchor
-- ARGV    now, host, slot, domain, delay ms or "", requests at once or "", not before ms or ""
-- Result  >I8, I8 as for offer
--
-- skitter2_move_host: lets another member have a host, until it has nothing left to give.
--
-- ARGV    now, host, wide slot or "" for its own
-- Result  1, or 0 when it is not known, has nothing to give, or is there already
do
  local function move_host(keys, args)
    local S = begin(keys, args)
    local H = host_of(S, args[2])
    local slot = args[3] ~= '' and args[3] or H.home
    if not H.slot or not slot or H.slot == slot then return 0 end
    if args[3] ~= '' and not host_front(S, H) then return 0 end
    if args[3] == '' then
      go_home(S, H)
    else
      H.home = H.home or H.slot
      note_wide(S, slot)
      settle_in(S, H, slot)
      redis.call('HSET', S.P .. 'M', H.name, slot)
    end
    touch(S, H)
    settle(S)
    write_back(S)
    return 1
  end

  register_frugal('move_host', move_host)

  local function set_host(keys, args)
    local S = begin(keys, args)
    local H = meet(S, args[2], args[3], args[4])
    H.mine = true
    H.d = tonumber(args[5]) or H.d
    H.p = tonumber(args[6]) or H.p
    H.n = math.max(H.n, tonumber(args[7]) or 0)
    H.held = math.max(H.held, tonumber(args[7]) or 0)
    touch(S, H)
    settle(S)
    write_back(S)
    return struct.pack('>I8I8', hint(S))
  end

  register_frugal('set_host', set_host)
end

-- skitter1_set_host: changes how a host is asked, also before its first URL.
--
-- KEYS[1] anchor
-- ARGV    now, host, slot, domain, delay ms or "", requests at once or "", not before ms or ""
-- Result  >I8, I8 as for offer
do
  local function set_host(keys, args)
    local S = begin(keys, args)
    local H = meet(S, args[2], args[3], args[4])
    H.mine = true
    H.d = tonumber(args[5]) or H.d
    H.p = tonumber(args[6]) or H.p
    H.n = math.max(H.n, tonumber(args[7]) or 0)
    touch(S, H)
    settle(S)
    write_back(S)
    return struct.pack('>I8I8', hint(S))
  end

  register_frugal('set_host', set_host)
end

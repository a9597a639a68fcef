package org.kverbs.ibtool

/** The GUID of the first switch of generated fabrics, and of [hostileNet]. */
internal const val FIRST_SWITCH = "0x0200000020000001"

/** Words behind each command that make it show names of nodes, or the address of one. */
internal val COMMAND_LINES: Map<String, String> =
    """
    smpquery ND 2; smpdump 2 0x10; perfquery 2 1; query NodeRecord; ibportstate 2 1; ibping 2 -c 1; ibsysstat 2
    vendstat -N 2; ibccquery CI 2; ibccconfig -h; ibsendtrap --dry-run; set_port_state 2 2 down --dry-run
    init_all_ports --dry-run; set_guid 1 1 5 --dry-run; set_nodedesc x -D 0,1 --dry-run
    ibdatacounts 2 1; ibdatacounters; ibswportwatch 2 1 -n 1 -p 1; ibclearcounters --dry-run; ibclearerrors --dry-run
    saquery -p; ibnetdiscover -l; iblinkinfo -v; ibqueryerrors --data; ibidsverify; ibnodes; ibhosts; ibswitches; ibrouters
    ibprintca -l; ibprintswitch -l; ibprintrt -l; health; check; top --count 1 --interval 0.01; map; ibroute 2; ibtracert 1 3
    dump_fts; dump_lfts; dump_mfts; ibfindnodesusing $FIRST_SWITCH 1; check_lft_balance -v; ibchecknode 2; ibcheckerrs 2 1
    ibcheckport 2 1; ibcheckportstate 2 1; ibcheckportwidth 2 1; ibchecknet -v; ibcheckstate -v; ibcheckwidth -v
    ibcheckerrors -v; ibstat; ibaddr; ibstatus; ibv_devices; sminfo
    """.trimIndent().split(';', '\n').associate {
        it.trim().substringBefore(' ') to it.trim().substringAfter(' ', "")
    }

/** Commands of files, and those without names. */
internal val COMMANDS_WITHOUT_NAMES =
    setOf("ibdiscover", "subnet_diff", "ibcacheedit", "decode_mad", "completion", "man")

package org.kverbs.structures

/** A vendor's structures, for the specs. */
internal const val FANS = """
# What a vendor's switch tells of its fans.

enumeration FanState {
    OFF 0 "Off"
    SLOW 1
    FAST 2 "Fast"
}

mask FanAlarm special FanAlarmSpecial {
    STUCK 1 "Stuck"
    WORN 2 "Worn"
}

enumeration FanAlarmSpecial {
    ALL 0xff
}

flags FanFeature {
    IsHotSwappable 0
    IsSilent 9
}

choice FanParts {
    1 Fan
    2 FanTray
}

constants FanNumbers {
    FIRST 1
    ALSO_FIRST 1
    FAR 0xffffffff
}

## One fan.
structure Fan 96 {
    @0   FanState:3   state "State"
    @3   uint:11      speed unit "rpm" "Speed"
    @14  uint:1       isNew
    @15  reserved:1   reserved0
    @16  guid         serial
    @80  FanAlarm:8   alarms as alternatives "Alarms"
    @88  uint:8       wear as hex
}

structure FanTray 976 of 0x09 version 1 {
    attribute 0x0010 methods Get,Set modifier "tray"
    @0   lid          owner
    @16  FanFeature:16 features as lines "Features"
    @32  gid          home
    @160 uint:5       levels[6]
    @190 reserved:2   reserved0
    @192 Fan          fans[2]
    @384 string:64    place
    @448 bytes:48     key
    @496 uint:64      counter
    @560 guid         spares[2]
    @688 uint:48      time
    @736 Fan          spare
    @832 lid          lids[3]
    @880 bytes:96     rest
}

structure FanRecord of 0x03 version 2 {
    attribute 0x00f0 methods Get,GetTable
    @0   lid          lid mask 0
    @16  reserved:16  reserved0 mask 1
    @32  uint:64      service mask 2-3
    @96  uint:8       data[4] mask 4-7
    @128 uint:8       table[4] mask 8
    @160 Fan          fan mask 9-15
}
"""

internal val fans = Descriptions.parse(FANS, "fans.iba")
internal val fan = fans.type("Fan")
internal val tray = fans.type("FanTray")
internal val record = fans.type("FanRecord")

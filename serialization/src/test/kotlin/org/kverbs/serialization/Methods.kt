package org.kverbs.serialization

internal val echo = method<String, String>("echo")
internal val sleep = method<Unit, Unit>("sleep")
internal val fail = method<String, Unit>("fail")
internal val count = streamMethod<Int, Int>("count")

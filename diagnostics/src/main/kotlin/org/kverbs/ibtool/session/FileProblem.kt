package org.kverbs.ibtool.session

import java.io.IOException
import java.nio.charset.CharacterCodingException
import java.nio.file.AccessDeniedException
import java.nio.file.FileSystemException
import java.nio.file.NoSuchFileException

/**
 * What went wrong with a file that the caller names, without another name: the JDK's exceptions can say that of a file
 * beside it, or a name alone.
 */
internal fun problemOf(e: IOException): String =
    when (e) {
        is NoSuchFileException -> "there is no such file or folder"
        is AccessDeniedException -> "this user may not open it"
        is CharacterCodingException -> "it is not text in UTF-8"
        is FileSystemException -> e.reason ?: e.javaClass.simpleName
        else -> e.message ?: e.javaClass.simpleName
    }

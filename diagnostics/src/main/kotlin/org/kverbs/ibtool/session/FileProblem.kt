package org.kverbs.ibtool.session

import java.io.IOException
import java.nio.charset.CharacterCodingException
import java.nio.file.AccessDeniedException
import java.nio.file.DirectoryNotEmptyException
import java.nio.file.FileAlreadyExistsException
import java.nio.file.FileSystemException
import java.nio.file.FileSystemLoopException
import java.nio.file.NoSuchFileException
import java.nio.file.NotDirectoryException
import java.nio.file.NotLinkException

/**
 * What went wrong with a file that the caller names, without another name: the JDK's exceptions can say that of a file
 * beside it, or a name alone.
 */
internal fun problemOf(e: IOException): String =
    when (e) {
        is NoSuchFileException -> "there is no such file or folder"
        is AccessDeniedException -> "this user may not open it"
        is CharacterCodingException -> "it is not text in UTF-8"
        is FileAlreadyExistsException -> "there is a file or a folder with this name already"
        is DirectoryNotEmptyException -> "it is a folder that is not empty"
        is NotDirectoryException -> "it is no folder"
        is NotLinkException -> "it is no symbolic link"
        is FileSystemLoopException -> "its symbolic links lead in a circle"
        is FileSystemException -> e.reason ?: "the operating system does not say why"
        else -> e.message ?: e.javaClass.simpleName
    }

package org.kverbs.internal

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

class DeviceNodesSpec :
    FunSpec({
        test("should tell permissions, owner and group of each node, and of no other file") {
            val folder = tempdir().toPath()
            val nodes = listOf("uverbs1" to "rw-------", "uverbs0" to "rw-rw-rw-", "rdma_cm" to "rw-rw-rw-")
            nodes.forEach { (name, permissions) ->
                val node = Files.createFile(folder.resolve(name))
                Files.setPosixFilePermissions(node, PosixFilePermissions.fromString(permissions))
            }
            val owner = Files.getOwner(folder.resolve("uverbs0")).name
            val group = Files.getAttribute(folder.resolve("uverbs0"), "posix:group").toString()

            DeviceNodes.describe(folder) shouldBe
                "$folder has uverbs0 (rw-rw-rw-, owner $owner, group $group), uverbs1 (rw-------, owner $owner, " +
                "group $group)."
        }

        test("should say when there is no node, or no folder") {
            val folder = tempdir().toPath()

            DeviceNodes.describe(folder) shouldBe "$folder has no uverbs nodes."
            DeviceNodes.describe(folder.resolve("absent")) shouldBe "There is no folder $folder/absent."
        }
    })

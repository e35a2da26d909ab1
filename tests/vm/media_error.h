// A pool in which one page of the medium will fail, and what reads answer when it has.
#pragma once

#include <string>

namespace braid::test {

/// Makes a pool of known records, closes it, and prints "@page FILE+OFFSET SECTOR": the place of
/// one record's value in its file and on the block device. Returns an exit code.
int FillForMediaError(const std::string& pool);

/// Reads every record and prints "@media-error right=N errors=N wrong=N first=...". Returns an exit
/// code. Where a failed page is not an error the kernel ends the process with SIGBUS.
int ReadWithMediaError(const std::string& pool);

}  // namespace braid::test

// What a verb's definition is shown as: the text of --help, and a manual page.
//
// Thread safety: pure, except WritePages.
// Persistence: WritePages makes ordinary files.
#pragma once

#include <string>

#include "braid/status.h"
#include "tools/verb_list.h"

namespace braid::tools {

/// `braid VERB --help`, at most 80 columns wide.
std::string HelpText(Verb& verb);

/// braid-VERB(1) and braid(1), for man.
std::string ManPage(Verb& verb);
std::string ManPageOfCommand(const Verbs& verbs);

/// The completion of bash.
std::string BashCompletion();

/// Writes what is installed beside the command below `folder`: man/man1/*.1 and
/// bash-completion/completions/braid.
Status WritePages(const Verbs& verbs, const std::string& folder);

}  // namespace braid::tools

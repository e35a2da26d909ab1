// Every kind of call, one after the other, on a database in which something has failed before:
// nothing may be acknowledged that is not durable, and what refuses writes refuses all of them.
#pragma once

#include "scenario.h"

namespace braid::test {

/// Without failures. The ledger learns what was acknowledged, and what is wrong.
void CallEverything(DB* db, Ledger* ledger);

}  // namespace braid::test

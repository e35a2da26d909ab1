// Purpose: a database whose keys are in the caller's order: encodes the keys that come, decodes
// those that go.
// Thread safety: as that of the database below it.
// Persistence: none of its own.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid {

/// InvalidArgument when its name can't be kept, or is that of another order.
Status CheckKeyOrder(const KeyOrder& order);

/// `db` holds keys that `order` has made. Neither is null.
std::unique_ptr<DB> InOrder(std::unique_ptr<DB> db, std::shared_ptr<const KeyOrder> order);

/// The key that the encoded one stands for; the encoded one where that can't be decoded.
std::string DecodedOrSame(const KeyOrder& order, const std::string& encoded);

}  // namespace braid

// The process that is killed: opens the pool, writes from several threads, records in the oracle.
#pragma once

namespace braid::test {

/// Runs the writer when the arguments ask for it: true and the exit code in `*code`.
bool RunWriterIfAsked(int argc, char** argv, int* code);

/// The first argument that asks for the writer; then pool, oracle's descriptor, seed,
/// number of the store and folder of the tier ("": none) follow.
inline constexpr char kWriterArgument[] = "--run-as-killed-writer";
/// The first argument that asks for a load of many records that ends with SIGKILL by its own hand;
/// then pool and number of records follow.
inline constexpr char kLoaderArgument[] = "--run-as-killed-loader";

}  // namespace braid::test

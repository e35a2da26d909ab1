// Purpose: the calls of braid/c.h that describe how to open, read and write, and the utilities.
// Thread safety: as in braid/c.h.
// Persistence: none.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/no_throw.h"
#include "braid/version.h"
#include "capi/handles.h"

namespace braid::capi {

Result<Options> MakeOptions(const braid_options_t& options) {
  if (options.out_of_memory) throw std::bad_alloc();
  if (options.comparator != nullptr && options.order != nullptr) {
    return Status::InvalidArgument(
        "a comparator and an order of keys are set: leave out braid_options_set_comparator or "
        "braid_options_set_key_order");
  }
  Options made = options.rep;
  if (!options.budget_is_set) {
    made.memory_budget_bytes = std::max(made.memory_budget_bytes, options.cache_bytes);
  }
  // C has no call for the first size, so a small limit must not fail for it.
  if (made.pool.max_bytes != 0) {
    made.pool.initial_bytes = std::min(made.pool.initial_bytes, made.pool.max_bytes);
  }
  return made;
}

}  // namespace braid::capi

// ---- Options ---------------------------------------------------------------------------------

braid_options_t* braid_options_create(void) {
  return braid::capi::NullOnThrow([] {
    auto options = std::make_unique<braid_options_t>();
    options->rep.create_if_missing = false;
    return options.release();
  });
}

void braid_options_destroy(braid_options_t* options) { delete options; }

void braid_options_set_filter_policy(braid_options_t*, braid_filterpolicy_t*) {}

void braid_options_set_create_if_missing(braid_options_t* options, uint8_t value) {
  options->rep.create_if_missing = value != 0;
}

void braid_options_set_error_if_exists(braid_options_t* options, uint8_t value) {
  options->rep.error_if_exists = value != 0;
}

void braid_options_set_paranoid_checks(braid_options_t* options, uint8_t value) {
  options->rep.verify_on_open =
      value != 0 ? braid::VerifyOnOpen::kFull : braid::VerifyOnOpen::kQuick;
}

void braid_options_set_env(braid_options_t*, braid_env_t*) {}

void braid_options_set_info_log(braid_options_t* options, braid_logger_t* logger) {
  try {
    if (logger == nullptr) {
      options->rep.logger = nullptr;
    } else {
      options->rep.logger = [log = logger->rep](std::string_view line) { (*log)(line); };
    }
  } catch (...) {
    options->out_of_memory = true;
  }
}

void braid_options_set_write_buffer_size(braid_options_t* options, size_t bytes) {
  options->rep.memtable.bytes = bytes;
}

void braid_options_set_max_open_files(braid_options_t*, int) {}

void braid_options_set_cache(braid_options_t* options, braid_cache_t* cache) {
  options->cache_bytes = cache != nullptr ? cache->capacity : 0;
}

void braid_options_set_block_size(braid_options_t*, size_t) {}

void braid_options_set_block_restart_interval(braid_options_t*, int) {}

void braid_options_set_max_file_size(braid_options_t*, size_t) {}

void braid_options_set_compression(braid_options_t*, int) {}

void braid_options_set_design(braid_options_t* options, const char* name) {
  try {
    options->rep.design = name != nullptr ? name : "braid";
  } catch (...) {
    options->out_of_memory = true;
  }
}

void braid_options_set_memory_budget(braid_options_t* options, uint64_t bytes) {
  options->rep.memory_budget_bytes = bytes;
  options->budget_is_set = true;
}

void braid_options_set_resources(braid_options_t* options, braid_resources_t* resources) {
  options->rep.resources = resources != nullptr ? resources->rep : nullptr;
}

void braid_options_set_max_size(braid_options_t* options, uint64_t bytes) {
  options->rep.pool.max_bytes = bytes;
}

void braid_options_set(braid_options_t* options, const char* name, const char* value,
                       char** errptr) {
  braid::capi::Guard(errptr, [&] {
    const braid::Status set = options->rep.Set(name, value);
    if (set.ok() && braid::Slice(name) == "memory_budget_bytes") options->budget_is_set = true;
    return set;
  });
}

// ---- Comparator, filter policy, logger, cache
// --------------------------------------------------------

braid_filterpolicy_t* braid_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*)(void*, const char* const* key_array, const size_t* key_length_array, int num_keys,
              size_t* filter_length),
    uint8_t (*)(void*, const char* key, size_t length, const char* filter, size_t filter_length),
    const char* (*)(void*)) {
  return new (std::nothrow) braid_filterpolicy_t{state, destructor};
}

void braid_filterpolicy_destroy(braid_filterpolicy_t* policy) {
  if (policy == nullptr) return;
  if (policy->destructor != nullptr) policy->destructor(policy->state);
  delete policy;
}

braid_filterpolicy_t* braid_filterpolicy_create_bloom(int /*bits_per_key*/) {
  return new (std::nothrow) braid_filterpolicy_t{nullptr, nullptr};
}

namespace {

/// What a logger of C calls, and finally frees.
struct CLogger {
  void* state;
  void (*destructor)(void*);
  void (*log)(void*, const char* line, size_t length);

  CLogger(void* of, void (*to_log)(void*, const char* line, size_t length))
      : state(of), destructor(nullptr), log(to_log) {}
  ~CLogger() {
    if (destructor != nullptr) destructor(state);
  }
};

}  // namespace

braid_logger_t* braid_logger_create(void* state, void (*destructor)(void*),
                                    void (*log)(void*, const char* line, size_t length)) {
  return braid::capi::NullOnThrow([&] {
    // The destructor is set last: what fails on the way leaves `state` to the caller.
    auto logger = std::make_unique<braid_logger_t>();
    auto callee = std::make_shared<CLogger>(state, log);
    logger->rep = std::make_shared<const std::function<void(std::string_view)>>(
        [callee](std::string_view line) { callee->log(callee->state, line.data(), line.size()); });
    callee->destructor = destructor;
    return logger.release();
  });
}

void braid_logger_destroy(braid_logger_t* logger) { delete logger; }

braid_resources_t* braid_resources_create(uint64_t memory_budget, uint32_t background_threads,
                                          char** errptr) {
  std::unique_ptr<braid_resources_t> made;
  braid::capi::Guard(errptr, [&]() -> braid::Status {
    auto resources = braid::SharedResources::Create(
        {.memory_budget_bytes = memory_budget, .background_threads = background_threads});
    if (!resources.ok()) return resources.status();
    made.reset(new braid_resources_t{std::move(resources).value()});
    return braid::Status::OK();
  });
  return made.release();
}

void braid_resources_destroy(braid_resources_t* resources) { delete resources; }

void braid_resources_usage(const braid_resources_t* resources, uint64_t* memory_bytes,
                           uint64_t* databases) {
  const auto looked = braid::base::CatchToStatus([&] {
    const braid::SharedUsage usage = resources->rep->Usage();
    if (memory_bytes != nullptr) *memory_bytes = usage.memory_bytes;
    if (databases != nullptr) *databases = usage.databases;
  });
  (void)looked;
}

braid_cache_t* braid_cache_create_lru(size_t capacity) {
  return new (std::nothrow) braid_cache_t{capacity};
}

void braid_cache_destroy(braid_cache_t* cache) { delete cache; }

// ---- Options of one read or write ------------------------------------------------------------

braid_readoptions_t* braid_readoptions_create(void) {
  return new (std::nothrow) braid_readoptions_t;
}

void braid_readoptions_destroy(braid_readoptions_t* options) { delete options; }

void braid_readoptions_set_verify_checksums(braid_readoptions_t*, uint8_t) {}

void braid_readoptions_set_fill_cache(braid_readoptions_t*, uint8_t) {}

void braid_readoptions_set_snapshot(braid_readoptions_t* options,
                                    const braid_snapshot_t* snapshot) {
  options->rep.snapshot = snapshot != nullptr ? snapshot->rep.get() : nullptr;
  options->refusal = snapshot != nullptr ? snapshot->status : braid::Status::OK();
}

void braid_readoptions_set_iterate_lower_bound(braid_readoptions_t* options, const char* key,
                                               size_t keylen) {
  options->rep.lower_slice =
      key != nullptr ? std::optional<braid::Slice>(std::in_place, key, keylen) : std::nullopt;
}

void braid_readoptions_set_iterate_upper_bound(braid_readoptions_t* options, const char* key,
                                               size_t keylen) {
  options->rep.upper_slice =
      key != nullptr ? std::optional<braid::Slice>(std::in_place, key, keylen) : std::nullopt;
}

braid_writeoptions_t* braid_writeoptions_create(void) {
  return new (std::nothrow) braid_writeoptions_t;
}

void braid_writeoptions_destroy(braid_writeoptions_t* options) { delete options; }

void braid_writeoptions_set_sync(braid_writeoptions_t* options, uint8_t value) {
  options->rep.sync = value != 0;
}

// ---- Environment -----------------------------------------------------------------------------

namespace {

// The value of the first variable that is set and not empty, or null.
const char* FirstSet(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

}  // namespace

braid_env_t* braid_create_default_env(void) { return new (std::nothrow) braid_env_t{}; }

void braid_env_destroy(braid_env_t* env) { delete env; }

char* braid_env_get_test_directory(braid_env_t*) {
  return braid::capi::NullOnThrow([]() -> char* {
    const char* given = FirstSet({"TEST_TMPDIR"});
    std::string path;
    if (given != nullptr) {
      path = given;
    } else {
      const char* base = FirstSet({"BRAID_TMP", "TMPDIR"});
      path =
          std::string(base != nullptr ? base : "/tmp") + "/braidtest-" + std::to_string(geteuid());
    }
    mkdir(path.c_str(), 0700);
    // A predictable name in a shared folder may be somebody else's, or a link to somewhere else:
    // hand out only what is ours.
    struct stat facts;
    const int failed = given != nullptr ? stat(path.c_str(), &facts) : lstat(path.c_str(), &facts);
    if (failed != 0 || !S_ISDIR(facts.st_mode)) return nullptr;
    if (given == nullptr && facts.st_uid != geteuid()) return nullptr;
    return braid::capi::CopyBytes(path);
  });
}

// ---- Utility ---------------------------------------------------------------------------------

int braid_major_version(void) { return BRAID_VERSION_MAJOR; }

int braid_minor_version(void) { return BRAID_VERSION_MINOR; }

// Reads the lines of `braid shell`: with editing, history and completion on a terminal where
// libedit is there, else as they come.
//
// Thread safety: one thread.
// Persistence: lines go to the history file one by one, as they are entered, so that several shells
// share it and none is lost with a process; it is not synced.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::tools {

struct Completion {
  std::string replacement;  ///< for the line from `begin` to the cursor
  size_t begin = 0;
  std::vector<std::string> choices;  ///< to be shown when there is nothing to insert
  bool more = false;                 ///< there are more choices than these
};

struct EditorSettings {
  bool terminal = false;     ///< somebody types
  std::string history_path;  ///< empty: no history beyond this shell
  /// The completions of the word before the cursor; `line` ends there.
  std::function<Completion(std::string_view line)> complete;
};

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  /// The next line without its newline; nothing at the end of the input.
  virtual std::optional<std::string> Read(const std::string& prompt) = 0;
};

std::unique_ptr<LineEditor> MakeLineEditor(const EditorSettings& settings);

/// Where the history is kept: $XDG_STATE_HOME/braid/history, or ~/.local/state/braid/history. Empty
/// when neither is known.
std::string HistoryPath();
/// The newest lines of the history file, oldest first. Shortens a file that has grown long.
std::vector<std::string> LoadHistory(const std::string& path);
/// Appends a line, and makes the file and its folders first, for its owner alone. What can't be
/// written is not kept.
void AppendHistory(const std::string& path, std::string_view line);

}  // namespace braid::tools

#include "tools/line_editor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#if defined(BRAID_HAVE_LIBEDIT)
#include <histedit.h>
#endif

namespace braid::tools {
namespace {

constexpr size_t kHistoryLines = 1000;

/// Lines of a pipe or a file, or of a terminal without libedit.
class PlainEditor final : public LineEditor {
 public:
  explicit PlainEditor(bool terminal) : terminal_(terminal) {}

  std::optional<std::string> Read(const std::string& prompt) override {
    if (terminal_) {
      std::fputs(prompt.c_str(), stdout);
      std::fflush(stdout);
    }
    while (true) {
      if (const size_t end = buffer_.find('\n', begin_); end != std::string::npos) {
        std::string line = buffer_.substr(begin_, end - begin_);
        begin_ = end + 1;
        return line;
      }
      buffer_.erase(0, std::exchange(begin_, 0));
      char bytes[4096];
      const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) {
        if (terminal_) {
          // Ctrl-C gives the line up.
          buffer_.clear();
          return std::string();
        }
        return std::nullopt;
      }
      if (count <= 0) break;
      buffer_.append(bytes, static_cast<size_t>(count));
    }
    if (terminal_) std::fputs("\n", stdout);
    if (buffer_.empty()) return std::nullopt;
    return std::exchange(buffer_, std::string());
  }

 private:
  const bool terminal_;
  std::string buffer_;
  size_t begin_ = 0;
};

#if defined(BRAID_HAVE_LIBEDIT)

class EditEditor final : public LineEditor {
 public:
  explicit EditEditor(const EditorSettings& settings)
      : settings_(settings),
        history_(::history_init()),
        edit_(::el_init("braid", stdin, stdout, stderr)) {
    if (!ok()) return;
    HistEvent event{};
    ::history(history_, &event, H_SETSIZE, static_cast<int>(kHistoryLines));
    ::history(history_, &event, H_SETUNIQUE, 1);
    for (const std::string& line : LoadHistory(settings_.history_path)) {
      ::history(history_, &event, H_ENTER, line.c_str());
    }
    ::el_set(edit_, EL_CLIENTDATA, this);
    ::el_set(edit_, EL_EDITOR, "emacs");
    ::el_set(edit_, EL_PROMPT, &Prompt);
    ::el_set(edit_, EL_HIST, &::history, history_);
    ::el_set(edit_, EL_ADDFN, "braid-complete", "completes the word", &Complete);
    ::el_set(edit_, EL_ADDFN, "braid-give-up", "gives the line up", &GiveUp);
    ::el_set(edit_, EL_BIND, "^I", "braid-complete", nullptr);
    ::el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    // While a line is edited, Ctrl-C is a key: a signal would end the read in the middle.
    ::el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
    ::el_set(edit_, EL_BIND, "^C", "braid-give-up", nullptr);
    ::el_source(edit_, nullptr);
  }
  ~EditEditor() override {
    if (edit_ != nullptr) ::el_end(edit_);
    if (history_ != nullptr) ::history_end(history_);
  }
  EditEditor(const EditEditor&) = delete;
  EditEditor& operator=(const EditEditor&) = delete;
  bool ok() const { return history_ != nullptr && edit_ != nullptr; }

  std::optional<std::string> Read(const std::string& prompt) override {
    prompt_ = prompt;
    int length = 0;
    const char* const bytes = ::el_gets(edit_, &length);
    if (bytes == nullptr || length <= 0) {
      std::fputs("\n", stdout);
      return std::nullopt;
    }
    std::string line(bytes, static_cast<size_t>(length));
    if (line.back() == '\n') line.pop_back();
    // As in other shells, a line that begins with a blank is not kept.
    if (!line.empty() && line.front() != ' ') {
      HistEvent event{};
      ::history(history_, &event, H_ENTER, line.c_str());
      AppendHistory(settings_.history_path, line);
    }
    return line;
  }

 private:
  static EditEditor* Self(EditLine* edit) {
    EditEditor* self = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &self);
    return self;
  }
  static char* Prompt(EditLine* edit) { return Self(edit)->prompt_.data(); }

  static unsigned char GiveUp(EditLine* edit, int) {
    const LineInfo* const line = ::el_line(edit);
    ::el_cursor(edit, static_cast<int>(line->lastchar - line->cursor));
    ::el_deletestr(edit, static_cast<int>(line->lastchar - line->buffer));
    return CC_REFRESH;
  }

  static unsigned char Complete(EditLine* edit, int) {
    const LineInfo* const line = ::el_line(edit);
    const std::string text(line->buffer, line->cursor);
    const Completion completion = Self(edit)->settings_.complete(text);
    const std::string typed = text.substr(std::min(completion.begin, text.size()));
    if (!completion.replacement.empty() && completion.replacement != typed) {
      ::el_deletestr(edit, static_cast<int>(typed.size()));
      if (::el_insertstr(edit, completion.replacement.c_str()) != 0) return CC_ERROR;
      return CC_REFRESH;
    }
    if (completion.choices.empty()) return CC_ERROR;
    std::string list = "\n";
    for (const std::string& choice : completion.choices) list += choice + "\n";
    if (completion.more) list += "...\n";
    std::fputs(list.c_str(), stdout);
    return CC_REDISPLAY;
  }

  const EditorSettings settings_;
  History* const history_;
  EditLine* const edit_;
  std::string prompt_;
};

#endif

}  // namespace

std::unique_ptr<LineEditor> MakeLineEditor(const EditorSettings& settings) {
#if defined(BRAID_HAVE_LIBEDIT)
  if (settings.terminal) {
    // The width of what is typed depends on it.
    std::setlocale(LC_CTYPE, "");
    auto editor = std::make_unique<EditEditor>(settings);
    if (editor->ok()) return editor;
  }
#endif
  return std::make_unique<PlainEditor>(settings.terminal);
}

std::string HistoryPath() {
  // The standard for such folders says that a relative path counts as none.
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/braid/history";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/state/braid/history";
  return {};
}

std::vector<std::string> LoadHistory(const std::string& path) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() <= kHistoryLines) return lines;
  const bool much = lines.size() > 2 * kHistoryLines;
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kHistoryLines));
  if (!much) return lines;
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  for (const std::string& line : lines) AppendHistory(fresh, line);
  std::rename(fresh.c_str(), path.c_str());
  return lines;
}

void AppendHistory(const std::string& path, std::string_view line) {
  if (path.empty()) return;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::create_directories(folder, ignored)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  const std::string text = std::string(line) + "\n";
  [[maybe_unused]] const ssize_t count = ::write(fd, text.data(), text.size());
  ::close(fd);
}

}  // namespace braid::tools

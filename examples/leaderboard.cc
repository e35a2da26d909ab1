// The best of several games, with keys of three parts in an order of their own: games by name, in
// each the highest score first, and players by name. The order is an encoding of keys into bytes
// that sort as the keys shall; the database then takes and shows the keys as they are written here.
//
//   leaderboard FOLDER < commands
//
//   score GAME POINTS PLAYER           keep a score; POINTS is any whole number, also below 0
//   top GAME COUNT                     show the best
//   from GAME POINTS                   show those that have at most so many points
#include <braid/db.h>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace {

using braid::Slice;
using braid::Status;

// What a key says: "tetris 4200 ada". Names have no blanks.
struct Score {
  std::string game;
  int64_t points = 0;
  std::string player;
};

std::string KeyOf(const Score& score) {
  return score.game + " " + std::to_string(score.points) + " " + score.player;
}

std::optional<Score> ScoreOf(Slice key) {
  const size_t first = key.find(' ');
  const size_t second = key.find(' ', first == Slice::npos ? first : first + 1);
  if (second == Slice::npos || key.find('\0') != Slice::npos) return std::nullopt;
  Score score{std::string(key.substr(0, first)), 0, std::string(key.substr(second + 1))};
  const Slice points = key.substr(first + 1, second - first - 1);
  std::from_chars(points.data(), points.data() + points.size(), score.points);
  // One key, one way to write it: "+7" and "007" are none. And no blanks in names.
  if (KeyOf(score) != key || score.player.find(' ') != std::string::npos) return std::nullopt;
  return score;
}

// Game, a zero byte, the points, the player. The zero byte keeps "chess" before "chess960". Points
// are eight bytes, the highest first, with the sign turned round so that those below 0 sort below,
// and then all bits turned round so that the highest come first.
class HighestFirst final : public braid::KeyOrder {
 public:
  std::string_view Name() const override { return "leaderboard.1"; }

  Status Encode(Slice key, std::string* out) const override {
    const std::optional<Score> score = ScoreOf(key);
    if (!score) return Status::InvalidArgument("a key is GAME POINTS PLAYER");
    const uint64_t points = ~(static_cast<uint64_t>(score->points) ^ kSign);
    *out = score->game + '\0';
    for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(points >> shift));
    *out += score->player;
    return Status::OK();
  }

  Status Decode(Slice encoded, std::string* out) const override {
    const size_t end = encoded.find('\0');
    if (end == Slice::npos || encoded.size() < end + 9) {
      return Status::Corruption("a key of the leaderboard is too short");
    }
    uint64_t points = 0;
    for (const char byte : encoded.substr(end + 1, 8)) {
      points = points << 8 | static_cast<uint8_t>(byte);
    }
    *out = KeyOf({std::string(encoded.substr(0, end)), static_cast<int64_t>(~points ^ kSign),
                  std::string(encoded.substr(end + 9))});
    return Status::OK();
  }

 private:
  static constexpr uint64_t kSign = 1ull << 63;
};

// The scores of a game with at most `most` points, the best first, `count` of them.
Status Show(braid::DB* db, const std::string& game, int64_t most, uint64_t count) {
  braid::ReadOptions options;
  options.lower_bound = KeyOf({game, most, ""});
  const std::unique_ptr<braid::Iterator> it = db->NewIterator(options);
  for (it->SeekToFirst(); it->Valid() && count > 0; it->Next(), --count) {
    const std::optional<Score> score = ScoreOf(it->key());
    if (!score || score->game != game) break;
    std::cout << score->points << " " << score->player << "\n";
  }
  return it->status();
}

Status Do(braid::DB* db, std::istream& words) {
  std::string command;
  Score score;
  if (!(words >> command >> score.game)) return Status::InvalidArgument("a command and a game");
  uint64_t count = 0;
  if (command == "score" && words >> score.points >> score.player) {
    return db->Put(KeyOf(score), "");
  }
  if (command == "top" && words >> count) return Show(db, score.game, INT64_MAX, count);
  if (command == "from" && words >> score.points) {
    return Show(db, score.game, score.points, UINT64_MAX);
  }
  return Status::InvalidArgument("no such command, or a word of it is missing: " + command);
}

int Fail(const Status& status) {
  std::cerr << "leaderboard: " << status.ToString() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: leaderboard FOLDER < commands\n";
    return 2;
  }
  auto opened = braid::DB::Open({}, argv[1], std::make_shared<HighestFirst>());
  if (!opened.ok()) return Fail(opened.status());
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    if (Status s = Do(opened->get(), words); !s.ok()) return Fail(s);
  }
  const Status closed = (*opened)->Close();
  return closed.ok() ? 0 : Fail(closed);
}

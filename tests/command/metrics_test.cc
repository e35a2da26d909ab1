// metrics: what is printed and served, from a closed pool and from a process that tells.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>

#include "command/command_runner.h"

namespace braid::test {
namespace {

class MetricsTest : public CommandTest {
 protected:
  /// The values of a text by "name{labels}".
  static std::map<std::string, std::string> Values(const std::string& text) {
    std::map<std::string, std::string> values;
    for (const std::string& line : Lines(text)) {
      if (line.starts_with("#")) continue;
      const size_t space = line.rfind(' ');
      EXPECT_NE(space, std::string::npos) << line;
      EXPECT_TRUE(values.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
    }
    return values;
  }
  std::string Name(const std::string& metric) const { return metric + "{pool=\"" + Pool() + "\"}"; }

  /// A connection to `port`, on which at most five seconds are waited.
  static int Connect(uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static std::string Ask(uint16_t port, const std::string& request) {
    const int fd = Connect(port);
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::recv(fd, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<size_t>(count));
    }
    ::close(fd);
    return answer;
  }
  /// The port of the line "serving http://127.0.0.1:PORT/metrics".
  static uint16_t PortOf(const RunningCommand& server) {
    std::string text;
    EXPECT_TRUE(WaitUntil([&] { return (text = server.OutSoFar()).ends_with("/metrics\n"); }));
    const size_t colon = text.rfind(':');
    return static_cast<uint16_t>(std::stoi(text.substr(colon + 1)));
  }
};

TEST_F(MetricsTest, AClosedPoolIsOpenedForItsSizes) {
  Out({"put", Pool(), "a", "1"});
  Out({"put", Pool(), "b", "2"});
  const auto values = Values(Out({"metrics", Pool()}));
  EXPECT_EQ(values.at(Name("braid_up")), "1");
  EXPECT_EQ(values.at(Name("braid_last_sequence")), "2");
  EXPECT_EQ(values.at(Name("braid_clean_open")), "1");
  EXPECT_NE(values.at(Name("braid_pool_bytes")), "0");
  EXPECT_EQ(values.count("braid_node_visits_total{pool=\"" + Pool() +
                         "\",layer=\"upper\",region=\"local\"}"),
            1u);
}

TEST_F(MetricsTest, AProcessThatTellsIsRead) {
  RunningCommand load(folder_.path(), {"load", Pool(), "-", "--publish-stats", "--batch", "1"});
  ASSERT_TRUE(load.Feed("a\t1\nb\t2\nc\t3\n"));
  std::map<std::string, std::string> values;
  EXPECT_TRUE(WaitUntil([&] {
    const CommandResult result = Run({"metrics", Pool()});
    if (result.exit_code != 0) return false;
    values = Values(result.out);
    return values[Name("braid_puts_total")] == "3";
  }));
  EXPECT_EQ(values[Name("braid_put_bytes_total")], "6");
  EXPECT_EQ(load.Finish().exit_code, 0);
}

TEST_F(MetricsTest, AProcessThatDoesNotTellIsNamedAsTheReason) {
  RunningCommand load(folder_.path(), {"load", Pool(), "-", "--batch", "1"});
  ASSERT_TRUE(load.Feed("a\t1\n"));
  ASSERT_TRUE(WaitUntil([&] {
    return Run({"info", Pool()}).out.find("by process") != std::string::npos;
  }));
  ExpectError({"metrics", Pool()}, "--publish-stats");
  EXPECT_EQ(load.Finish().exit_code, 0);
}

TEST_F(MetricsTest, ServesUntilASignal) {
  Out({"put", Pool(), "a", "1"});
  RunningCommand server(folder_.path(), {"metrics", Pool(), "--listen", "0"});
  const uint16_t port = PortOf(server);
  // Nobody has the pool open, and the server does not open it.
  const std::string answer = Ask(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find(Name("braid_up") + " 0\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("braid_puts_total"), std::string::npos) << answer;
  EXPECT_EQ(Out({"get", Pool(), "a"}), "1\n");
  // One that says nothing holds up no other.
  const int silent = Connect(port);
  RunningCommand load(folder_.path(), {"load", Pool(), "-", "--publish-stats", "--batch", "1"});
  ASSERT_TRUE(load.Feed("b\t2\n"));
  EXPECT_TRUE(WaitUntil([&] {
    return Ask(port, "GET /metrics HTTP/1.1\r\n\r\n").find(Name("braid_puts_total") + " 1\n") !=
           std::string::npos;
  }));
  EXPECT_EQ(load.Finish().exit_code, 0);
  EXPECT_TRUE(Ask(port, "GET /" + std::string(9000, 'x')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(Ask(port, "GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  server.Signal(SIGTERM);
  const CommandResult ended = server.Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  ::close(silent);
}

TEST_F(MetricsTest, WrongUseIsAnError) {
  ExpectError({"metrics", Pool()}, "no pool at");
  ExpectError({"metrics"}, "no POOL");
  Out({"put", Pool(), "a", "1"});
  ExpectError({"metrics", Pool(), "--listen", "0.0.0.0:0"}, "--allow-remote");
  ExpectError({"metrics", Pool(), "--listen", "x"}, "is not an address");
  ExpectError({"metrics", Pool(), "--allow-remote"}, "--listen");
  ExpectError({"metrics", Pool(), "--markdown"}, "--markdown");
}

}  // namespace
}  // namespace braid::test

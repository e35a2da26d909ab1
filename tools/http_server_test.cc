#include "tools/http_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <vector>

#include "support/child_process.h"
#include "tools/interrupt.h"

namespace braid::tools {
namespace {

/// Calls of accept4 that fail next, as if descriptors had run out, and when they did.
int accepts_to_fail = 0;
std::vector<std::chrono::steady_clock::time_point> failed_accepts;

}  // namespace
}  // namespace braid::tools

// In the place of the C library's.
extern "C" int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  using Accept4 = int (*)(int, sockaddr*, socklen_t*, int);
  static const auto real = reinterpret_cast<Accept4>(::dlsym(RTLD_NEXT, "accept4"));
  if (braid::tools::accepts_to_fail == 0) return real(fd, address, size, flags);
  --braid::tools::accepts_to_fail;
  braid::tools::failed_accepts.push_back(std::chrono::steady_clock::now());
  errno = EMFILE;
  return -1;
}

namespace braid::tools {
namespace {

std::string Answer(std::string_view request) {
  return HttpResponse(request, [] { return std::string("braid_up 1\n"); });
}

TEST(HttpServerTest, MetricsHaveTheTypeThatScrapersExpect) {
  EXPECT_EQ(Answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: 11\r\nConnection: close\r\n\r\nbraid_up 1\n");
  EXPECT_TRUE(Answer("GET /metrics?x=1 HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServerTest, HeadHasNoBody) {
  const std::string answer = Answer("HEAD /metrics HTTP/1.1\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 11\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(HttpServerTest, OtherRequestsAreRefused) {
  EXPECT_TRUE(Answer("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(Answer("GET /metrics/.. HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  const std::string post = Answer("POST /metrics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(post.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
  for (const char* request : {"", "\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n",
                              "GET /metrics SSH-2.0\r\n\r\n", "\x16\x03\x01 tls \r\n\r\n"}) {
    EXPECT_TRUE(Answer(request).starts_with("HTTP/1.1 400 ")) << request;
  }
}

TEST(HttpServerTest, OnlyLoopbackUnlessAllowed) {
  for (const char* address : {"0", "127.0.0.1:0", "127.8.9.1:0", "localhost:0"}) {
    EXPECT_TRUE(HttpServer::Listen(address, false).ok()) << address;
  }
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    auto refused = HttpServer::Listen(address, false);
    ASSERT_TRUE(refused.status().IsInvalidArgument()) << address;
    EXPECT_NE(refused.status().message().find("--allow-remote"), std::string::npos);
  }
  EXPECT_TRUE(HttpServer::Listen("0.0.0.0:0", true).ok());
}

TEST(HttpServerTest, BadAddressesSayHowToWriteOne) {
  for (const char* address : {"", "x", ":", ":80", "127.0.0.1", "127.0.0.1:", "65536", "-1", "80x",
                              "::1:80", "[]:80", "127.0.0.1:80:90"}) {
    EXPECT_TRUE(HttpServer::Listen(address, false).status().IsInvalidArgument()) << address;
  }
}

TEST(HttpServerTest, AFreePortIsNamedAndATakenOneIsAnError) {
  auto first = HttpServer::Listen("0", false);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE((*first)->address().starts_with("127.0.0.1:"));
  EXPECT_FALSE((*first)->address().ends_with(":0"));
  auto second = HttpServer::Listen((*first)->address(), false);
  EXPECT_TRUE(second.status().IsIOError());
  EXPECT_NE(second.status().message().find("choose another port"), std::string::npos);
}

/// A connection to `address`, a loopback address of IPv4, that has sent a request.
int ConnectAndAsk(const std::string& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\n\r\n";
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::send(fd, kRequest.data(), kRequest.size(), 0) != static_cast<ssize_t>(kRequest.size())) {
    ::close(fd);
    return -1;
  }
  return fd;
}

TEST(HttpServerTest, WithoutDescriptorsItWaitsAndThenAnswers) {
  constexpr int kFailures = 4;
  const test::ChildOutcome outcome = test::RunInChild(60, [](int say) {
    StopOnSignal();
    auto server = HttpServer::Listen("0", false);
    if (!server.ok()) return 1;
    const int client = ConnectAndAsk((*server)->address());
    if (client < 0) return 2;
    accepts_to_fail = kFailures;
    const Status served = (*server)->Serve([] {
      std::raise(SIGTERM);  // this answer is the last
      return std::string("braid_up 1\n");
    });
    server->reset();
    const std::string answer = test::ReadToEnd(client);
    test::SayTo(say, served.ToString() + " " + answer);
    if (!served.ok() || !answer.starts_with("HTTP/1.1 200 OK\r\n")) return 3;
    if (failed_accepts.size() != kFailures) return 4;
    const auto waited = failed_accepts.back() - failed_accepts.front();
    return waited >= (kFailures - 1) * HttpServer::kAcceptPause ? 0 : 5;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

}  // namespace
}  // namespace braid::tools

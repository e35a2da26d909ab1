#include "tools/http_server.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace braid::tools

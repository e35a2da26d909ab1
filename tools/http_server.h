// A small HTTP/1.1 server for one text: what `braid metrics --listen` answers a scraper with.
//
// Thread safety: one thread.
// Persistence: none.
// Invariants:
//   1. At most kMaxConnections at a time, each with at most kMaxRequestBytes and kRequestSeconds: a
//      client that is slow or says too much is cut off, and holds up no other one.
//   2. When descriptors or memory have run out, no connection is accepted for kAcceptPause: a
//      connection that waits would make every poll return at once.
//   3. Nothing of a request is acted upon but its method and path.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"

namespace braid::tools {

class HttpServer {
 public:
  static constexpr size_t kMaxConnections = 64;
  static constexpr size_t kMaxRequestBytes = 8192;
  static constexpr std::chrono::seconds kRequestSeconds{5};
  static constexpr std::chrono::milliseconds kAcceptPause{100};

  /// Listens at `address`, [HOST:]PORT; without HOST it is 127.0.0.1, and port 0 is a free one.
  /// InvalidArgument when the address is none, or others than this machine could reach it and
  /// `allow_remote` is not set; IOError when it can't be had.
  static Result<std::unique_ptr<HttpServer>> Listen(const std::string& address, bool allow_remote);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "127.0.0.1:9100".
  const std::string& address() const { return address_; }

  /// Answers GET /metrics with what `metrics` returns, until a signal asks to stop (interrupt.h).
  Status Serve(const std::function<std::string()>& metrics);

 private:
  struct Connection {
    int fd = -1;
    std::string request;
    std::string response;  // not empty: what is left to send
    std::chrono::steady_clock::time_point deadline;
  };

  HttpServer(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}
  void Accept();
  /// False when the connection is done.
  bool Receive(Connection& connection, const std::function<std::string()>& metrics);
  static bool Send(Connection& connection);

  const int fd_;
  const std::string address_;
  std::vector<Connection> connections_;
  std::chrono::steady_clock::time_point accept_from_;  // not before: invariant 2
};

/// What a request, complete or too long, is answered with.
std::string HttpResponse(std::string_view request, const std::function<std::string()>& metrics);

}  // namespace braid::tools

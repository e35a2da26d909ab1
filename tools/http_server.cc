#include "tools/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "tools/interrupt.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct HostAndPort {
  std::string host = "127.0.0.1";
  std::string port;
};

std::optional<HostAndPort> Split(const std::string& address) {
  HostAndPort result;
  const size_t colon = address.rfind(':');
  result.port = colon == std::string::npos ? address : address.substr(colon + 1);
  uint16_t number = 0;
  const char* const end = result.port.data() + result.port.size();
  const auto [rest, error] = std::from_chars(result.port.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  if (colon == std::string::npos) return result;
  result.host = address.substr(0, colon);
  // [::1]:9100
  if (result.host.size() > 2 && result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.empty() || result.host.find(':') != std::string::npos) {
    return std::nullopt;
  }
  return result;
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    in_addr v4{};
    std::memcpy(&v4, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in, sin_addr),
                sizeof v4);
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6{};
  std::memcpy(&v6, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in6, sin6_addr),
              sizeof v6);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

/// How the address is written that `fd` listens at.
std::string AddressOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(fd, address, &size) != 0 ||
      ::getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                       : fmt::format("{}:{}", host, port);
}

int BoundSocket(const addrinfo& info) {
  const int fd = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  // After a restart the port would else be taken for a minute.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, info.ai_addr, info.ai_addrlen) == 0 && ::listen(fd, 64) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

std::string Response(std::string_view status, std::string_view type, std::string_view body,
                     bool head = false, std::string_view more = "") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n{}"
      "Connection: close\r\n\r\n{}",
      status, type, body.size(), more, head ? std::string_view() : body);
}

}  // namespace

std::string HttpResponse(std::string_view request, const std::function<std::string()>& metrics) {
  constexpr std::string_view kText = "text/plain";
  const std::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const size_t method_end = line.find(' ');
  const size_t target_end = method_end == line.npos ? line.npos : line.find(' ', method_end + 1);
  if (target_end == line.npos || !line.substr(target_end + 1).starts_with("HTTP/1.")) {
    return Response("400 Bad Request", kText, "this is no HTTP request\n");
  }
  const std::string_view method = line.substr(0, method_end);
  std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  target = target.substr(0, target.find('?'));
  if (method != "GET" && method != "HEAD") {
    return Response("405 Method Not Allowed", kText, "only GET and HEAD are served\n", false,
                    "Allow: GET, HEAD\r\n");
  }
  const bool head = method == "HEAD";
  if (target == "/metrics") {
    return Response("200 OK", "text/plain; version=0.0.4", metrics(), head);
  }
  if (target == "/") {
    return Response("200 OK", "text/html",
                    "<!DOCTYPE html><title>braid</title><a href=\"/metrics\">metrics</a>\n", head);
  }
  return Response("404 Not Found", kText, "the metrics are at /metrics\n", head);
}

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address,
                                                       bool allow_remote) {
  const std::optional<HostAndPort> parts = Split(address);
  if (!parts) {
    return Status::InvalidArgument(fmt::format(
        "'{}' is not an address: write PORT, HOST:PORT or [HOST]:PORT, with a port from 0 "
        "to 65535",
        address));
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (error != 0) {
    return Status::InvalidArgument(fmt::format("can't find host '{}': {}: write its address",
                                               parts->host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  if (!allow_remote && !IsLoopback(*found->ai_addr)) {
    return Status::InvalidArgument(
        fmt::format("others could reach {}, and nothing authenticates them: listen on "
                    "127.0.0.1, or pass --allow-remote",
                    address));
  }
  const int fd = BoundSocket(*found);
  if (fd < 0) {
    return Status::IOError(
        fmt::format("can't listen on {}: {}: choose another port, or 0 for a "
                    "free one",
                    address, std::strerror(errno)));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(fd, AddressOf(fd)));
}

HttpServer::~HttpServer() {
  for (const Connection& connection : connections_) ::close(connection.fd);
  ::close(fd_);
}

void HttpServer::Accept() {
  for (;;) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      // One that gave up before it was let in is no reason to let the next one wait.
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) accept_from_ = Clock::now() + kAcceptPause;
      return;
    }
    connections_.push_back({fd, {}, {}, Clock::now() + kRequestSeconds});
    if (connections_.size() == kMaxConnections) return;
  }
}

bool HttpServer::Receive(Connection& connection, const std::function<std::string()>& metrics) {
  char bytes[2048];
  const ssize_t count = ::recv(connection.fd, bytes, sizeof bytes, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.request.append(bytes, static_cast<size_t>(count));
  if (connection.request.size() > kMaxRequestBytes) {
    connection.response =
        Response("431 Request Header Fields Too Large", "text/plain", "the request is too long\n");
  } else if (connection.request.find("\r\n\r\n") != std::string::npos) {
    connection.response = HttpResponse(connection.request, metrics);
  }
  return connection.response.empty() || Send(connection);
}

bool HttpServer::Send(Connection& connection) {
  const ssize_t count =
      ::send(connection.fd, connection.response.data(), connection.response.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  connection.response.erase(0, static_cast<size_t>(count));
  if (!connection.response.empty()) return true;
  ::shutdown(connection.fd, SHUT_WR);
  return false;
}

Status HttpServer::Serve(const std::function<std::string()>& metrics) {
  while (!StopRequested()) {
    const bool pause = Clock::now() < accept_from_;
    const bool deaf = pause || connections_.size() >= kMaxConnections;
    std::vector<pollfd> waits = {{StopDescriptor(), POLLIN, 0}, {deaf ? -1 : fd_, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      const int events = connection.response.empty() ? POLLIN : POLLOUT;
      waits.push_back({connection.fd, static_cast<short>(events), 0});
    }
    const int timeout =
        pause ? static_cast<int>(kAcceptPause.count()) : (connections_.empty() ? -1 : 500);
    if (::poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) {
      return Status::IOError(
          fmt::format("can't wait for requests: {}: start again", std::strerror(errno)));
    }
    if (StopRequested()) break;
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      bool open = Clock::now() < connection.deadline;
      if (open && waits[i + 2].revents != 0) {
        open = connection.response.empty() ? Receive(connection, metrics) : Send(connection);
      }
      if (open) continue;
      ::close(connection.fd);
      connection.fd = -1;
    }
    std::erase_if(connections_, [](const Connection& connection) { return connection.fd < 0; });
    if (waits[1].revents != 0) Accept();
  }
  return Status::OK();
}

}  // namespace braid::tools

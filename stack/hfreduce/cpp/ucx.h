// A UCX worker with its connections, used by one thread.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hfreduce {

// A message that is awaited or under way.
struct Message {
    void* request = nullptr;
    std::size_t bytes = 0;  // of a message that has arrived
    ucs_status_t status = UCS_OK;
    bool pending = false;
    std::size_t* under_way = nullptr;  // the worker's count
};

// What UCX says on standard output: its own words, from "fatal" to "trace".
void set_log_level(const std::string& level);

class UcxWorker {
  public:
    // `device`: UCX's name of the adapter, or several with commas; empty: its environment's.
    explicit UcxWorker(const std::string& device);
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    const std::string& address() const { return address_; }
    // Returns the connection's number. `lost` is called, here or from progress(), when its other
    // end is.
    int connect(const std::string& address, std::function<void(const std::string&)> lost);
    void send(int connection, const void* data, std::size_t bytes, std::uint64_t tag, Message& message);
    void receive(void* data, std::size_t room, std::uint64_t tag, Message& message);
    void cancel(Message& message);
    // Take messages without content that no one awaits: UCX complains of them in the end.
    void discard(std::uint64_t tag, std::uint64_t mask);
    bool progress();
    // Sleep until the network has something, or `event` does.
    void sleep(int event, int milliseconds);
    // End the connections; `force` does not wait for what is under way.
    void close(bool force);

  private:
    struct Connection {
        ucp_ep_h endpoint = nullptr;
        std::function<void(const std::string&)> lost;
    };
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    int descriptor_ = -1;
    std::string address_;
    std::vector<Connection*> connections_;
    std::size_t under_way_ = 0;  // messages that are pending

    void begin(Message& message);
    static void end(Message& message, ucs_status_t status);
    static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                         void* data);
    static void sent(void* request, ucs_status_t status, void* data);
    static void failed(void* data, ucp_ep_h endpoint, ucs_status_t status);
};

}  // namespace hfreduce

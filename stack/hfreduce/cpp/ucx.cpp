#include "ucx.h"

#include <poll.h>
#include <ucs/config/global_opts.h>
#include <unistd.h>

#include <chrono>

#include "error.h"

namespace hfreduce {

namespace {

void require(ucs_status_t status, const char* what) {
    if (status != UCS_OK)
        throw Error(std::string("UCX: ") + what + ": " + ucs_status_string(status));
}

}  // namespace

void set_log_level(const std::string& level) {
    require(ucs_global_opts_set_value("LOG_LEVEL", level.c_str()), "its log level");
}

UcxWorker::UcxWorker(const std::string& device) {
    ucp_config_t* config = nullptr;
    require(ucp_config_read(nullptr, nullptr, &config), "its environment variables");
    if (!device.empty())
        require(ucp_config_modify(config, "NET_DEVICES", device.c_str()), "the adapter's name");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    params.name = "hfreduce";
    const ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    require(status, "no usable transport");
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // made by one thread, used by another
    worker.events = UCP_WAKEUP_TAG_SEND | UCP_WAKEUP_TAG_RECV | UCP_WAKEUP_RX | UCP_WAKEUP_TX;
    require(ucp_worker_create(context_, &worker, &worker_), "a worker");
    require(ucp_worker_get_efd(worker_, &descriptor_), "its events");
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    require(ucp_worker_get_address(worker_, &address, &length), "its address");
    address_.assign(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
}

UcxWorker::~UcxWorker() {
    close(true);
    // UCX 1.13 ends the process if it is asked to end a connection of its own, to a node that is
    // lost, in the middle of a message from there. What it holds is then left to the kernel.
    if (under_way_) return;
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
    for (Connection* connection : connections_) delete connection;
}

int UcxWorker::connect(const std::string& address, std::function<void(const std::string&)> lost) {
    auto* connection = new Connection{nullptr, std::move(lost)};
    connections_.push_back(connection);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = failed;
    params.err_handler.arg = connection;
    const ucs_status_t status = ucp_ep_create(worker_, &params, &connection->endpoint);
    if (status != UCS_OK) {
        connection->endpoint = nullptr;
        connection->lost(ucs_status_string(status));
    }
    return static_cast<int>(connections_.size()) - 1;
}

void UcxWorker::failed(void* data, ucp_ep_h, ucs_status_t status) {
    static_cast<Connection*>(data)->lost(ucs_status_string(status));
}

void UcxWorker::received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                         void* data) {
    auto* message = static_cast<Message*>(data);
    message->bytes = info->length;
    end(*message, status);
    ucp_request_free(request);
}

void UcxWorker::sent(void* request, ucs_status_t status, void* data) {
    end(*static_cast<Message*>(data), status);
    ucp_request_free(request);
}

void UcxWorker::begin(Message& message) {
    message = Message{};
    message.pending = true;
    message.under_way = &under_way_;
    ++under_way_;
}

void UcxWorker::end(Message& message, ucs_status_t status) {
    message.status = status;
    message.pending = false;
    message.request = nullptr;
    --*message.under_way;
}

void UcxWorker::send(int connection, const void* data, std::size_t bytes, std::uint64_t tag,
                     Message& message) {
    begin(message);
    const ucp_ep_h endpoint = connections_[connection]->endpoint;
    if (!endpoint) return end(message, UCS_ERR_UNREACHABLE);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = sent;
    param.user_data = &message;
    ucs_status_ptr_t request = ucp_tag_send_nbx(endpoint, data, bytes, tag, &param);
    if (request == nullptr) {
        end(message, UCS_OK);
    } else if (UCS_PTR_IS_ERR(request)) {
        end(message, UCS_PTR_STATUS(request));
    } else if (message.pending) {
        message.request = request;
    }
}

void UcxWorker::receive(void* data, std::size_t room, std::uint64_t tag, Message& message) {
    begin(message);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = received;
    param.user_data = &message;
    ucs_status_ptr_t request = ucp_tag_recv_nbx(worker_, data, room, tag, ~std::uint64_t{0}, &param);
    if (UCS_PTR_IS_ERR(request)) {
        end(message, UCS_PTR_STATUS(request));
    } else if (message.pending) {
        message.request = request;
    }
}

void UcxWorker::cancel(Message& message) {
    if (message.pending && message.request) ucp_request_cancel(worker_, message.request);
}

void UcxWorker::discard(std::uint64_t tag, std::uint64_t mask) {
    ucp_tag_recv_info_t info;
    while (ucp_tag_message_h found = ucp_tag_probe_nb(worker_, tag, mask, 1, &info)) {
        ucp_request_param_t param{};
        ucs_status_ptr_t request = ucp_tag_msg_recv_nbx(worker_, nullptr, 0, found, &param);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
}

bool UcxWorker::progress() {
    bool moved = false;
    while (ucp_worker_progress(worker_)) moved = true;
    return moved;
}

void UcxWorker::sleep(int event, int milliseconds) {
    if (ucp_worker_arm(worker_) != UCS_OK) return;  // something is there already
    pollfd both[] = {{descriptor_, POLLIN, 0}, {event, POLLIN, 0}};
    poll(both, 2, milliseconds);
    std::uint64_t count;
    if (both[1].revents) [[maybe_unused]] const auto done = read(event, &count, sizeof count);
}

void UcxWorker::close(bool force) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (Connection* connection : connections_) {
        if (!connection->endpoint) continue;
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
        ucs_status_ptr_t request = ucp_ep_close_nbx(connection->endpoint, &param);
        connection->endpoint = nullptr;
        if (!UCS_PTR_IS_PTR(request)) continue;
        while (ucp_request_check_status(request) == UCS_INPROGRESS &&
               std::chrono::steady_clock::now() < limit)
            ucp_worker_progress(worker_);
        ucp_request_free(request);
    }
}

}  // namespace hfreduce

// Tells the nodes next to this one in the trees that it is there, over the way that chunks take.
//
// The monitor hears every rank through rank 0. That two other nodes lost each other it cannot
// tell: TCP itself goes on trying for a quarter of an hour.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "ucx.h"

namespace hfreduce {

class Beats {
  public:
    Beats(UcxWorker& worker, double silence_s);

    void tell(int connection, std::uint64_t tag);
    void hear(std::uint64_t tag, const std::string& who);

    // Send and take what is due. Returns who has not been heard for too long, or nothing.
    std::string step();
    void stop();

  private:
    struct Told {
        int connection;
        std::uint64_t tag;
        Message message;
    };
    struct Heard {
        std::uint64_t tag;
        std::string who;
        double at_s;
        Message message;
    };
    UcxWorker& worker_;
    double silence_s_;
    double looked_s_;
    double next_s_ = 0;
    std::deque<Told> told_;  // deques: UCX keeps the messages' addresses
    std::deque<Heard> heard_;
};

}  // namespace hfreduce

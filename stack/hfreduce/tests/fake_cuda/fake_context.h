// What the calls of the pretended driver have in common.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "fake_stream.h"

namespace fake {

struct Context {
    int device;
    std::atomic<int> broken{0};  // the error that a stream met; no call forgets it
    std::unique_ptr<Stream> legacy;
};

Context* context();  // this thread's
void push(Context* context);
Context* pop();

int number(const char* name, int otherwise);
// What FAKE_CUDA_FAIL says of a call.
int failure(const std::string& call);
// Every call begins with this.
int begin(const char* call);
bool initialise();

bool spoils_a_capture();

// The context's stream, or nullptr.
Stream* stream_of(void* handle);
int copy(void* stream, const char* kind, void* to, const void* from, std::size_t bytes, bool pinned);

}  // namespace fake

#define BEGIN \
    if (const int code = fake::begin(__func__)) return code
// Calls that a capture by any thread forbids, but for threads in the relaxed mode; one that is made
// all the same spoils the capture, too.
#define NOT_WHILE_CAPTURING \
    if (fake::spoils_a_capture()) return 900
#define NEED_CONTEXT \
    BEGIN;           \
    if (!fake::context()) return 201

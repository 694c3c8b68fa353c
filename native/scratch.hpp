// Memory of a thread that outlives one call, so that kernels do not ask the system for it again.
#pragma once

#include <new>
#include <vector>

#include "modular.hpp"

namespace securefair {

// At least `words` words, aligned to a cache line, valid until this thread's next call.
inline u32* scratch(std::size_t words) {
    struct alignas(64) Line {
        u32 words[16];
    };
    thread_local std::vector<Line> memory;
    const std::size_t lines = (words + 15) / 16;
    if (memory.size() < lines) memory.resize(lines);
    return memory.data()->words;
}

}  // namespace securefair

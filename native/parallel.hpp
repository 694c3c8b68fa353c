// One pool of threads for all kernels.
#pragma once

#include <cstddef>
#include <functional>

namespace securefair {

// Threads that kernels may use, the caller's included.
void set_threads(int count);
int threads();

// Runs body(i) for every i below count, in any order, on the pool and the calling thread, and
// returns when all are done. An exception of a body is thrown again here. Calls from several
// interpreter threads take turns; a body must not call parallel_for itself.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace securefair

#include "parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace securefair {

namespace {

class Pool {
public:
    explicit Pool(int workers) {
        for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    void run(std::size_t count, const std::function<void(std::size_t)>& body) {
        {
            const std::lock_guard lock(mutex_);
            body_ = &body;
            count_ = count;
            next_ = 0;
            error_ = nullptr;
            busy_ = static_cast<int>(threads_.size());
            ++generation_;
        }
        wake_.notify_all();
        take();
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        if (error_) std::rethrow_exception(error_);
    }

private:
    void take() {
        try {
            for (std::size_t i; (i = next_.fetch_add(1)) < count_;) (*body_)(i);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            error_ = std::current_exception();
            next_ = count_;
        }
    }

    void work() {
        unsigned long seen = 0;
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
                if (stopping_) return;
                seen = generation_;
            }
            take();
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* body_ = nullptr;
    std::size_t count_ = 0;
    std::atomic<std::size_t> next_ = 0;
    std::exception_ptr error_;
    int busy_ = 0;
    unsigned long generation_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

struct Shared {
    std::mutex turn;
    std::unique_ptr<Pool> pool;
    int size = 0;
};
Shared& shared();

// A fork copies the pool but not its threads. Nothing runs while `turn` is held, so the child can
// leave the copy alone (it cannot be joined) and start its own when it needs one.
void before_fork() { shared().turn.lock(); }
void in_parent() { shared().turn.unlock(); }
void in_child() {
    static_cast<void>(shared().pool.release());
    shared().size = 0;
    shared().turn.unlock();
}

Shared& shared() {
    static Shared* const state = [] {
        pthread_atfork(before_fork, in_parent, in_child);
        return new Shared;  // never destroyed: leaving the process must not join threads
    }();
    return *state;
}

std::atomic<int> wanted = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));

}  // namespace

void set_threads(int count) { wanted = std::max(1, count); }

int threads() { return wanted; }

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
    const int size = wanted;
    if (size == 1 || count < 2) {
        for (std::size_t i = 0; i < count; ++i) body(i);
        return;
    }
    Shared& state = shared();
    const std::lock_guard lock(state.turn);
    if (state.size != size) {
        state.pool = std::make_unique<Pool>(size - 1);
        state.size = size;
    }
    state.pool->run(count, body);
}

}  // namespace securefair

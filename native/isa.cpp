#include <algorithm>
#include <atomic>

#include "dispatch.hpp"
#include "gemm_bytes.hpp"
#if SECUREFAIR_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace securefair {

namespace {

#if SECUREFAIR_AMX
// Whether the processor has matrix registers for bytes, and the system lets this process use them.
// Linux asks for a wish before the first use, as their state takes 8 KB a thread.
bool matrix_registers() {
    constexpr unsigned tiles = 1U << 24, bytes = 1U << 25, saves_state = 1U << 27;
    constexpr unsigned configuration = 1U << 17, data = 1U << 18;
    constexpr long wish = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & saves_state) == 0) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles) == 0 || (d & bytes) == 0)
        return false;
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & configuration) == 0 || (low & data) == 0) return false;
    return syscall(SYS_arch_prctl, wish, tile_data) == 0 && matrix_registers_agree();
}
#endif

Isa widest() {
#if SECUREFAIR_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
#if SECUREFAIR_AMX
        if (matrix_registers()) return Isa::amx;
#endif
        return Isa::avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
    return Isa::scalar;
}

std::atomic<Isa> chosen = best_isa();

}  // namespace

Isa best_isa() {
    static const Isa best = widest();
    return best;
}

Isa current_isa() { return chosen; }

void use_isa(Isa isa) {
    const Isa best = best_isa();
    chosen = std::min(isa, best == Isa::avx512 ? Isa::amx : best);
}

}  // namespace securefair

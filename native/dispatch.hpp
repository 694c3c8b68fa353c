// Which instruction set to run. Kernels are written once, in the .inl files, on a vector type V;
// each is compiled for every instruction set by target attributes (no -march, so that one build
// runs on older processors) and the widest one that the processor has is picked at run time.
#pragma once

#if defined(__x86_64__)
#define SECUREFAIR_X86 1
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#define TARGET_AVX512 \
    __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,avx512vnni")))
#else
#define SECUREFAIR_X86 0
#endif
#if SECUREFAIR_X86 && __has_include(<amxint8intrin.h>)
#define SECUREFAIR_AMX 1
#define TARGET_AMX                                                                            \
    __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,amx-tile," \
                          "amx-int8")))
#else
#define SECUREFAIR_AMX 0
#endif
#define INLINE inline __attribute__((always_inline))

namespace securefair {

// With matrix registers dense maps are multiplied by bytes (gemm_bytes.hpp); all else is as with
// AVX-512.
enum class Isa { scalar = 0, avx2 = 1, avx512 = 2, amx = 3 };

// The widest instruction set of this processor.
Isa best_isa();

// What kernels run with now: the best unless `use_isa` changed it (tests compare them all). A
// processor that has AVX-512 and no matrix registers emulates them, if it is told to.
Isa current_isa();
void use_isa(Isa isa);

#if SECUREFAIR_X86
#define DISPATCH(function, ...)                                        \
    switch (::securefair::current_isa()) {                             \
        case ::securefair::Isa::amx:                                   \
        case ::securefair::Isa::avx512: return avx512::function(__VA_ARGS__); \
        case ::securefair::Isa::avx2: return avx2::function(__VA_ARGS__);     \
        default: return scalar::function(__VA_ARGS__);                 \
    }
#else
#define DISPATCH(function, ...) return scalar::function(__VA_ARGS__);
#endif

}  // namespace securefair

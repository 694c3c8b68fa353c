// Compiles the kernels of KERNELS, the name of an .inl file, once for every instruction set, each
// in the namespace that DISPATCH picks from. Include it outside of namespaces.
#define TARGET
namespace securefair::scalar {
#include KERNELS
}
#undef TARGET

#if SECUREFAIR_X86
#define TARGET TARGET_AVX2
namespace securefair::avx2 {
#include KERNELS
}
#undef TARGET
#define TARGET TARGET_AVX512
namespace securefair::avx512 {
#include KERNELS
}
#undef TARGET
#endif
#undef KERNELS

/* Where the compiler comes without a C library: an assertion that fails is a fault in abort(). */
#include <stdlib.h>
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : abort())
#endif

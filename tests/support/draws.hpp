// How many random cases a test draws.
#pragma once

namespace sgl::test {

// Sanitizers make a case 5 to 20 times slower and find their faults in a part of the
// cases already: all of them run the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kDrawsDivisor = 10;
#else
inline constexpr int kDrawsDivisor = 1;
#endif

constexpr int draws(int cases) {
  return cases / kDrawsDivisor;
}

}  // namespace sgl::test

// A rank of which rank 1 calls PMIx_Abort and the others wait.
#include <pmix.h>
#include <unistd.h>

int main() {
  pmix_proc_t self;
  if (PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return 1;
  if (self.rank == 1) PMIx_Abort(5, "out of beans", nullptr, 0);
  sleep(100);
  return 1;
}

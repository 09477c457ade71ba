// A list of PMIx attributes under construction.
#pragma once

#include <cstdint>
#include <string>

#include <pmix.h>
#include <pmix_server.h>

namespace sgl::run {

class Attributes {
 public:
  Attributes() : list_(PMIx_Info_list_start()) {}
  ~Attributes() { PMIx_Info_list_release(list_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(const char* key, uint32_t value) { add(key, &value, PMIX_UINT32); }
  void add(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void add_rank(const char* key, int rank) {
    pmix_rank_t value = static_cast<pmix_rank_t>(rank);
    add(key, &value, PMIX_PROC_RANK);
  }
  void add_local_rank(const char* key, int rank) {
    uint16_t value = static_cast<uint16_t>(rank);
    add(key, &value, PMIX_UINT16);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    PMIx_Info_list_add(list_, key, value, type);
  }
  // The list `inner` as one attribute.
  void add_list(const char* key, Attributes& inner) {
    pmix_data_array_t array;
    if (PMIx_Info_list_convert(inner.list_, &array) != PMIX_SUCCESS) return;
    add(key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
  }
  // The list as libpmix's functions take it; the caller destroys the array.
  pmix_data_array_t convert() {
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 0, PMIX_INFO);
    PMIx_Info_list_convert(list_, &array);
    return array;
  }

 private:
  void* list_;
};

}  // namespace sgl::run

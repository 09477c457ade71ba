#include "transport/rc/device.hpp"

namespace sgl {

const char* outcome_text(DeviceOutcome outcome) {
  switch (outcome) {
    case DeviceOutcome::success:
      return "success";
    case DeviceOutcome::local_protection:
      return "local protection error";
    case DeviceOutcome::local_length:
      return "local length error";
    case DeviceOutcome::remote_access:
      return "remote access error";
    case DeviceOutcome::remote_operation:
      return "remote operation error";
    case DeviceOutcome::receiver_not_ready:
      return "receiver not ready";
    case DeviceOutcome::retry_exceeded:
      return "retries exceeded";
    case DeviceOutcome::flushed:
      return "flushed";
  }
  return "unknown outcome";
}

}  // namespace sgl

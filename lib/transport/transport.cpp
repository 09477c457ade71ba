#include "transport/transport.hpp"

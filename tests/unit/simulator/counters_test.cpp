#include "tests/unit/simulator/ptx_test.h"

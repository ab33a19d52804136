/* Stands for libcuda.so.1 in the tests of what --device cuda says. FAKE_INIT
 * and FAKE_COUNT are set by the build. */
int cuInit(unsigned flags) { return FAKE_INIT; }
int cuDeviceGetCount(int *count) {
  *count = FAKE_COUNT;
  return 0;
}
int cuGetErrorString(int code, const char **text) {
  *text = "system not ready";
  return 0;
}

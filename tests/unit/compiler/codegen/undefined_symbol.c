// An object that needs something from outside, as no kernel may.
void lockstitch_test_missing_function(void);
void lockstitch_test_caller(void) { lockstitch_test_missing_function(); }

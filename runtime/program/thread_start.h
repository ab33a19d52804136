// What a program wants done on every thread that Lockstitch makes: the command
// line gives each a stack for its crash handler, without which an exhausted
// stack would end the process by a signal.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_THREAD_START_H
#define LOCKSTITCH_RUNTIME_PROGRAM_THREAD_START_H

namespace lockstitch {

/// Sets what enterThread() calls; null: nothing. Before there are threads.
void setThreadStart(void (*start)());

/// To be called first of all on a thread that a library made; does its work once
/// per thread.
void enterThread();

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_THREAD_START_H

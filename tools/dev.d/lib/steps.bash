# Steps: run a command with a title, a log, signs of life, and a clear message when it fails.
# shellcheck shell=bash disable=SC2034,SC2154

logs=build/logs
started=$SECONDS
steps_done=0

elapsed() { # elapsed SECONDS: "7 s", "3 min 07 s"
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE [LINE...]: ends the verb.
fail() {
  {
    echo
    echo "tools/dev: $1"
    shift
    for line in "$@"; do echo "  $line"; done
  } >&2
  exit 1
}

# step TITLE COMMAND...: runs the command with its output in build/logs/NN-TITLE.log; shows a sign of life every 20 s.
step() {
  local title=$1 log begin pid status=0 last=0 passed
  shift
  steps_done=$((steps_done + 1))
  mkdir -p "$logs"
  log=$logs/$(printf '%02d' $steps_done)-$(tr -cs 'a-zA-Z0-9' '-' <<<"$title" | sed 's/^-//;s/-$//').log
  begin=$SECONDS
  printf '[%s] %s ...\n' "$steps_done" "$title"
  printf '$ %s\n' "$(printf '%q ' "$@")" >"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    passed=$((SECONDS - begin))
    if ((passed >= last + 20)); then
      last=$passed
      printf '    %s  %s\n' "$(elapsed "$passed")" "$(tail -n 1 "$log" | tr -d '\r' | cut -c1-100)"
    fi
  done
  wait "$pid" || status=$?
  if ((status != 0)); then
    echo "    failed after $(elapsed $((SECONDS - begin))); the end of its log:"
    tail -n 30 "$log" | sed 's/^/    | /'
    fail "the step '$title' failed (exit status $status)" "command: $(printf '%q ' "$@")" "log:     $root/$log" \
      "A repeated call goes on where this one stopped."
  fi
  printf '    done in %s\n' "$(elapsed $((SECONDS - begin)))"
}

# shown TITLE COMMAND...: as step, but the command's output is for the reader and goes to the terminal.
shown() {
  local title=$1 status=0
  shift
  steps_done=$((steps_done + 1))
  printf '[%s] %s ...\n' "$steps_done" "$title"
  "$@" </dev/null || status=$?
  ((status == 0)) || fail "the step '$title' failed (exit status $status)" "command: $(printf '%q ' "$@")"
}

total_time() { elapsed $((SECONDS - started)); }

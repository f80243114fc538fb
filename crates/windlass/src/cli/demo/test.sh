#!/bin/sh
# One case per line: the expected output, then the arguments of greet.sh.
passed=0 failed=0
check() {
  expected=$1
  shift
  actual=$(sh greet.sh "$@")
  if [ "$actual" = "$expected" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL: greet.sh $*: expected '$expected', got '$actual'"
  fi
}

check 'Hello, Ada!' Ada
check 'Hello, Grace Hopper!' 'Grace Hopper'
check 'Hello, world!'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

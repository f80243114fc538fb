#!/bin/sh
# Every case is a line: what is expected, then what greet.sh is given.
passed=0 failed=0
check() {
  expected=$1
  shift
  said=$(sh greet.sh "$@")
  if [ "$said" = "$expected" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL: greet.sh $*: expected '$expected', got '$said'"
  fi
}

check 'Hello, Ada!' Ada
check 'Hello, Grace Hopper!' 'Grace Hopper'
check 'Hello, world!'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

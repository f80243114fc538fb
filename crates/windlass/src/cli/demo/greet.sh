#!/bin/sh
# Greets somebody by name.
echo "Hello, $1!"

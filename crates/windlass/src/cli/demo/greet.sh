#!/bin/sh
# Greets a person by name.
echo "Hello, $1!"

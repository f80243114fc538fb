"""Machines on one computer: network namespaces on a bridge, with a database, a git remote, workers and servers.

scripts/many-machines runs them. Nothing here outlives its process: all namespaces, with their interfaces, mounts and processes,
end with it.
"""

"""Warm workers: a job is forked from a process that has its imports done.

A run has a server beside it, which imports what the last jobs imported and forks a worker for each
job. The job's own process, the client, hands over its environment, folder and files, passes signals
on, and ends as its job ends. Where the server cannot serve a job, it runs in its own process. A
worker whose job returns stays for the next one, with what it has loaded.
"""

"""Warm workers: a job is forked from a process that has its imports done.

Half of a short job is the import of torch and transformers. A run on one machine therefore has a
server beside it, which imports what the last jobs imported and forks a worker for each job; the
job's own process, the client, hands over its environment, folder and files, passes signals on, and
ends as its job ends. Nothing else changes: where the server cannot serve a job, the job runs in its
own process. A worker whose job returns stays for the next one, with what it has loaded.

``EXPARITY_WARM=0`` switches it off.
"""

"""The certificate authorities of this machine are read once a process, not for each client.

To read them takes a client of `httpx2` 25 ms of processor time, also where it asks by plain HTTP.
"""

from functools import cache

import httpcore2

httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)

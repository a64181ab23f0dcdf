"""The certificate authorities of this machine, read once per process, not for each client.

Reading them takes a client of `httpx2` 25 ms of processor time, even for plain HTTP.
"""

from functools import cache

import httpcore2

httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)

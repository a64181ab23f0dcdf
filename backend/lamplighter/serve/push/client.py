"""The client of push services: HTTPS to public addresses only, without redirects.

The address of a push service comes from a browser. It is therefore resolved here, and the
connection goes to the address that was checked.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.access.device import is_push_service

SEND_SECONDS: Final = 20.0
NOT_PUBLIC: Final = "has an address that is not public"


@dataclass(frozen=True, slots=True)
class PushClient:
    """Posts messages; `trusted` says which hosts may have any address."""

    trusted: Callable[[str], bool] = is_push_service
    tls: ssl.SSLContext | None = None

    async def post(
        self, endpoint: str, host: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        """Post a message; return the status, or 0 with the reason why there is none."""
        import httpx2

        try:
            async with asyncio.timeout(SEND_SECONDS):
                url = httpx2.URL(endpoint)
                address = await self._resolve(host, url.port or 443)
                if not address:
                    return 0, NOT_PUBLIC
                verify = self.tls or ssl.create_default_context()
                async with httpx2.AsyncClient(verify=verify, trust_env=False) as client:
                    request = client.build_request(
                        "POST",
                        url.copy_with(host=address),
                        content=body,
                        headers={**headers, "Host": url.netloc.decode()},
                        extensions={"sni_hostname": host},
                    )
                    answer = await client.send(request, stream=True, follow_redirects=False)
                    await answer.aclose()
                    return answer.status_code, ""
        except TimeoutError:
            return 0, f"did not answer within {SEND_SECONDS:.0f} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            return 0, f"could not be reached ({type(error).__name__})"

    async def _resolve(self, host: str, port: int) -> str:
        """Return an address of a host; empty where one of them is not public."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        public = all(ipaddress.ip_address(each.split("%")[0]).is_global for each in addresses)
        return addresses[0] if addresses and (public or self.trusted(host)) else ""

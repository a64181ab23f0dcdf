"""The VAPID key of this home (RFC 8292), by which push services identify it."""

import json
import os
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lamplighter.domain.access.device import encode_key
from lamplighter.domain.errors import Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

FILE: Final = "push-key.pem"
VALID_FOR: Final = timedelta(hours=12)
CONTACT: Final = "mailto:operator@lamplighter.example"
"""Push services require a contact; some refuse names that cannot be public, such as localhost."""

_NUMBER_BYTES: Final = 32


class PushKey:
    """The private key in the home; created when a browser first requests the public key."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._loaded: tuple[float, EllipticCurvePrivateKey] | None = None

    def public(self, *, make: bool = False) -> str:
        """Return the public key in the form of browsers; empty without a key.

        Raises Unavailable if the file cannot be used.
        """
        from cryptography.hazmat.primitives import serialization

        if make and not self._path.exists():
            self._make()
        if not self._path.exists():
            return ""
        point = self._private().public_key()
        form = serialization.PublicFormat.UncompressedPoint
        return encode_key(point.public_bytes(serialization.Encoding.X962, form))

    def authorization(self, origin: str, *, now: datetime) -> str:
        """Return the header that shows a push service that this home sends."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        claims = {"aud": origin, "exp": int((now + VALID_FOR).timestamp()), "sub": CONTACT}
        parts = ({"typ": "JWT", "alg": "ES256"}, claims)
        signed = ".".join(encode_key(json.dumps(each).encode()) for each in parts)
        signature = self._private().sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
        numbers = decode_dss_signature(signature)
        raw = b"".join(each.to_bytes(_NUMBER_BYTES) for each in numbers)
        return f"vapid t={signed}.{encode_key(raw)}, k={self.public()}"

    def _private(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            changed = self._path.stat().st_mtime
            if self._loaded is None or self._loaded[0] != changed:
                found = serialization.load_pem_private_key(self._path.read_bytes(), None)
                if not isinstance(found, ec.EllipticCurvePrivateKey):
                    raise ValueError("another kind of key")
                self._loaded = changed, found
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self._path} cannot be used: {error}.") from error
        return self._loaded[1]

    def _make(self) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        made = self._path.with_name(f"{FILE}.{secrets.token_hex(6)}")
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as to:
                to.write(pem)
            with suppress(FileExistsError):
                os.link(made, self._path)  # if two processes race, the first wins
            made.unlink()
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be written: {error.strerror}.") from error

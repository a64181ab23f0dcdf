"""The encryption of a message for one browser (RFC 8291, as one record of RFC 8188)."""

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

RECORD_BYTES: Final = 4_096
MAX_PLAIN_BYTES: Final = 3_900
"""Push services take 4,096 bytes; the header, the tag and the delimiter are 103 of them."""

_SALT_BYTES: Final = 16
_LAST_RECORD: Final = b"\x02"


def encrypt(
    plaintext: bytes,
    *,
    public: bytes,
    auth: bytes,
    private: "EllipticCurvePrivateKey | None" = None,
    salt: bytes = b"",
) -> bytes:
    """Return a message that only the browser with the key of `public` can read.

    `private` and `salt` are new for each message, but for the example of the RFC.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    private = private or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(_SALT_BYTES)
    own = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public)
    shared = private.exchange(ec.ECDH(), theirs)
    keying = _derive(shared, auth, b"WebPush: info\0" + public + own, 32)
    key = _derive(keying, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(keying, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, plaintext + _LAST_RECORD, None)
    return salt + RECORD_BYTES.to_bytes(4) + bytes([len(own)]) + own + sealed


def _derive(material: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(hashes.SHA256(), size, salt, info).derive(material)

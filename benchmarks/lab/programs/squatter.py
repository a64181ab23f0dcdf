"""A program that occupies a port and answers nothing."""

import socket
import sys
import time

plug = socket.socket()
plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
for _ in range(200):
    try:
        plug.bind(("127.0.0.1", int(sys.argv[1])))
        break
    except OSError:
        time.sleep(0.05)
plug.listen(1)
print("ready", flush=True)
time.sleep(3600)

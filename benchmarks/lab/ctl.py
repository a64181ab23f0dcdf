"""`python ctl.py SOCKET VERB UNIT`: request an act from the lab's init, as a service's action."""

import socket
import sys

with socket.socket(socket.AF_UNIX) as plug:
    plug.settimeout(30)
    plug.connect(sys.argv[1])
    plug.sendall(" ".join(sys.argv[2:]).encode() + b"\n")
    answer = plug.makefile().readline().strip()
print(answer)
sys.exit(answer != "ok")

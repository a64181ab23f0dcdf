"""The name server: it resolves one name, over UDP."""

import socket
import sys
from contextlib import suppress

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

NAME = sys.argv[2].rstrip(".") + "."

plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
plug.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    data, sender = plug.recvfrom(4096)
    with suppress(Exception):  # what is no query gets no answer
        query = dns.message.from_wire(data)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA
        [question] = query.question
        if question.name.to_text().lower() != NAME:
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif question.rdtype == 1:
            response.answer.append(dns.rrset.from_text(NAME, 1, "IN", "A", "127.0.0.1"))
        plug.sendto(response.to_wire(), sender)
